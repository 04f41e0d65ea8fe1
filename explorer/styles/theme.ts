/**
 * The theme. Every color is a custom property that a page may set on the element, with one value for light and one for dark
 * pages. Fonts are inherited, except the monospaced font of tokens and numbers; none is loaded. A search chose the four role
 * colors for the greatest distance under normal vision and three kinds of color-deficient vision.
 */
import { css, unsafeCSS } from "lit";
import { colorProperties } from "../../ui/colors.ts";

export const theme = css`
:host {
  ${unsafeCSS(colorProperties)}
  --mono: var(--heed-mono, "JetBrains Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace);
  display: block;
  container-type: inline-size;
  block-size: var(--heed-height, 760px);
  color: var(--ink);
  flood-color: light-dark(#fff, #000); /* Nothing has it: it tells app/element.ts which of two colors the browser takes. */
  background: var(--paper);
  font-size: 13px;
  line-height: 20px;
  font-variant-numeric: tabular-nums;
  text-align: start;
  -webkit-text-size-adjust: 100%;
}
:host([background="none"]) { background: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
/* As high as the picture needs, unless the page sets a height. */
:host(:is([controls="none"], [controls="few"])) { block-size: var(--heed-height, auto); }
:host([hidden]) { display: none; }
*, *::before, *::after { box-sizing: border-box; }
.starting { padding: 20px; color: var(--second); }
h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h2, h3 {
  font-size: 11px;
  line-height: 16px;
  font-weight: 600;
  letter-spacing: .06em;
  text-transform: uppercase;
  color: var(--second);
}
h2 .quoted, h3 .quoted, h2 .math, h3 .math { text-transform: none; letter-spacing: 0; }
.token, .num { font-family: var(--mono); font-size: 12px; line-height: 18px; }
.num { font-variant-numeric: tabular-nums; white-space: nowrap; }
/* The space before a unit and superscript digits are narrower than a column of the monospaced font. */
.num .thin { letter-spacing: -.38em; }
.num .raised { letter-spacing: -.12em; }
.token { unicode-bidi: isolate; overflow-wrap: anywhere; }
.quiet { color: var(--second); }
.hid {
  position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap;
}
.badge {
  display: inline-block; padding: 0 6px; border: 1px solid var(--badge); border-radius: 6px;
  color: var(--badge); font-size: 11px; line-height: 16px; white-space: nowrap;
}
@media (forced-colors: active) {
  :host { --line: CanvasText; --query: Highlight; --badge: CanvasText; }
  canvas, .swatch { forced-color-adjust: none; }
}
`;

export const controls = css`
button, select, input, summary { font: inherit; color: inherit; }
button, select, .field {
  min-block-size: 28px; min-inline-size: 28px; padding: 0 8px;
  background: none; border: 1px solid transparent; border-radius: 6px;
  cursor: pointer;
}
button:hover, select:hover { background: var(--hover); }
button:disabled { color: var(--third); cursor: default; background: none; }
select, input[type="text"], input[type="search"], input[type="number"] {
  border: 1px solid var(--line); border-radius: 6px; background: var(--raised); padding: 0 6px;
  min-block-size: 28px; color: var(--ink); max-inline-size: 100%;
}
input[type="range"] { min-block-size: 24px; accent-color: var(--query); inline-size: 100%; margin: 0; }
input[type="checkbox"] { inline-size: 16px; block-size: 16px; accent-color: var(--query); margin: 0; }
label.check { display: inline-flex; align-items: center; gap: 6px; min-block-size: 28px; cursor: pointer; }
.bordered { border-color: var(--line); background: var(--raised); }
:focus { outline: none; }
:focus-visible { outline: 2px solid var(--query); outline-offset: 1px; box-shadow: 0 0 0 1px var(--paper); }
.choice { display: inline-flex; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); }
.choice button { border-radius: 5px; border: 0; color: var(--second); }
.choice button[aria-pressed="true"] { background: var(--ink); color: var(--paper); }
.choice button:disabled { color: var(--third); }
kbd {
  font-family: var(--mono); font-size: 11px; line-height: 16px; padding: 0 4px; border: 1px solid var(--line);
  border-radius: 4px; background: var(--raised); white-space: nowrap;
}
dialog {
  color: var(--ink); background: var(--raised); border: 1px solid var(--line); border-radius: 8px; padding: 20px;
  inline-size: min(560px, calc(100vw - 32px)); max-block-size: min(800px, calc(100vh - 32px)); overflow: auto;
  box-shadow: 0 8px 32px rgb(0 0 0 / .18);
}
dialog::backdrop { background: rgb(20 21 26 / .35); }
dialog:has(.keylist) { inline-size: min(860px, calc(100vw - 32px)); }
dialog h2 { font-size: 16px; line-height: 24px; letter-spacing: 0; text-transform: none; color: var(--ink); margin-block-end: 8px; }
@media (forced-colors: active) {
  .choice button[aria-pressed="true"], .choices li.at { background: Highlight; color: HighlightText; forced-color-adjust: none; }
  .bar { forced-color-adjust: none; }
}
`;
