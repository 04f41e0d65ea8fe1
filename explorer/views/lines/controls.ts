/** The texts of the lines view: controls, the line below the picture, the line above it, and the legend. */
import { html, nothing, type TemplateResult } from "lit";
import { askHeads } from "../../../src/store/measures/ask-heads.ts";
import { isSigned } from "../../../src/store/measures/transfer.ts";
import { css } from "../../../ui/css.ts";
import type { Session, TokenPair } from "../../app/session.ts";
import { check, choice, numeral, quoted, type Ui } from "../../app/ui.ts";
import { MAX_PINS } from "../../state/state.ts";
import { type LinkTotals, MAX_KEYS, stageOf } from "./edges.ts";
import type { Over } from "./focus.ts";
import { hasArcs } from "./layout.ts";
import { type LinksInView, MAX_LINES, MAX_STROKE, type Stroke, strokeOf } from "./paint.ts";
import { strandsLegend, strandsOf } from "./together.ts";

/** The controls above the lines: which links of each row are drawn, several heads together, arcs. */
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
      ["mass", "share", "As many keys of each row as contain a share of its weight"],
    ],
    state.keep,
    (keep) => session.set({ keep }),
  )}
  <input type="range" min=${top ? 1 : 50} max=${top ? 16 : 99} step="1" .value=${String(top ? state.top : Math.round(state.mass * 100))}
    aria-label=${top ? "Keys of each row" : "Share of each row in percent"} @input=${set("replace")} @change=${set("push")}>
  <output>${top ? numeral(state.top, "state.top") : numeral(state.mass, "state.mass", { style: "percent" })}</output></span>
  ${check("pinned heads together", state.together, (together) => session.set({ together }))}
  ${
    state.together && state.pins.length === 0 && block
      ? html`<button type="button" class="bordered" title="The six heads with the largest contrast from this token to one other token" @click=${() => pinStrongest(session)}>Pin six heads for ${quoted(session.labels(block).query[state.query], session.labels(block).lang.query)}</button>`
      : nothing
  }
  ${block && hasArcs(block) ? check("arcs", state.arcs, (arcs) => session.set({ arcs })) : nothing}`;
}

/** Pins the heads with the largest contrast from the cursor's query to one key. */
function pinStrongest(session: Session): void {
  const { store, state, ref } = session;
  askHeads(store!, { block: ref.block, query: state.query }).then(
    (answers) => {
      if (session.store !== store) return;
      const pins = answers
        .slice(0, MAX_PINS)
        .map(({ ref: { layer, head } }) => ({ block: state.block, layer, head }));
      session.set({ pins });
    },
    (error) => session.failed(error),
  );
}

/** "214 of 16,384 links drawn; together 83 % of all attention", and what limits them. `rows`: the number of all rows. */
export function totalsLine(
  session: Session,
  totals: LinkTotals,
  inView: LinksInView,
  rows: number,
): TemplateResult {
  const { state } = session;
  const { edges, of, shown, mass, cut } = totals;
  const share = mass > 0 ? (shown - inView.droppedMass) / mass : 0;
  const what = stageOf(state) === "contribution" ? "of all contributions" : "of all attention";
  const rest =
    totals.rows < rows
      ? html` of the ${numeral(totals.rows, "links.rows")} rows read so far, of ${numeral(rows, "rows")}`
      : nothing;
  return html`<span>${numeral(edges - inView.dropped, "links.kept")} of ${numeral(of, "links.of")} links drawn; together ${numeral(share, "links.kept", { style: "percent" })} ${what}${rest}${
    inView.dropped > 0 ? html`: the strongest ${numeral(MAX_LINES, "MAX_LINES")} on screen` : nothing
  }${cut > 0 ? html`; ${numeral(cut, "links.cut")} ${cut === 1 ? "row has" : "rows have"} more than the ${numeral(MAX_KEYS, "MAX_KEYS")} drawn of one` : nothing}.</span>
    ${isSigned(state.stage) ? html`<span class="badge">lines show weights</span>` : nothing}`;
}

/** The highlighted links in words: "‹it› gives 0.83 to 5 keys". */
export function focusLine(
  session: Session,
  { query, key }: TokenPair,
  { links, more }: Over,
): TemplateResult {
  const names = session.labels(session.block!);
  const [first] = links;
  if (first === undefined) return html``;
  const mass = links.reduce((sum, { weight }) => sum + weight, 0);
  const sum = numeral(mass, "sum of the lines");
  const ofQuery = links.every(({ row }) => row === first.row);
  const count = numeral(links.length, "links");
  const text =
    links.length === 1
      ? html`${quoted(names.query[query], names.lang.query)} to ${quoted(names.key[key], names.lang.key)}: ${sum}`
      : ofQuery
        ? html`${quoted(names.query[query], names.lang.query)} gives ${sum} to ${count} keys`
        : html`${quoted(names.key[key], names.lang.key)} gets ${sum} from ${count} queries`;
  return html`${text}${more > 0 ? html`; ${numeral(more, "links")} weaker not drawn` : nothing}`;
}

/** The legend: lines with the widths and opacities of four weights. */
export function linesLegend(session: Session, drawn: Stroke | undefined): TemplateResult {
  const { state } = session;
  const strands = strandsOf(session, "var(--weight)");
  const row = state.domain === "row";
  const max = typeof drawn?.domain === "number" ? drawn.domain : 1;
  const stroke = { transfer: state.transfer, domain: max, widest: drawn?.widest ?? MAX_STROKE };
  return html`<span class="legend strokes" part="legend">${[0.01, 0.1, 0.25, 1].map((share) => {
    const { width, opacity } = strokeOf({ row: 0, column: 0, weight: share * max }, stroke);
    return html`<span class="stroke swatch" aria-hidden="true" ${css({ height: `${width.toFixed(2)}px`, opacity: opacity.toFixed(2) })}></span>
      ${row ? numeral(share, "legend", { style: "percent" }) : numeral(share * max, "legend", { digits: 2 })}`;
  })}${row ? "of each row’s largest" : nothing}</span>${strands.length > 1 ? strandsLegend(session, strands) : nothing}`;
}
