/**
 * On paper: the picture with its caption and legend (or the row in full), in the colors of the light page on white, without
 * whatever is there to be pressed. A picture keeps the size in pixels it has on the screen, so that it need not be computed
 * anew while the browser waits; a wider one is shrunk to the width of a sheet (print.ts measures it).
 */
import { css, unsafeCSS } from "lit";
import { COLORS } from "./theme.ts";

/** Pixels of CSS that fit across A4 and Letter, upright, with their margins. */
export const SHEET = 672;

const white = COLORS.map(
  ([name, light]) => `--${name}: ${name === "paper" || name === "raised" ? "#ffffff" : light};`,
).join("\n");

/** What holds on paper, and as soon as it is about to be printed. */
export const paper = css`
:host, :host([theme]) { color-scheme: light; ${unsafeCSS(white)} block-size: auto; background: #ffffff; container-type: normal; break-inside: avoid; }
* { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.root, .root.without-side, .root.without-heads, .root.alone { padding: 0; display: block; block-size: auto; inline-size: ${SHEET}px; max-inline-size: 100%; overflow: visible; }
.masthead, .left, .side, .status, .line, .toolbar, .minimap, .preview, .mark.pointed, .mark.band, dialog, .ghost { display: none; }
.printed { display: block; padding-block-end: 8px; overflow-wrap: anywhere; }
.main { display: block; padding: 0; }
.pane, .root.without-heads .pane { inline-size: var(--print-width, 100%); block-size: var(--print-height, 560px); min-block-size: 0; max-inline-size: none; zoom: var(--print-zoom, 1); }
.pane.scrolls { inline-size: auto; block-size: auto; zoom: 1; overflow: visible; }
.foot { padding-block-end: 0; }
.legend { padding-inline-start: 6px; }
.legend .hatched { background: linear-gradient(135deg, transparent 40%, var(--hatch) 40% 60%, transparent 60%) 0 0 / 5px 5px; }
.rowview { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px 24px; padding: 0; }
.rowview section { break-inside: avoid; }
.rowview button.bordered, .rowview .choice, .rowview .pin, .temperature { display: none; }
.rowview button, .rowview input { padding-inline: 0; border-color: transparent; background: none; margin: 0; }
.tablewrap { overflow: hidden; }
.tablewrap .tools { display: none; }
.welcome { display: none; }
`;

export const printLook = css`
.printed { display: none; }
@media print { ${paper} }
`;
