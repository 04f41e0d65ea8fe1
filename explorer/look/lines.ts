/** The look of lines and of the running text. */
import { css } from "lit";

export const linesLook = css`
.lines { position: absolute; inset: 0; display: flex; flex-direction: column; user-select: none; }
.lines .stage { position: relative; flex: 1 1 0; min-block-size: 0; overflow: hidden; direction: ltr; }
.lines .cells { position: absolute; inset: 0; pointer-events: none; }
.lines .cells.behind { opacity: .16; }
.lines .area { position: absolute; touch-action: pan-y; }
.lines .column { position: absolute; overflow: hidden; scrollbar-width: thin; overscroll-behavior: auto; cursor: pointer; }
.lines .column.scrolls { overflow: hidden auto; }
.lines .column.queries { direction: rtl; }
.lines.arcs .column.queries { direction: ltr; }
.lines .stuck { position: sticky; inset-block-start: 0; block-size: 0; overflow: visible; }
.lines .labels { inset: 0 auto auto 0; pointer-events: none; direction: ltr; }
.lines .labels.keys span, .lines.arcs:not(.centred) .labels span { inset-inline: 0 auto; }
.lines.arcs.centred .labels span { inset-inline: 0; margin-inline: auto; inline-size: fit-content; }
.lines.arcs .column { overflow-x: visible; }
.lines .heading { position: absolute; inset-block-start: 0; color: var(--second); font-size: 11px; line-height: 16px; text-align: end; white-space: nowrap; }
.lines .heading ~ .heading { text-align: start; }
.lines.arcs .heading { text-align: start; }
.lines.arcs.centred .heading { text-align: center; }
.lines .values { position: absolute; inset: 0; pointer-events: none; }
.lines .value { position: absolute; inset-block-start: 0; inset-inline-start: 0; padding: 0 3px; background: var(--paper); border-radius: 2px; white-space: nowrap; display: flex; align-items: baseline; gap: 6px; }
.lines .value[hidden], .lines .value .token:empty { display: none; }
.lines .value * { font-size: 11px; line-height: 13px; }
.lines .value .token { max-inline-size: 120px; overflow: hidden; text-overflow: ellipsis; font-weight: 700; }
.lines .said { position: absolute; inset-block-start: 0; inset-inline: 0; text-align: center; line-height: 18px; pointer-events: none; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.lines.arcs.said .heading { visibility: hidden; }
.lines .list { position: absolute; inset: 0; pointer-events: none; overflow: clip; }
.lines .list [role="option"] { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; color: transparent; white-space: nowrap; font-size: 1px; }
.lines .list [role="option"]:focus-visible { outline: 2px solid var(--query); outline-offset: 0; border-radius: 2px; }
.lines .kept { flex: none; padding-block: 4px 0; color: var(--second); display: flex; flex-wrap: wrap; gap: 0 16px; min-block-size: 24px; }
.keeping { display: inline-flex; align-items: center; gap: 8px; }
.keeping input { inline-size: 96px; }
.keeping output { min-inline-size: 36px; }
.legend.strokes { gap: 6px; }
.legend .stroke { inline-size: 24px; background: var(--weight); display: inline-block; }
.legend .stroke:not(:first-child) { margin-inline-start: 8px; }
@container (width < 520px) {
  .lines .said { display: none; }
  .lines .kept { min-block-size: 44px; align-content: start; }
  .lines.arcs.said .heading { visibility: visible; }
}
`;
