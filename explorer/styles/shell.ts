/** The layout of the shell: three columns; below 1200 px, the inspector is under the picture; below 900 px, one column. */
import { css } from "lit";

export const shell = css`
.root { display: grid; block-size: 100%; grid-template: auto minmax(0, 1fr) 24px / 264px minmax(0, 1fr) 300px;
  grid-template-areas: "top top top" "atlas main side" "status status status"; position: relative; overflow: hidden; }
.masthead { grid-area: top; min-inline-size: 0; }
.sources { display: flex; gap: 4px; padding: 1px 16px; border-block-end: 1px solid var(--line); overflow-x: auto; scrollbar-width: thin; }
.sources button { flex: 0 1 auto; min-inline-size: 14ch; max-inline-size: 40ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sources button[aria-current] { flex: none; border-color: var(--ink); font-weight: 600; }
.notices { position: relative; }
.notices details[open] { max-block-size: 30vh; overflow: auto; }
.notices summary { position: absolute; inset-block-start: 4px; inset-inline-end: 12px; min-block-size: 28px; padding-inline: 6px; color: var(--second); }
/* The line of the newest message ends before the button that shows the others. */
.notices:has(> details) > p { padding-inline-end: 168px; }
.notices p { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; padding: 4px 20px; border-block-end: 1px solid var(--line); }
.notices p > span:nth-of-type(2) { flex: 1 1 0; min-inline-size: min(24ch, 100%); overflow-wrap: anywhere; white-space: pre-line; }
.top { block-size: 40px; display: flex; align-items: center; gap: 4px 20px; padding: 0 16px; border-block-end: 1px solid var(--line); min-inline-size: 0; }
.top .name { font-weight: 700; font-size: 16px; letter-spacing: -.01em; }
.top nav { display: flex; gap: 4px; }
.top nav button[aria-current="page"] { box-shadow: inset 0 -2px 0 var(--ink); border-radius: 6px 6px 0 0; font-weight: 600; }
.top .about { flex: 1 1 0; text-align: end; color: var(--second); min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.top .tools { display: flex; gap: 4px; flex: none; margin-inline-start: auto; }
.left { grid-area: atlas; overflow: auto; padding: 12px 10px 12px 12px; border-inline-end: 1px solid var(--line); }
.left > * + h2 { margin-block-start: 20px; }
.left > h2, .side > h2 { margin-block-end: 6px; }
.side .action { margin-block-start: 8px; }
.main { grid-area: main; display: flex; flex-direction: column; min-inline-size: 0; min-block-size: 0; padding: 6px 12px 0; position: relative; }
.side { grid-area: side; overflow: auto; padding: 12px 16px 24px; border-inline-start: 1px solid var(--line); overflow-wrap: break-word; }
.side > * + h2 { margin-block-start: 24px; }
.status { grid-area: status; display: flex; align-items: center; gap: 16px; padding: 0 16px; border-block-start: 1px solid var(--line);
  color: var(--second); font-size: 12px; white-space: nowrap; overflow: hidden; }
.status .hints { overflow: hidden; text-overflow: ellipsis; }
.status .where { margin-inline-start: auto; display: flex; gap: 12px; }
.status .at { color: var(--ink); overflow: hidden; text-overflow: ellipsis; }
.toolbar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; padding-block-end: 4px; }
/* One row in a window of 1280 pixels; that of lines in one of 1600. */
.toolbar > .choice button, .keeping .choice button { padding-inline: 6px; }
.select { display: inline-flex; align-items: center; gap: 6px; color: var(--second); }
.select select { padding: 0 4px; }
.toolbar .ends { display: inline-flex; align-items: center; gap: 8px; }
.more { position: relative; }
.more summary { list-style: none; min-block-size: 28px; padding: 3px 8px; border: 1px solid var(--line); border-radius: 6px; cursor: pointer; background: var(--raised); }
.more summary::-webkit-details-marker { display: none; }
.more .menu { position: absolute; inset-inline-end: 0; z-index: 5; display: grid; gap: 8px; padding: 12px; background: var(--raised);
  border: 1px solid var(--line); border-radius: 8px; box-shadow: 0 8px 24px rgb(0 0 0 / .16); min-inline-size: 340px; }
.more .menu .choice { justify-self: start; }
.more .menu .select { justify-content: space-between; }
.segments { display: inline-flex; flex-wrap: wrap; gap: 8px; }
.pane { flex: 1 1 0; min-block-size: 0; position: relative; }
.foot { padding: 4px 0 6px; display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: center; color: var(--second); }
.foot p { flex: 1 1 320px; }
.legend { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 8px; font-size: 11px; }
.legend .scale { position: relative; padding-block-end: 16px; inline-size: 202px; }
.legend .ramp { display: block; inline-size: 202px; block-size: 10px; border: 1px solid var(--line); }
.legend .tick { position: absolute; inset-block-start: 11px; transform: translateX(-50%); font-size: 10px; line-height: 14px; }
.legend .not-a-weight { inline-size: 22px; block-size: 12px; text-align: center; font: 600 11px/11px var(--mono); background: #e07a00; color: #1b1a17; }
.legend :is(.hatched, .plain), .legend .not-a-weight { margin-block-end: 16px; margin-inline-start: 8px; }
.legend :is(.hatched, .plain) + span, .legend .not-a-weight + span { margin-block-end: 16px; }
.legend .plain { inline-size: 22px; block-size: 10px; border: 1px solid var(--line); }
.legend .hatched { inline-size: 22px; block-size: 10px; border: 1px solid var(--line);
  background: repeating-linear-gradient(135deg, transparent 0 3px, var(--hatch) 3px 4px); }
.line { position: absolute; inset-inline: 0; inset-block-start: 40px; block-size: 2px; z-index: 4; pointer-events: none; }
.line i { display: block; block-size: 100%; background: var(--query); inline-size: 0; }
.left .choice, .side .choice { flex-wrap: wrap; max-inline-size: 100%; }
.pins li { display: grid; grid-template-columns: 18px 72px 1fr 68px 28px; gap: 8px; align-items: center; min-block-size: 28px; }
.pins .num { text-align: end; }
.pins .letter { background: var(--ink); color: var(--paper); text-align: center; font: 600 11px/16px var(--mono); inline-size: 16px; }
.sorting { display: grid; grid-template-columns: 1fr auto; gap: 8px; margin-block: 8px; }
.sorting .choice { justify-self: start; }
.sorting .select { display: contents; }
.sorting .select > span { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
.filters { display: grid; gap: 4px; margin-block: 4px 8px; }
.filters li { display: grid; grid-template-columns: 1fr 28px; gap: 0 8px; align-items: center; }
.range { position: relative; display: block; block-size: 24px; background: linear-gradient(to right, var(--line) var(--from), var(--query) var(--from), var(--query) var(--to), var(--line) var(--to)) 0 50% / 100% 3px no-repeat; }
.range input { position: absolute; inset: 0; appearance: none; background: none; pointer-events: none; }
.range .front { z-index: 1; }
.range input::-webkit-slider-thumb { appearance: none; pointer-events: auto; inline-size: 14px; block-size: 14px; border-radius: 50%; background: var(--query); border: 2px solid var(--paper); cursor: ew-resize; }
.range input::-moz-range-thumb { pointer-events: auto; inline-size: 12px; block-size: 12px; border-radius: 50%; background: var(--query); border: 2px solid var(--paper); cursor: ew-resize; }
.range input::-moz-range-track { background: none; }
.filters .bounds { grid-column: 1 / -1; display: flex; justify-content: space-between; color: var(--second); }
.welcome { margin: auto; max-inline-size: 62ch; padding: 32px 24px; display: grid; gap: 16px; text-align: start; overflow: auto; }
.welcome h2 { font-size: 20px; line-height: 28px; letter-spacing: 0; text-transform: none; color: var(--ink); }
.welcome .lines { white-space: pre-line; }
.welcome ul { display: grid; gap: 8px; list-style: disc; padding-inline-start: 20px; }
.welcome .buttons { display: flex; flex-wrap: wrap; gap: 8px; }
.left p:has(> .choice), .side p:has(> .choice) { margin-block-end: 6px; }
.dropping::after { content: "drop to open"; position: absolute; inset: 8px; display: grid; place-items: center; z-index: 9;
  border: 2px dashed var(--query); border-radius: 8px; background: color-mix(in srgb, var(--paper) 85%, transparent); font-size: 20px; pointer-events: none; }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; }

@container (width < 1200px) {
  .root { grid-template: auto minmax(0, 1fr) clamp(148px, 28%, 248px) 24px / 264px minmax(0, 1fr);
    grid-template-areas: "top top" "atlas main" "atlas side" "status status"; }
  .side { border-inline-start: 0; border-block-start: 1px solid var(--line); columns: 2 300px; column-gap: 32px; }
  .side > * { break-inside: avoid; }
}
@container (width < 900px) {
  .root { display: flex; flex-direction: column; overflow: auto; }
  .root > * { flex: none; }
  /* The order is: picture, inspector, atlas. */
  .side { order: 1; }
  .left { order: 2; border-block-start: 1px solid var(--line); }
  .status { order: 3; }
  .top { block-size: auto; flex-wrap: wrap; padding: 6px 12px; min-block-size: 40px; gap: 0 12px; }
  .top .about { text-align: start; }
  .top nav { flex: none; }
  .left { border: 0; border-block-end: 1px solid var(--line); padding: 12px; overflow: visible; }
  .main { padding: 4px 12px 0; }
  /* As high as its picture needs, without space below. */
  .pane { flex: none; block-size: clamp(200px, var(--natural), min(104cqi, 540px)); }
  .pane:has(> .tablewrap) { block-size: min(104cqi, 540px); }
  .root.closed .main { flex: 1 0 auto; }
  .root.without-heads .pane { block-size: clamp(200px, var(--natural), min(88cqi, 620px)); }
  .root.without-heads .pane:has(> .tablewrap) { block-size: min(88cqi, 620px); }
  /* In a page of its own, the picture or table of a head has half of the window. */
  :host([address]) .root:is(.head, .states) .pane:not(.scrolls) { block-size: max(54dvh, min(var(--natural), 104cqi)); }
  .pane.scrolls { block-size: auto; overflow: visible; }
  .side { border: 0; border-block-start: 1px solid var(--line); padding: 16px 12px; columns: auto; }
  .status { padding: 4px 12px; white-space: normal; flex-wrap: wrap; gap: 0 12px; }
  .status .hints { display: none; }
  .line { inset-block-start: 0; }
  .sources { padding-inline: 12px; }
}
@container (width < 520px) {
  .toolbar { gap: 6px; flex-wrap: nowrap; overflow-x: auto; overflow-y: hidden; scrollbar-width: thin; }
  .toolbar > * { flex: none; }
  /* The toolbar scrolls; a fade at the edge shows that it continues. */
  .toolbar::after { content: ""; position: sticky; inset-inline-end: 0; flex: none; align-self: stretch; inline-size: 32px; margin-inline-start: -6px; background: linear-gradient(to right, transparent, var(--paper) 75%); pointer-events: none; }
  .toolbar .more .menu { position: fixed; inset-inline: 12px; }
  .top nav button { padding: 0 5px; }
  .top .about { flex: 1 1 120px; }
  .notices p > span:nth-of-type(2) { flex: 1 0 100%; order: 1; }
  .notices p > button:first-of-type { margin-inline-start: auto; }
}
.root.without-side { grid-template-areas: "top top top" "atlas main main" "status status status"; }
.root.without-heads { grid-template-columns: minmax(0, 1fr) 0 300px; grid-template-areas: "top top top" "main main side" "status status status"; }
@container (width < 1200px) {
  .root.without-side { grid-template-areas: "top top" "atlas main" "atlas main" "status status"; }
  .root.without-heads { grid-template-columns: minmax(0, 1fr) 320px; grid-template-areas: "top top" "main side" "main side" "status status"; }
  .root.without-heads .side { columns: auto; border-block-start: 0; border-inline-start: 1px solid var(--line); }
}
.comparison { position: absolute; inset: 0; display: grid; grid-template: auto minmax(0, 1fr) auto / repeat(3, minmax(0, 1fr)); gap: 8px 20px; }
/* The three pictures start at one height, whatever is above them. */
.comparison section { display: grid; grid-template: subgrid / minmax(0, 1fr); grid-row: 1 / span 2; min-inline-size: 0; min-block-size: 0; }
.compare-stage, .flow-stage, .flow-matrix { position: relative; flex: 1 1 0; min-block-size: 0; }
.comparison section > div:first-child { min-block-size: 44px; }
.chooser { display: flex; flex-wrap: wrap; gap: 4px 10px; margin-block: 4px; }
.chooser .wide { flex: 1 1 100%; min-inline-size: 0; }
.chooser .wide select { min-inline-size: 0; max-inline-size: 100%; text-overflow: ellipsis; }
/* The causes are a fourth pane where they are open, else a line. */
.comparison.caused { grid-template-columns: repeat(3, minmax(0, 1fr)) minmax(264px, .8fr); }
.compare-causes { grid-column: 1 / -1; min-inline-size: 0; min-block-size: 0; }
.comparison.caused .compare-causes { grid-row: 1 / span 2; grid-column: 4; overflow: auto; padding-inline-end: 4px; }
.comparison:not(.caused) .causes { display: flex; gap: 12px; align-items: center; margin: 0; }
.compared { grid-column: 1 / -1; padding-block: 6px 10px; min-block-size: 36px; }
.comparison.tabled section { grid-row: 1; }
.compare-table { position: relative; grid-row: 2; grid-column: 1 / -1; }
.comparison.caused .compare-table { grid-column: 1 / 4; }
.comparison:not(.tabled) .compare-table, .comparison.tabled .compare-stage, .rollout.tabled > section { display: none; }
@container (width < 900px) {
  .root.compare .pane { block-size: auto; }
  .comparison { position: static; grid-template: none / minmax(0, 1fr); }
  .comparison.caused { grid-template-columns: minmax(0, 1fr); }
  .comparison.caused .compare-causes { grid-area: auto; }
  .compare-table, .comparison.caused .compare-table { grid-area: auto / 1 / auto / -1; }
  .comparison section, .comparison.tabled section { display: flex; flex-direction: column; grid-row: auto; }
  .compare-stage { flex: none; block-size: min(104cqi, 560px); }
  .comparison.tabled .compare-table, .rollout.tabled { block-size: 480px; position: relative; }
  .compared { position: sticky; inset-block-end: 0; background: var(--paper); }
}
.rollout { position: absolute; inset: 0; display: grid; grid-template-columns: minmax(0, 11fr) minmax(0, 9fr); gap: 8px 24px; padding-block-end: 8px; }
.rollout section { display: flex; flex-direction: column; min-inline-size: 0; min-block-size: 0; }
.flow-heading, .flow-under { min-block-size: 60px; }
.flow-under .legend { display: flex; margin-block-start: 4px; }
.flow-stage { cursor: pointer; }
.flow-stage canvas { position: absolute; inset: 0; }
.flow-stage .labels + .labels span { left: 0; right: auto; }
.flow-said { min-block-size: 28px; padding-block-start: 6px; }
.rollout.without { grid-template: minmax(0, 1fr) / minmax(0, 1fr); }
.rollout.without section + section, .rollout.without :is(.flow-heading, .flow-stage) { display: none; }
.rollout.without .flow-said { margin: auto; max-inline-size: 56ch; font-size: 14px; text-align: center; }
.settings { display: grid; gap: 8px; margin-block: 8px 12px; }
.settings .select { justify-content: space-between; }
.setting { display: grid; grid-template-columns: 1fr auto; gap: 0 8px; color: var(--second); }
.setting input { grid-column: 1 / -1; }
.warning { border-inline-start: 3px solid var(--badge); padding-inline-start: 10px; margin-block-start: 12px; }
@container (width < 1000px) { .rollout { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(0, 1fr) minmax(0, 1fr); } }
@container (width < 900px) {
  .root.flow .pane, .root.without-heads.flow .pane { block-size: auto; }
  .rollout { position: static; grid-template-rows: auto; }
  .flow-stage, .flow-matrix { flex: none; block-size: min(100cqi, 520px); }
  .root.without-heads .side { border-inline-start: 0; }
}
.root.without-heads.without-side, .root.compare { grid-template-columns: minmax(0, 1fr) 0 0; grid-template-areas: "top top top" "main main main" "status status status"; }
:host([controls="none"]) :is(.toolbar, .left, .side, .status, .foot, .line),
:host([controls="few"]) :is(.toolbar, .left, .side, .status, .line) { display: none; }
:host(:is([controls="none"], [controls="few"])) .root { display: flex; flex-direction: row; overflow: hidden; }
:host(:is([controls="none"], [controls="few"])) .main { flex: 1; padding: 4px; }
:host(:is([controls="none"], [controls="few"])) .pane { flex: 1 1 var(--natural, 350px); block-size: auto; min-block-size: 0; }
:host(:is([controls="none"], [controls="few"])) :is(.kept, .says) { min-block-size: 0; }
:host([parts]) { --atlas: 0px; --side: 0px; block-size: var(--heed-height, auto); }
:host([parts~="atlas"]) { --atlas: 264px; }
:host([parts~="inspector"]) { --side: min(320px, 36cqi); }
:host([parts]:not([parts~="bar"])) .line,
:host([parts]:not([parts~="toolbar"])) .toolbar,
:host([parts]:not([parts~="atlas"])) .left,
:host([parts]:not([parts~="inspector"])) .side,
:host([parts]:not([parts~="caption"])) .foot p,
:host([parts]:not([parts~="legend"])) .foot .legend,
:host([parts]:not([parts~="status"])) .status { display: none; }
/* Without the bar, errors are above the picture. */
:host(:is([controls="none"], [controls="few"], [parts]:not([parts~="bar"]))) .masthead { position: absolute; inset: 0 0 auto; z-index: 3; background: var(--paper); }
:host(:is([controls="none"], [controls="few"], [parts]:not([parts~="bar"]))) :is(.masthead:not(:has(.error)), .masthead > :not(.notices), .notices :is(.problem, details)),
.alone .notices :is(.problem, details) { display: none; }
@container (width >= 700px) {
  :host([parts]) .root { display: grid; overflow: hidden; grid-template: auto minmax(0, 1fr) auto / var(--atlas) minmax(0, 1fr) var(--side); grid-template-areas: "top top top" "atlas main side" "status status status"; }
  :host([parts]) .side { columns: auto; border-block-start: 0; border-inline-start: 1px solid var(--line); }
  :host([parts]) .pane { flex: 1 1 var(--natural, 350px); block-size: auto; min-block-size: 0; }
  /* The columns next to the picture scroll, and do not make the element higher. */
  :host([parts]) :is(.left, .side) { block-size: 0; min-block-size: 100%; }
}
/* In a low box of a page the controls give way to the picture. A window of its own scrolls. */
:host(attention-view:not([address], [controls], [parts])) { container-type: size; contain-intrinsic-block-size: 760px; }
@container (height < 340px) {
  .root:not(.alone) { display: flex; flex-direction: row; overflow: hidden; }
  .root:not(.alone) :is(.toolbar, .left, .side, .status, .line) { display: none; }
  .root:not(.alone) .main { flex: 1; padding: 4px; }
  .root:not(.alone) .pane { flex: 1 1 0; block-size: auto; min-block-size: 0; }
  .root:not(.alone) .masthead { position: absolute; inset: 0 0 auto; z-index: 3; background: var(--paper); }
  .root:not(.alone) :is(.masthead:not(:has(.error)), .masthead > :not(.notices), .notices :is(.problem, details)) { display: none; }
  .foot .legend { display: none; }
}
/* Space for the focus ring. */
.pane.scrolls { overflow: auto; margin: -8px -10px 0; padding: 10px 10px 0; scroll-padding: 10px; }
.root.alone { display: block; block-size: auto; overflow: visible; padding: 16px 20px 0; }
.alone .pane > p:only-child { padding-block-end: 16px; }
.alone .about { padding-block-end: 12px; overflow-wrap: anywhere; }
@container (width < 520px) { .root.alone { padding-inline: 12px; } }
`;

export const pictures = css`
.matrix { position: absolute; inset: 0; overflow: hidden; user-select: none; }
.matrix .cells { position: absolute; inset: 0; pointer-events: none; }
.matrix .ghost { opacity: 0; }
.matrix .area { position: absolute; cursor: crosshair; touch-action: pan-y; }
.matrix .area.zoomed { cursor: grab; touch-action: none; }
.matrix .area.zoomed:active { cursor: grabbing; }
.labels { position: absolute; overflow: clip; overflow-clip-margin: 9px; cursor: pointer; color: var(--second); }
.labels.rows { left: 0; }
.labels.columns { inset-block-start: 0; }
.labels span { position: absolute; white-space: nowrap; font-size: inherit; line-height: 1.25; }
.labels.rows span { right: 0; text-align: right; max-inline-size: 100%; overflow: hidden; text-overflow: ellipsis; }
.labels.columns span { inset-block-end: -7px; left: 0; transform-origin: 0 50%; max-inline-size: var(--lean, 128px); overflow: hidden; text-overflow: ellipsis; }
.labels .strong { color: var(--ink); font-weight: 700; background: var(--paper); z-index: 1; }
.labels .chosen { color: var(--query); font-weight: 700; }
.labels .faded { color: var(--third); text-decoration: line-through; }
.mark { position: absolute; pointer-events: none; }
.mark.cursor { outline: 2px solid var(--query); outline-offset: 1px; box-shadow: 0 0 0 1px var(--paper), 0 0 0 4px var(--paper); }
.mark.pointed { outline: 1px solid var(--ink); box-shadow: 0 0 0 2px var(--paper); }
.mark.pinned { outline: 2px solid var(--query); outline-offset: 3px; box-shadow: 0 0 0 1px var(--paper), 0 0 0 3px var(--query), 0 0 0 6px var(--paper); }
.mark.row-tick, .mark.column-tick { background: var(--query); }
.mark.selection { outline: 1px dashed var(--query); outline-offset: 1px; }
.mark.band { outline: 1px solid var(--query); background: color-mix(in srgb, var(--query) 8%, transparent); }
.minimap { position: absolute; inset-inline-end: 4px; inset-block-end: 4px; border: 1px solid var(--line); cursor: move; touch-action: none; box-shadow: 0 2px 8px rgb(0 0 0 / .2); }
.grid { position: absolute; inset: 0; pointer-events: none; overflow: clip; contain: strict; }
.grid [role="columnheader"], .grid [role="rowheader"], .grid [role="gridcell"] { position: absolute; inset-block-start: 0; inset-inline-start: 0; inline-size: 1px; block-size: 1px; overflow: hidden; color: transparent; white-space: nowrap; font-size: 1px; }
.grid:has(:focus-visible) { overflow: visible; contain: none; }
.grid [role="gridcell"]:focus-visible { outline: 3px solid var(--query); outline-offset: 2px; box-shadow: 0 0 0 2px var(--paper); }
.atlas { position: relative; overflow: auto hidden; }
.pager { display: flex; align-items: center; justify-content: space-between; gap: 8px; position: sticky; inset-inline-start: 0; color: var(--second); }
.pager[hidden] { display: none; }
.atlas.large { position: absolute; inset: 0; overflow: hidden; }
.atlas canvas { display: block; cursor: pointer; touch-action: pan-y; }
.atlas.large canvas { touch-action: none; }
.preview { position: fixed; inset: auto; margin: 0; inline-size: 246px; padding: 12px; border: 1px solid var(--line); border-radius: 8px;
  background: var(--raised); color: var(--ink); box-shadow: 0 8px 24px rgb(0 0 0 / .18); pointer-events: none; display: none; gap: 4px; font-size: 12px; line-height: 18px; }
.preview canvas { border: 1px solid var(--line); background: repeating-linear-gradient(135deg, transparent 0 3px, var(--hatch) 3px 4px); }
.preview:popover-open { display: grid; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
`;

export const panels = css`
.quoted { white-space: nowrap; }
.quoted .token, .status .token { display: inline-block; max-inline-size: 22ch; overflow: hidden; overflow: clip; overflow-clip-margin: 2px; text-overflow: ellipsis; white-space: nowrap; }
.readout .big { font: 600 28px/34px var(--mono); }
.readout .big .num { font: inherit; }
.medium, .medium .num { font: 600 16px/24px var(--mono); }
.readout { display: grid; gap: 2px; margin-block: 8px 12px; }
.masked { color: var(--second); }
.pin { cursor: pointer; min-block-size: 24px; background: none; }
.track { display: inline-block; position: relative; block-size: 8px; inline-size: 100%; min-inline-size: 24px; }
.track.signed { background: linear-gradient(var(--line), var(--line)) 50% / 1px 100% no-repeat; }
.bar { display: block; block-size: 8px; min-inline-size: 1px; border-radius: 2px; background: var(--weight); }
.bar.query { background: var(--query); }
.bar.key { background: var(--key); }
.bar.value { background: var(--value); }
.ledger { display: grid; gap: 2px; margin-block-end: 12px; }
.ledger li { display: grid; grid-template-columns: 126px 1fr auto; gap: 12px; align-items: center; min-block-size: 22px; }
.ledger .name { color: var(--second); }
.ledger .at .num { font-weight: 700; }
.ledger .meaning { grid-column: 1 / -1; color: var(--second); font-size: 12px; }
.meaning code { font-family: var(--mono); font-size: 11px; white-space: nowrap; margin-inline-start: 4px; color: var(--third); }
.scrub { margin-block: 8px 4px; }
.scrub ol { display: flex; justify-content: space-between; }
.scrub li button { padding: 0 4px; min-block-size: 24px; color: var(--second); font-size: 12px; }
.scrub li.at button { color: var(--ink); font-weight: 700; }
.rowbars { position: relative; display: flex; block-size: 132px; border-block-end: 1px solid var(--line); }
.rowbars.signed { background: linear-gradient(var(--line), var(--line)) 0 50% / 100% 1px no-repeat; }
.rowbars span, .rowlabels span { position: relative; flex: 1 1 0; min-inline-size: 0; }
.rowbars i { position: absolute; inset-inline: 10%; min-block-size: 1px; }
.rowbars .above { background: var(--query); } .rowbars .below { background: var(--key); } .rowbars .share { background: var(--weight); }
.rowbars .current { background: var(--hover); box-shadow: inset 0 -2px var(--query); }
.rowlabels { display: flex; block-size: 72px; }
.rowlabels .token { display: block; writing-mode: vertical-rl; max-block-size: 72px; overflow: hidden; text-overflow: ellipsis; margin-inline: auto; padding-block-start: 4px; white-space: nowrap; font-size: 11px; }
.rowlabels .current .token { font-weight: 700; }
.strip { display: block; inline-size: 100%; margin-block: 4px; }
.strip .axis { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.strip .above { fill: var(--query); }
.strip .below { fill: var(--key); }
.strip.q .above, .strip.q .below { fill: var(--query); }
.strip.k .above, .strip.k .below { fill: var(--key); }
.strip.v .above, .strip.v .below { fill: var(--value); }
table { border-collapse: collapse; inline-size: 100%; }
th, td { text-align: start; padding: 2px 8px 2px 0; font-weight: 400; vertical-align: middle; }
thead th { color: var(--second); font-size: 11px; border-block-end: 1px solid var(--line); }
td { white-space: nowrap; }
td.wide { inline-size: 34%; }
.keys { table-layout: fixed; }
.keys thead th:first-child { inline-size: 36%; }
.keys thead th:nth-child(2), .keys thead th:last-child { inline-size: 76px; }
th.num, td.num { text-align: end; font-variant-numeric: tabular-nums; }
thead th.num { font-family: inherit; font-size: 11px; }
.keys .link { max-inline-size: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tablewrap .tools button { flex: none; }
.tablewrap .tools { display: flex; gap: 12px; align-items: center; min-block-size: 36px; position: sticky; inset-inline-start: 0; }
.tablewrap table { inline-size: auto; min-inline-size: 100%; }
.tablewrap thead th { position: sticky; inset-block-start: 0; background: var(--paper); z-index: 1; padding-block: 2px; }
.tablewrap tr { cursor: pointer; }
.tablewrap tbody tr:not(.space) { block-size: 28px; }
/* A shade at the right edge while columns are hidden there; at the end of the scroll it is covered. */
.tablewrap { position: absolute; inset: 0; overflow: auto; padding-inline: 10px; background: linear-gradient(to left, var(--paper) 50%, transparent) 100% 0 / 48px 100% no-repeat local, linear-gradient(to left, var(--line), transparent) 100% 0 / 24px 100% no-repeat scroll; }
.tablewrap td, .tablewrap th { padding-inline-end: 16px; white-space: nowrap; max-inline-size: 220px; overflow: hidden; text-overflow: ellipsis; }
.tablewrap :is(td, th):first-child { padding-inline-start: 10px; }
.tablewrap :is(td, th).figures { text-align: end; }
.tablewrap .pair { display: flex; justify-content: space-between; gap: 12px; }
.tablewrap .pair .token { overflow: hidden; text-overflow: ellipsis; }
.tablewrap tbody tr.current { background: var(--hover); }
.tablewrap .stays { position: sticky; inset-inline-start: -10px; background: var(--paper); }
.tablewrap thead .stays { z-index: 2; }
/* Up to the edge, over the padding of 10px; an index has a fixed width, so that the token or the head can stay beside it. */
.tablewrap .stays:has(+ .stays) { inline-size: 68px; min-inline-size: 68px; }
.tablewrap .stays + .stays { inset-inline-start: 58px; }
.tablewrap tbody tr.current .stays { background: linear-gradient(var(--hover), var(--hover)), var(--paper); }
.tablewrap tbody tr.current > :first-child { box-shadow: inset 3px 0 var(--query); }
.rowview { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 24px 40px; padding-block-end: 24px; align-items: start; }
.rowview section:focus-visible { outline-offset: 7px; border-radius: 2px; }
.rowview section + section { margin-block-start: 24px; }
.rowview h2 { margin-block: 16px 8px; }
.rowview section > :first-child { margin-block-start: 0; }
details > summary { padding-block: 4px; cursor: pointer; }
.formulas { gap: 8px; }
.formulas li { padding-block-end: 8px; border-block-end: 1px solid var(--line); grid-template-columns: 120px 1fr 84px; gap: 2px 12px; }
.formulas .num { text-align: end; }
.formulas .formula { grid-column: 1 / -1; color: var(--second); overflow-x: auto; overflow-y: hidden; padding-block: 2px; }
math { font-size: 14px; line-height: 1.5; math-style: normal; font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", math; }
.scale { display: inline-flex; align-items: center; gap: 4px; }
.scale input { inline-size: 76px; }
.strips { display: grid; grid-template-columns: 56px 1fr; align-items: center; gap: 2px 8px; }
.strips dt { color: var(--second); font-family: var(--mono); font-size: 12px; }
.strips dt.query { color: var(--query); }
.strips dt.key { color: var(--key); }
.strips dt.value { color: var(--value); }
.strip.w .above { fill: var(--weight); }
.terms input { inline-size: 92px; min-block-size: 26px; }
.terms input.query { color: var(--query); }
.terms input.key { color: var(--key); }
.temperature { display: grid; gap: 4px; }
.pick { cursor: crosshair; }
.said { margin-block: 4px 12px; }
.output .current { font-weight: 700; }
.output .formula { display: flex; flex-wrap: wrap; gap: 0 12px; }
.stack { position: relative; display: block; block-size: 12px; min-inline-size: 120px; border-inline: 0; background: linear-gradient(var(--line), var(--line)) center / 1px 100% no-repeat; }
.stack i { position: absolute; inset-block: 1px; background: var(--value); border-inline-end: 1px solid var(--paper); }
.stack .p1 { opacity: .8; } .stack .p2 { opacity: .64; } .stack .p3 { opacity: .5; } .stack .p4 { opacity: .3; }
tr.current .link { font-weight: 700; }
.link { padding: 0 4px; margin-inline-start: -4px; text-align: start; min-block-size: 24px; min-inline-size: 24px; }
`;
