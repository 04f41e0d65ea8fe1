/** Lines in words: the controls of what is kept, what is left out, and what a width means. The picture is draw/lines.ts. */
import { html, nothing, type TemplateResult } from "lit";
import { isSigned } from "../../src/view/store/transfer.ts";
import { type Kept, stageOf } from "../draw/lines-edges.ts";
import type { Over } from "../draw/lines-focus.ts";
import { hasArcs } from "../draw/lines-layout.ts";
import { MOST_LINES, type Seen, strokeOf } from "../draw/lines-paint.ts";
import { css } from "../look/css.ts";
import type { Cell, Session } from "../session.ts";
import { check, choice, figure, quoted, type Ui } from "../ui.ts";

/** The controls above the lines: one quantity with two readings, and the layout. */
export function linesControls({ session }: Ui): TemplateResult {
  const { state, block } = session;
  const top = state.keep === "top";
  const set = (how: "push" | "replace") => (event: Event) => {
    const value = Number((event.target as HTMLInputElement).value);
    session.set(top ? { top: value } : { mass: value / 100 }, "replace");
    if (how === "push") session.changed("push");
  };
  return html`<span class="keeping">${choice(
    "Lines kept of each row",
    [
      ["top", "top", "The strongest keys of each row"],
      ["mass", "mass", "As many keys of each row as hold a share of it"],
    ],
    state.keep,
    (keep) => session.set({ keep }),
  )}
  <input type="range" min=${top ? 1 : 50} max=${top ? 16 : 99} step="1" .value=${String(top ? state.top : Math.round(state.mass * 100))}
    aria-label=${top ? "Keys of each row" : "Share of each row in per cent"} @input=${set("replace")} @change=${set("push")}>
  <output>${top ? figure(state.top, "state.top") : figure(state.mass, "state.mass", { style: "percent" })}</output></span>
  ${block && hasArcs(block) ? check("arcs", state.arcs, (arcs) => session.set({ arcs })) : nothing}`;
}

/** What the line under the lines is made of. */
export interface Told {
  readonly session: Session;
  readonly kept: Kept;
  readonly seen: Seen;
  /** Rows in all. */
  readonly rows: number;
  readonly focus: Cell | undefined;
  readonly over: Over | undefined;
}

/** "Showing 83 % of the mass, 214 of 16,384 edges", and whatever else is not there. */
export function keptLine({ session, kept, seen, rows, focus, over }: Told): TemplateResult {
  const { state, block } = session;
  const { edges, of, shown, mass, cut } = kept;
  const share = mass > 0 ? (shown - seen.droppedMass) / mass : 0;
  const what = stageOf(state) === "contribution" ? "of the contributions" : "of the mass";
  const rest =
    kept.rows < rows
      ? html` of the ${figure(kept.rows, "links.rows")} rows read so far, of ${figure(rows, "rows")}`
      : nothing;
  return html`<span>showing ${figure(share, "links.kept", { style: "percent" })} ${what},
    ${figure(edges - seen.dropped, "links.kept")} of ${figure(of, "links.of")} edges${rest}${
      seen.dropped > 0 ? html`: the strongest ${figure(MOST_LINES, "MOST_LINES")} on screen` : nothing
    }${cut > 0 ? html`; ${figure(cut, "links.cut")} ${cut === 1 ? "row has" : "rows have"} more than is drawn of one` : nothing}.</span>
    ${focus && over && block ? focused(session, focus, over) : nothing}
    ${isSigned(state.stage) ? html`<span class="badge">lines show weights, not scores</span>` : nothing}`;
}

function focused(session: Session, { query, key }: Cell, over: Over): TemplateResult {
  const names = session.labels(session.block!);
  const mass = over.links.reduce((sum, { weight }) => sum + weight, 0);
  const [first, last] = [over.links[0], over.links.at(-1)];
  if (first === undefined || last === undefined) return html``;
  const one = over.links.length === 1;
  const fromQuery = over.links.every(({ row }) => row === first.row);
  const text = one
    ? html`${quoted(names.query[query])} gives ${quoted(names.key[key])} ${figure(mass, "row weights")}`
    : fromQuery
      ? html`${quoted(names.query[query])}: ${figure(over.links.length, "links")} lines, ${figure(mass, "row weights")} of its row`
      : html`${quoted(names.key[key])}: lines of ${figure(over.links.length, "links")} queries, ${figure(mass, "column weights")} in all`;
  return html`<span>${text}${over.more > 0 ? html`; ${figure(over.more, "links")} weaker ones not drawn` : nothing}</span>`;
}

/** Lines as wide and dark as their weights, with the weights. */
export function linesLegend({ state }: Session, domain: number | undefined): TemplateResult {
  const most = domain ?? 1;
  const stroke = { transfer: state.transfer, domain: most };
  const row = domain === undefined;
  return html`<span class="legend strokes" part="legend">${[0.01, 0.1, 0.25, 1].map((share) => {
    const { width, opacity } = strokeOf({ row: 0, column: 0, weight: share * most }, stroke);
    return html`<span class="stroke swatch" aria-hidden="true" ${css({ height: `${width.toFixed(2)}px`, opacity: opacity.toFixed(2) })}></span>
      ${row ? figure(share, "legend", { style: "percent" }) : figure(share * most, "legend", { digits: 2 })}`;
  })}${row ? "of each row’s largest" : nothing}</span>`;
}
