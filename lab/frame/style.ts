/** The style sheet of the Lab: the explorer's colors, text on the left, a picture on the right that stays in view. */
import { colorTable, hex, lightness } from "../../src/view/color.ts";
import { COLORS, colorProperties } from "../../ui/colors.ts";
import { LEVELS } from "./marks.ts";

const pairOf = (wanted: string) => COLORS.find(([name]) => name === wanted)!.slice(1);
const [PAPER, INK] = [pairOf("paper"), pairOf("ink")];

/** The weight scale as classes, from the explorer's own tables. */
const scale = Array.from({ length: LEVELS + 1 }, (_, i) => {
  const at = Math.round((255 * i) / LEVELS);
  const [light, dark] = [colorTable("plum")[at], colorTable("plum-dark")[at]];
  const text = `light-dark(${lightness(light) < 0.62 ? PAPER[0] : INK[0]},${lightness(dark) > 0.66 ? PAPER[1] : INK[1]})`;
  return `.w${i}{--own:light-dark(${hex(light)},${hex(dark)});fill:var(--own)}svg text.t${i}{fill:${text}}`;
}).join("");

/** A page that is read without its script: the pictures of the steps are in the text. */
const STILL: readonly (readonly [selector: string, rules: string])[] = [
  [
    ".open,.share label,.share p:last-of-type,.text .narrow-only,.stage,.predict .row,.text button,.hint,.top form,.text .tools",
    "display:none",
  ],
  [".still", "display:block;margin-block:12px"],
  [".still figcaption", "min-block-size:0"],
  [".columns", "grid-template-columns:minmax(0,640px)"],
  [".step", "min-block-size:0"],
  [".still svg", "inline-size:100%;block-size:auto"],
  [".text", "padding-block-end:64px"],
  [".languages .py", "display:block!important"],
  [".languages>label", "display:none"],
];

// long: one style sheet, as text.
/** `root` is `:root` on a page of its own and `:host` in an element. */
export const style = (root: ":root" | ":host"): string => `
${root}{color-scheme:light dark;${colorProperties}--mono:var(--heed-mono,"JetBrains Mono","DejaVu Sans Mono",Menlo,Consolas,monospace);
--serif:var(--heed-serif,"Source Serif 4",Charter,"Bitstream Charter",Georgia,"DejaVu Serif",serif);
--sans:var(--heed-sans,Inter,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif);
color:var(--ink);background:var(--paper);font:13px/20px var(--sans);font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
*,*::before,*::after{box-sizing:border-box}
body{margin:0}
h1,h2,p,ul,figure,pre{margin:0;padding:0}
ul{list-style:none}
a{color:var(--query)}
button,input,select{font:inherit;color:inherit}
:focus{outline:none}
:focus-visible{outline:2px solid var(--query);outline-offset:2px;border-radius:2px}
.top{display:flex;flex-wrap:wrap;gap:4px 20px;align-items:center;min-block-size:48px;padding:4px 20px;border-block-end:1px solid var(--line)}
.top a{color:var(--ink);text-decoration:none}.top a:hover{text-decoration:underline}
.top .home{font-weight:600}.top .where{color:var(--second)}
.top form{margin-inline-start:auto;display:flex;gap:8px;align-items:center;flex:0 1 460px}
.top label{color:var(--second);white-space:nowrap}
.top input{flex:1;min-inline-size:0;min-block-size:32px;padding:0 8px;border:1px solid var(--line);border-radius:6px;background:var(--raised)}
.lab{display:block}${root === ":root" ? "" : ":host{display:block;container-type:inline-size}"}
.waiting{min-block-size:800px}
.columns{display:grid;grid-template-columns:380px minmax(0,860px);gap:0 32px;justify-content:center;align-items:start;padding:0 20px}
.text{font:16px/26px var(--serif);padding:32px 0 40vh}
h1{font:600 34px/40px var(--serif);margin-block-end:12px}
.point{font-size:18px;line-height:28px;color:var(--second);margin-block-end:24px}
.text section{margin-block-end:64px}
.step{min-block-size:46vh}
h2{font:600 20px/28px var(--serif);margin-block-end:8px}
.text p{margin-block-end:14px}
.text button{font:13px/20px var(--sans)}.text p:not(.row)>button{margin:0 8px 8px 0}
sub,sup{line-height:0;font-size:.72em}
.small{font:13px/20px var(--sans);color:var(--second)}
.q{color:var(--query)}.k{color:var(--key)}.v{color:color-mix(in oklab,var(--value) 88%,var(--ink))}.w{color:var(--weight)}
math{font-size:1.05em}
.text p.formula{margin-block:4px 16px;overflow-x:auto}
.stage{position:sticky;inset-block-start:0;padding-block-start:16px;max-block-size:100vh;overflow:auto}
.picture svg{display:block;inline-size:100%;block-size:auto;touch-action:manipulation;user-select:none;-webkit-user-select:none}
.picture .narrow{display:none}
figcaption{font:15px/23px var(--serif);color:var(--ink);padding:8px 0 0;min-block-size:54px;max-inline-size:760px}
.still{display:none}
.control,.first,.others{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:center}
.control{min-block-size:48px;padding-block:6px;border-block-start:1px solid var(--line);margin-block-start:6px}
.control label{display:inline-flex;align-items:center;gap:10px}
.control input[type=range]{inline-size:min(420px,52vw);min-block-size:28px;accent-color:var(--query);margin:0}
.control output{min-inline-size:56px;font:600 15px/24px var(--mono)}
.narrow-only{display:none!important}
code{font:.86em/1 var(--mono)}
button{min-block-size:32px;padding:0 12px;border:1px solid var(--line);border-radius:6px;background:var(--raised);cursor:pointer}
button:hover{background:var(--hover)}
button[aria-pressed=true]{background:var(--ink);color:var(--paper);border-color:var(--ink)}
select{min-block-size:32px;border:1px solid var(--line);border-radius:6px;background:var(--raised);padding:0 6px}
.control .recipe{display:inline-flex;flex-wrap:wrap;gap:8px;align-items:center}
button.quiet{border-color:transparent;background:none;color:var(--second);padding:0 6px;min-block-size:28px}
button.quiet:hover{color:var(--ink);text-decoration:underline}
.choice{display:inline-flex;border:1px solid var(--line);border-radius:6px;background:var(--raised);overflow:hidden}
.choice button{border:0;border-radius:0}
.tools{display:flex;flex-wrap:wrap;gap:0 8px;align-items:center;margin-inline-start:-6px}
.saying,.near{color:var(--second)}
.anchor{position:absolute;color:var(--third);text-decoration:none;opacity:0}h2:hover>.anchor,.anchor:focus-visible{opacity:1}
.busy{position:absolute;inset:4px 8px auto auto;margin:0;padding:0 8px;border-radius:6px;background:var(--ink);color:var(--paper);visibility:hidden}
[data-state=computing] .busy{animation:busy 0s .3s forwards}@keyframes busy{to{visibility:visible}}
.disk-note{display:none;max-inline-size:640px;margin:16px auto;padding:8px 16px;border:1px solid var(--badge);border-radius:6px;font:15px/23px var(--serif)}
.alone .stage{position:relative;max-block-size:none}.alone .columns{display:block;padding:0}
.problem{color:var(--badge);border:1px solid var(--badge);border-radius:6px;padding:8px 12px;margin-block:8px}
[hidden]{display:none!important}
.predict{border-inline-start:3px solid var(--query);padding-inline-start:14px;margin-block:16px 20px;font:14px/22px var(--sans)}
.predict p{margin-block-end:8px}
.predict .row{display:flex;gap:10px;align-items:center}
.predict input{flex:1;min-inline-size:60px;accent-color:var(--query);min-block-size:28px}
.predict output{min-inline-size:56px;font:600 14px/22px var(--mono)}
.languages>input{position:absolute;opacity:0;inline-size:1px;block-size:1px}
.languages>label{display:inline-block;padding:2px 10px;border:1px solid var(--line);border-radius:6px;cursor:pointer;font:13px/24px var(--sans);color:var(--second);margin-inline-end:6px}
.languages>input:checked+label{background:var(--ink);color:var(--paper)}
.languages>input:focus-visible+label{outline:2px solid var(--query);outline-offset:2px}
.languages .py{display:none}
.languages:has(#py:checked) .py{display:block}.languages:has(#py:checked) .ts{display:none}
pre{font:12px/19px var(--mono);overflow-x:auto;padding:10px 0;white-space:pre}
.code pre{border-block:1px solid var(--line);margin-block:10px}
.code pre>span,.code pre>mark{display:inline-block;min-inline-size:100%;padding-inline:6px}
.code mark{background:light-dark(#e9ddea,#3a2740);color:var(--ink)}
.printed{padding:6px;background:var(--hover);border-radius:4px}
.var{color:var(--query);border-block-end:1px dotted currentColor;cursor:help}
.var:hover{background:var(--hover)}
.tasks li{display:flex;gap:10px;margin-block-end:10px}
.tick{font:16px/26px var(--sans);color:var(--third)}
.tasks .done .tick{color:var(--value);font-weight:700}
.text textarea{inline-size:100%;font:13px/20px var(--mono);padding:8px;border:1px solid var(--line);border-radius:6px;background:var(--raised);color:inherit;resize:vertical}
.lines{white-space:pre-line}.share label{display:block;font:13px/20px var(--sans);margin-block-end:8px}
.verdict{font:14px/22px var(--sans);min-block-size:22px;white-space:pre-wrap}.verdict.right{color:var(--value);font-weight:600}
.cite{font:12px/18px var(--sans);color:var(--second);padding:0 20px 24px}
.recall{margin-block-end:8px}
summary{cursor:pointer;padding-block:4px}
.recall p{padding-inline-start:16px;color:var(--second)}
.scroll{overflow:auto;max-block-size:420px}
table{border-collapse:collapse;font:12px/18px var(--mono)}
caption{text-align:start;max-inline-size:340px;font:13px/20px var(--sans);color:var(--second);padding-block:4px}
th,td{padding:2px 10px 2px 0;text-align:end;font-weight:400;white-space:nowrap}
th:first-child{text-align:start}
thead th{color:var(--second);border-block-end:1px solid var(--line)}
.more{margin-block-end:14px}.more li{padding-block:2px}
.next{border-block-start:1px solid var(--line);padding-block-start:14px;margin-block-start:24px}
.next span{display:block;font-size:15px;line-height:23px;color:var(--second)}
svg{font-size:13px}svg text{font-family:var(--sans);fill:var(--ink)}
svg .s10{font-size:10px}svg .s11{font-size:11px}svg .s12{font-size:12px}svg .s15{font-size:15px}svg .s18{font-size:18px}svg .s22{font-size:22px}
svg text.serif{font-family:var(--serif)}svg text.mono{font-family:var(--mono)}svg .bold{font-weight:600}
svg text.second{fill:var(--second)}svg text.third{fill:var(--third)}
svg .mid{text-anchor:middle}svg .end{text-anchor:end}
svg text.tq{fill:var(--query)}svg text.tk{fill:var(--key)}svg text.tv{fill:var(--value)}svg text.tw{fill:var(--weight)}svg text.tb{fill:var(--badge)}
svg .fq{fill:var(--query)}svg .fk{fill:var(--key)}svg .fv{fill:var(--value)}svg .fw{fill:var(--weight)}svg .fb{fill:var(--badge)}
.runs path{fill:none;stroke:var(--own)}svg .fpaper{fill:var(--paper)}svg .fhover{fill:var(--hover)}svg .fthird{fill:var(--third)}svg .none.none{fill:none}
svg .soft{fill-opacity:.32}
svg line,svg path{fill:none}
svg path.area{stroke:none}
svg .lq{stroke:var(--query);stroke-width:2}svg .lk{stroke:var(--key);stroke-width:2}svg .lv{stroke:var(--value);stroke-width:2}svg .lw{stroke:var(--weight);stroke-width:2}svg .lb{stroke:var(--badge);stroke-width:1.5}
svg .lline{stroke:var(--line);stroke-width:1}svg .link{stroke:var(--ink);stroke-width:1.5}svg .lsecond{stroke:var(--second);stroke-width:1}svg .lthird{stroke:var(--third);stroke-width:1}
svg line.thick{stroke-width:4px}
svg .halo{paint-order:stroke;stroke:var(--paper);stroke-width:5px;stroke-linejoin:round}
svg .thin{stroke-width:1}svg .dash{stroke-dasharray:4 4}
svg .solid{stroke:none}
svg polygon.lq,svg circle.lq{fill:var(--query)}svg polygon.lk,svg circle.lk{fill:var(--key)}svg polygon.lv,svg circle.lv{fill:var(--value)}svg polygon.lw,svg circle.lw{fill:var(--weight)}svg polygon.lb,svg circle.lb{fill:var(--badge)}svg polygon.link,svg circle.link{fill:var(--ink)}svg polygon.lthird,svg circle.lthird{fill:var(--third)}
svg .arc{stroke:var(--weight);stroke-opacity:.55;stroke-linecap:round}
svg .cell{stroke:none}
svg .dots{stroke:var(--third);stroke-opacity:.7;stroke-linecap:square;stroke-width:2.5}
svg .cursor{stroke:var(--ink);stroke-dasharray:3 3;stroke-width:1.5;opacity:0}svg g:focus-visible>.cursor{opacity:1}
svg .hatched{stroke:var(--hatch);stroke-width:1}
svg .drag{cursor:ns-resize;touch-action:none}svg .drag.free{cursor:grab}svg .drag.across{cursor:ew-resize}svg .press{cursor:pointer}
svg .hit{fill:transparent;stroke:none}
svg .drag:focus-visible .grip,svg .press:focus-visible .grip{stroke:var(--query);stroke-width:2.5}
svg g:focus-visible{outline:2px solid var(--query);outline-offset:2px}
svg .grip{stroke:transparent}
.pointing svg [data-name]{opacity:.22}
.pointing svg [data-name].lit{opacity:1}
${scale}
@media (prefers-reduced-motion:no-preference){.pointing svg [data-name]{transition:opacity .12s}}
${root === ":root" ? "@media" : "@container"} (max-width:899px){
.columns{display:flex;flex-direction:column;align-items:stretch;padding:0}
.stage{order:-1;background:var(--paper);padding:0;z-index:2;border-block-end:1px solid var(--line);overflow:visible;max-block-size:none}
.picture .wide{display:none}.picture .narrow{display:block;max-block-size:38svh;margin:0 auto}
figcaption{font-size:14px;line-height:19px;padding:2px 16px 6px;min-block-size:65px}
.stage .problem{margin:0 16px 6px}
.text :is(.open,.share){position:relative;z-index:3;margin:0 -16px;padding:24px 16px;background:var(--paper)}
.own-view>:not(attention-view){margin-inline:20px}
.control{${root === ":root" ? "position:fixed;inset:auto 0 0 0;z-index:3;" : ""}background:var(--paper);margin:0;padding:6px 16px calc(6px + env(safe-area-inset-bottom));min-block-size:56px;gap:4px 12px}
.control input[type=range]{inline-size:auto;flex:1;min-inline-size:80px}
.control{display:block}.first{gap:6px 12px}
.first label{flex:1 1 150px}
.others{flex-wrap:nowrap;gap:12px;overflow-x:auto;scrollbar-width:none;white-space:nowrap;margin:6px -16px 0;padding-inline:16px}.others>*{flex:none}.others .recipe{flex-wrap:nowrap}
.control button,.control select{min-block-size:40px}.control input[type=range]{min-block-size:40px}
.stage .tools,.wide-only{display:none}
.narrow-only.narrow-only{display:inline-flex!important;align-items:center}.first .choice button{padding:0 9px}
.step,.text :is(a,button,input,textarea,summary,.formula,[tabindex]){scroll-margin-block:48svh 120px}
.text{padding:20px 16px 140px}
h1{font-size:28px;line-height:34px}
.text section{margin-block-end:48px}
.step{min-block-size:40vh}
}
@media (max-height:560px){${root === ":root" ? "@media" : "@container"} (max-width:899px){
.stage,.control{position:static}.step,.text :is(a,button,input,textarea,summary,.formula,[tabindex]){scroll-margin-block:8px 60px}
}${root === ":root" ? "@media" : "@container"} (min-width:560px) and (max-width:899px){
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr))}.text{padding-block-end:48px}
.stage{order:0;position:sticky;max-block-size:100svh;overflow:auto;border:0;border-inline-start:1px solid var(--line)}
.picture .narrow{max-block-size:60svh}.control{position:sticky;inset-block-end:0}
}}
@media (max-width:899px){.top{padding:4px 16px;column-gap:14px}.top a[rel]{max-inline-size:27vw;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.top form{flex-basis:100%;margin:0 0 4px}}
@media (scripting:none){${STILL.map(([selector, rules]) => `${selector}{${rules}}`).join("")}}
${STILL.map(([selector, rules]) => `${selector.replaceAll(/(^|,)/g, "$1:root.disk ")}{${rules}}`).join("")}:root.disk .disk-note{display:block}
@media print{${root}{color-scheme:light;background:#fff}.stage,.top,.predict .row,.predict .said,.text button,.tools,.hint,.languages>label{display:none}.still{display:block;break-inside:avoid}.still svg{inline-size:12cm;block-size:auto}.columns{display:block}.text{padding:0;font-size:11pt;line-height:1.45}.step{min-block-size:0;break-inside:avoid}.text section{margin-block-end:18pt}.languages .py{display:block!important}.share{display:none}.open.open{margin:0;padding:0}th{white-space:normal}pre,.scroll{overflow:visible;white-space:pre-wrap;max-block-size:none}details::details-content{content-visibility:visible;block-size:auto}}
@media (forced-colors:active){svg{forced-color-adjust:none}}
`;
