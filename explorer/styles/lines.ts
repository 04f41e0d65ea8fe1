/** The styles of the lines view and the text view. */
import { css } from "lit";

export const linesLook = css`
.text { position: absolute; inset: 0; display: flex; flex-direction: column; }
.text .scroller { position: relative; flex: 1 1 0; min-block-size: 0; overflow: hidden auto; padding: 4px; scrollbar-width: thin; contain: strict; }
.text h3 { margin-block: 4px 8px; }
.text .passage { position: relative; font-size: var(--letters, 15px); user-select: none; cursor: pointer; }
.text .passage + h3 { margin-block-start: 20px; }
.text .line-of-text { position: absolute; inset-inline: 0; block-size: 2em; display: flex; align-items: center; white-space: pre; contain: layout style; }
.text .unit { flex: none; max-inline-size: 100%; padding: 0 3px; line-height: 1.6; overflow: hidden; text-overflow: ellipsis; border-radius: 2px; unicode-bidi: isolate; }
.text .unit[data-apart="true"] { margin-inline-start: 4px; }
.text .unit[data-joins~="before"] { padding-inline-start: 0; border-start-start-radius: 0; border-end-start-radius: 0; }
.text .unit[data-joins~="after"] { padding-inline-end: 0; border-start-end-radius: 0; border-end-end-radius: 0; }
.text .unit.outside { color: var(--third); }
.text .unit.hidden { color: var(--third); text-decoration: line-through; }
.text .unit.masked { background: repeating-linear-gradient(135deg, transparent 0 5px, color-mix(in srgb, var(--hatch) 45%, transparent) 5px 6px); }
.text .unit.non-finite { outline: 1px dashed var(--badge); outline-offset: -1px; }
.text .unit.previewed { box-shadow: inset 0 -2px 0 var(--query); }
.text .unit.chosen { box-shadow: 0 0 0 1px var(--paper), 0 0 0 3px var(--query); z-index: 1; }
.text .unit.pointed { outline: 1px solid var(--ink); outline-offset: 1px; }
.text .unit:focus-visible { outline: 2px solid var(--query); outline-offset: 2px; z-index: 2; }
.text .says { flex: none; padding-block-start: 4px; color: var(--second); min-block-size: 44px; }
.text .says p { overflow-wrap: anywhere; }
.photos .scroller { display: flex; flex-wrap: wrap; gap: 12px 16px; align-content: start; align-items: flex-start; }
.photos .passage { flex: none; max-inline-size: 100%; font-size: 12px; font-family: var(--mono); }
.photos h3:not([hidden]) { flex: 1 0 100%; margin: 0; }
.photos .beside { display: flex; flex-wrap: wrap; gap: 4px; margin-block: 2px 6px; }
.photos .beside .unit { min-block-size: 24px; padding: 2px 6px; margin: 0; border: 1px solid var(--line); border-radius: 4px; }
.photos .photo { position: relative; overflow: hidden; background: var(--hover); }
.photos .photo canvas { position: absolute; inset: 0; inline-size: 100%; block-size: 100%; filter: grayscale(1) contrast(.9) opacity(.75); image-rendering: pixelated; }
.photos .patches { position: absolute; inset: 0; display: grid; grid-template-columns: repeat(var(--columns), 1fr); grid-auto-rows: 1fr; }
.photos .patches .unit { padding: 0; border-radius: 0; max-inline-size: none; min-inline-size: 0; min-block-size: 0; }
.photos .patches .unit:is(.previewed, .chosen) { box-shadow: 0 0 0 1px var(--paper), 0 0 0 3px var(--query); z-index: 1; }
.photos .patches .unit.pointed { outline-offset: -1px; z-index: 1; }
.photos .strip { flex: 1 1 200px; min-inline-size: 0; }
.photos .strip[hidden] { display: none; }
.photos .maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(56px, 1fr)); gap: 6px; margin-block-start: 6px; }
.photos .maps button { display: grid; gap: 2px; padding: 3px; border-color: transparent; min-block-size: 44px; color: var(--second); font: 11px/14px var(--mono); }
.photos .maps button[aria-pressed="true"] { border-color: var(--query); color: var(--ink); }
.photos .maps canvas { inline-size: 100%; image-rendering: pixelated; outline: 1px solid var(--line); }
@media (forced-colors: active) {
  .photos .patches .unit:is(.previewed, .chosen) { outline: 3px solid Highlight; }
  .text .unit.tinted { forced-color-adjust: none; }
  .text .unit.previewed { text-decoration: underline 2px; }
  .text .unit.chosen { outline: 3px solid Highlight; outline-offset: 0; }
}

.lines { position: absolute; inset: 0; display: flex; flex-direction: column; user-select: none; }
.lines .stage { position: relative; flex: 1 1 0; min-block-size: 0; overflow: hidden; direction: ltr; }
.lines .cells { position: absolute; inset: 0; pointer-events: none; }
.lines .cells.behind { opacity: .16; }
.lines .area { position: absolute; touch-action: pan-y; }
.lines .column { position: absolute; overflow: hidden; scrollbar-width: thin; overscroll-behavior: auto; cursor: pointer; }
.lines .column.scrolls { overflow: hidden auto; }
.lines .column:not(.scrolls), .lines .column:not(.scrolls) .labels { overflow: visible; }
.lines .column.queries { direction: rtl; }
.lines.arcs .column.queries { direction: ltr; }
.lines .stuck { position: sticky; inset-block-start: 0; block-size: 0; overflow: visible; }
.lines .labels { inset: 0 auto auto 0; pointer-events: none; direction: ltr; }
.lines .labels.keys span, .lines.arcs:not(.centered) .labels span { left: 0; right: auto; }
.lines.arcs.centered .labels span { left: 0; right: 0; margin-inline: auto; inline-size: fit-content; }
.lines .heading { position: absolute; inset-block-start: 0; color: var(--second); font-size: 11px; line-height: 16px; text-align: end; white-space: nowrap; }
.lines .heading ~ .heading { text-align: start; }
.lines.arcs .heading { text-align: start; }
.lines.arcs.centered .heading { text-align: center; }
.lines .values { position: absolute; inset: 0; pointer-events: none; }
.lines .value { position: absolute; inset-block-start: 0; inset-inline-start: 0; padding: 0 3px; background: var(--paper); border-radius: 2px; white-space: nowrap; display: flex; align-items: baseline; gap: 6px; }
.lines .value[hidden], .lines .value .token:empty { display: none; }
.lines .value * { font-size: 11px; line-height: 13px; }
.lines .value .token { max-inline-size: 120px; overflow: hidden; text-overflow: ellipsis; font-weight: 700; }
.lines .said { position: absolute; inset-block-start: 0; inset-inline: 0; text-align: center; line-height: 18px; pointer-events: none; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.lines.together.said .heading { visibility: hidden; }
.lines.together .said { white-space: normal; line-height: 18px; max-block-size: 36px; }
.lines.arcs.said .heading { visibility: hidden; }
.lines .list { position: absolute; inset: 0 auto auto 0; inline-size: 100%; pointer-events: none; direction: ltr; z-index: 2; }
.lines .column.bare { pointer-events: none; }
.lines .list [role="option"] { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; color: transparent; white-space: nowrap; font-size: 1px; }
.lines .list [role="option"]:focus-visible { outline: 2px solid var(--query); outline-offset: 0; border-radius: 2px; }
.lines .kept { flex: none; padding-block: 4px 0; color: var(--second); display: flex; flex-wrap: wrap; gap: 0 16px; min-block-size: 24px; }
.keeping { display: inline-flex; align-items: center; gap: 8px; }
.keeping input { inline-size: 96px; }
.keeping output { min-inline-size: 36px; }
.legend.strokes { gap: 6px; }
.legend.strands { gap: 4px 14px; }
.legend.strands .swatch { display: inline-block; inline-size: 12px; block-size: 12px; vertical-align: -2px; border-radius: 2px; }
.legend .stroke { inline-size: 24px; background: var(--weight); display: inline-block; }
.legend .stroke:not(:first-child) { margin-inline-start: 8px; }
@container (width < 900px) {
  .root.head .pane:has(> .photos), :host([address]) .root.head .pane:has(> .photos):not(.scrolls, :has(> .tablewrap)) { block-size: min(184cqi, 86dvh); }
}
@container (width < 520px) {
  .lines .said { display: none; }
  .text .says { min-block-size: 84px; }
  .lines .kept { min-block-size: 44px; align-content: start; }
  .lines.said .heading, .lines.together.said .heading, .lines.arcs.said .heading { visibility: visible; }
}
`;
