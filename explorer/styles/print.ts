/**
 * Print styles: the picture with its caption and legend (or the whole row), in light colors on white, without controls. A
 * picture keeps its size in pixels, so that its tiles need not be recomputed while the browser waits; a wide one is scaled down
 * to the width of a sheet (app/print.ts measures it).
 */
import { css, unsafeCSS } from "lit";
import { COLORS } from "../../ui/colors.ts";

/** The width in CSS pixels that fits on A4 and Letter in portrait, inside the margins. */
export const SHEET = 672;

const white = COLORS.map(
  ([name, light]) => `--${name}: ${name === "paper" || name === "raised" ? "#ffffff" : light};`,
).join("\n");

/** Applied on paper, and from `beforeprint` on. */
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
