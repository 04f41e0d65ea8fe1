/** The right column of the flow: the input tokens of the target, the settings, the row sums, and the warning. */
import { html, nothing, type TemplateResult } from "lit";
import { MAX_FLOW_TOKENS } from "../../../src/store/measures/attention-flow.ts";
import { formatNumber } from "../../../src/store/text/number.ts";
import { blocks } from "../../app/panels/heads.ts";
import { bar, choice, figure, quoted, select, token, type Ui } from "../../app/ui.ts";
import { largest } from "../../state/facts.ts";
import { rolledOf } from "./rolled.ts";

/** How many input tokens are listed. */
const LISTED = 8;
/** How many row sums are listed. */
const SUMS = 200;

export function flowSide(ui: Ui): TemplateResult {
  const { session } = ui;
  const { state, block } = session;
  if (block === undefined) return html``;
  const { done, problem } = rolledOf(session);
  const names = session.labels(block);
  const { query, key } = state;
  const target = quoted(names.query[query] ?? "", names.lang.query);
  const product = done?.matrix;
  const isFlow = done?.by === "flow";
  const long = block.Nq > MAX_FLOW_TOKENS;
  const N = done?.tokens ?? 0;
  const row = product?.subarray(query * N, (query + 1) * N);
  // Words are listed first: in many models special tokens have the largest shares, and they say little about a text.
  const { special } = block;
  const ranked = row ? largest(row, row.length) : [];
  const best = [...ranked.filter((at) => !special.key[at]), ...ranked.filter((at) => special.key[at])];
  const words = Math.min(LISTED, ranked.filter((at) => !special.key[at]).length);
  const listed = best.filter((at, n) => n < words || special.key[at]).slice(0, LISTED + 4);
  const aside = row ? specialShare(row, special.key) : 0;
  const settled = () => session.changed("push");
  const go = (at: number) => session.set({ key: at });
  return html`${blocks(ui)}
    ${
      row === undefined
        ? problem === undefined
          ? html`<h2>What ${target} comes from</h2><p class="quiet" role="status">Multiplying the layers …</p>`
          : nothing
        : html`<h2>What ${target} comes from</h2><p class="quiet">after ${done!.layers.length === 1 ? "layer" : "layers"} ${span(done!.layers)}</p>
      <table class="keys"><thead><tr><th scope="col">input token</th><th scope="col" class="num">share</th><th scope="col"><span class="hid">bar</span></th></tr></thead>
      <tbody>${listed.map(
        (at) => html`<tr class="${at === key ? "current" : ""} ${special.key[at] ? "quiet" : ""}">
        <th scope="row"><button type="button" class="link" @click=${() => go(at)}>${token(names.key[at], names.lang.key)}</button></th>
        <td class="num">${figure(row[at], "rollout")}</td><td class="wide">${special.key[at] ? nothing : bar(row[at] / (row[best[0]] || 1))}</td></tr>`,
      )}</tbody></table>
      ${aside > 0 ? html`<p class="quiet">Special tokens: ${figure(aside, "rollout", { style: "percent" })} together. They are listed last, without bars.</p>` : nothing}
      <h2>Row sums</h2>
      <p>${target}: Σ ${figure(done!.rowSums[query], "rollout.rowSums", { digits: 4 })}${isFlow ? ", by which its flows are divided" : nothing}. Each of the ${figure(N, "rows")} rows sums to 1 (largest error ${figure(done!.worst, "rollout.worst", { digits: 2 })}).</p>
      <details><summary>All row sums</summary><table class="keys"><tbody>${Array.from(
        done!.rowSums.subarray(0, SUMS),
        (sum, at) =>
          html`<tr><th scope="row">${token(names.query[at], names.lang.query)}</th><td class="num">${figure(sum, "rollout.rowSums", { digits: 4 })}</td></tr>`,
      )}</tbody></table>${N > SUMS ? html`<p class="quiet">The first ${figure(SUMS, "rows")} of ${figure(N, "rows")}.</p>` : nothing}</details>`
    }
    <h2>How it is computed</h2>
    <p>${choice(
      "How the layers are joined",
      [
        ["rollout", "rollout", "All layers multiplied"],
        [
          "flow",
          "largest flow",
          long ? `Texts of at most ${MAX_FLOW_TOKENS} tokens` : "How much can pass from each input token",
          long,
        ],
      ],
      long ? "rollout" : state.flowBy,
      (flowBy) => session.set({ flowBy }),
    )}</p>
    <p class="quiet">Each layer: α·I + (1 − α)·(its heads joined), rows divided by their sum. ${
      isFlow
        ? "These are capacities: the largest flow through all layers is found for each pair of tokens."
        : "Then all layers are multiplied."
    } Abnar and Zuidema 2020, “Quantifying Attention Flow in Transformers”.</p>
    <div class="settings">
      ${slider("α: the part that stays in place (residual)", state.alpha, 1, (alpha) => session.set({ alpha }, "replace"), settled)}
      ${select(
        "heads joined by",
        [
          ["mean", "mean"],
          ["max", "largest"],
          ["min", "smallest"],
        ],
        state.fuse,
        (fuse) => session.set({ fuse }),
      )}
      ${slider("smallest weights left out", state.discard, 0.95, (discard) => session.set({ discard }, "replace"), settled)}
      ${select(
        "first layer",
        block.layers.map((layer) => [String(layer), String(layer)] as const),
        String(block.layers.includes(state.fromLayer ?? -1) ? state.fromLayer : block.layers[0]),
        (layer) => session.set({ fromLayer: Number(layer) === block.layers[0] ? null : Number(layer) }),
      )}
    </div>
    <p class="warning" role="note">${done?.warning ?? nothing}</p>`;
}

/** The total share of special tokens in a row. */
export function specialShare(row: Float64Array, special: readonly boolean[]): number {
  return row.reduce((sum, share, at) => sum + (special[at] ? share : 0), 0);
}

/** "0 to 5", or the only layer. */
const span = (layers: readonly number[]) =>
  layers.length === 1 ? String(layers[0]) : `${layers[0]} to ${layers[layers.length - 1]}`;

function slider(
  label: string,
  value: number,
  max: number,
  set: (value: number) => void,
  done: () => void,
): TemplateResult {
  const on = (event: Event) => set(Number((event.target as HTMLInputElement).value));
  return html`<label class="setting"><span>${label}</span> <output>${formatNumber(value, { style: "percent" })}</output>
    <input type="range" min="0" max=${max} step="0.05" .value=${String(value)} @input=${on} @change=${done}></label>`;
}
