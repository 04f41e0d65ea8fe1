/** The right column of the flow: the input tokens of the target, the settings, the row sums, and the warning. */
import { html, nothing, type TemplateResult } from "lit";
import type { Block } from "../../../src/store/block.ts";
import { MAX_FLOW_TOKENS } from "../../../src/store/measures/attention-flow.ts";
import { formatNumber } from "../../../src/store/text/number.ts";
import { blocks } from "../../app/panels/heads.ts";
import type { Session } from "../../app/session.ts";
import { bar, choice, numeral, quoted, select, token, type Ui } from "../../app/ui.ts";
import { largest } from "../../state/facts.ts";
import { type Rolling, rolledOf } from "./rolled.ts";

/** How many input tokens are listed. */
const LISTED = 8;
/** How many row sums are listed. */
const SUMS = 200;

export function flowSide(ui: Ui): TemplateResult {
  const { session } = ui;
  const { block, state } = session;
  if (block === undefined) return html``;
  const { done, problem } = rolledOf(session);
  const names = session.labels(block);
  const target = quoted(names.query[state.query] ?? "", names.lang.query);
  return html`${blocks(ui)}
    ${
      done
        ? html`<h2>What ${target} comes from</h2>${inputs(session, done)}<h2>Row sums</h2>${rowSums(session, done, target)}`
        : problem === undefined
          ? html`<h2>What ${target} comes from</h2><p class="quiet" role="status">Multiplying the layers …</p>`
          : nothing
    }
    <h2>How it is computed</h2>
    ${method(session, block, done?.by === "flow")}
    ${settings(session, block)}
    <p class="warning" role="note">${done?.warning ?? nothing}</p>`;
}

/** The input tokens of the target by share: words first, in many models special tokens have the largest shares and say little about a text. */
function inputs(session: Session, { matrix: product, tokens: N, layers }: Rolling): TemplateResult {
  const { block, state } = session;
  const names = session.labels(block!);
  const special = block!.special.key;
  const row = product.subarray(state.query * N, (state.query + 1) * N);
  const ranked = largest(row, row.length);
  const [words, others] = [ranked.filter((at) => !special[at]), ranked.filter((at) => special[at])];
  const listed = [...words.slice(0, LISTED), ...others].slice(0, LISTED + 4);
  const longest = row[(words[0] ?? others[0]) as number] || 1;
  const specialTotal = specialShare(row, special);
  return html`<p class="quiet">after ${layers.length === 1 ? "layer" : "layers"} ${span(layers)}</p>
    <table class="keys"><thead><tr><th scope="col">input token</th><th scope="col" class="num">share</th><th scope="col"><span class="hid">bar</span></th></tr></thead>
    <tbody>${listed.map(
      (at) => html`<tr class="${at === state.key ? "current" : ""} ${special[at] ? "quiet" : ""}">
      <th scope="row"><button type="button" class="link" @click=${() => session.set({ key: at })}>${token(names.key[at], names.lang.key)}</button></th>
      <td class="num">${numeral(row[at], "rollout")}</td><td class="wide">${special[at] ? nothing : bar(row[at] / longest)}</td></tr>`,
    )}</tbody></table>
    ${words.length > LISTED ? html`<p class="quiet">The first ${numeral(LISTED, "tokens")} of ${numeral(words.length, "tokens")}; T lists all.</p>` : nothing}
    ${specialTotal > 0 ? html`<p class="quiet">Special tokens: ${numeral(specialTotal, "rollout", { style: "percent" })} together. They are listed last, without bars.</p>` : nothing}`;
}

/** The sum of the target's row before it is divided by it, and those of all rows. */
function rowSums(
  session: Session,
  { rowSums: sums, worst, tokens: N, by }: Rolling,
  target: TemplateResult,
): TemplateResult {
  const names = session.labels(session.block!);
  const sum = (value: number) => numeral(value, "rollout.rowSums", { digits: 4 });
  return html`<p>${target}: Σ ${sum(sums[session.state.query])}${by === "flow" ? ", by which its flows are divided" : nothing}. Each of the ${numeral(N, "rows")} rows sums to 1 (largest error ${numeral(worst, "rollout.worst", { digits: 2 })}).</p>
    <details><summary>All row sums</summary><table class="keys"><tbody>${Array.from(
      sums.subarray(0, SUMS),
      (value, at) =>
        html`<tr><th scope="row">${token(names.query[at], names.lang.query)}</th><td class="num">${sum(value)}</td></tr>`,
    )}</tbody></table>${N > SUMS ? html`<p class="quiet">The first ${numeral(SUMS, "rows")} of ${numeral(N, "rows")}.</p>` : nothing}</details>`;
}

/** How the layers are joined. */
function method(session: Session, { Nq }: Block, isFlow: boolean): TemplateResult {
  const isLong = Nq > MAX_FLOW_TOKENS;
  const limit = `Texts of at most ${MAX_FLOW_TOKENS} tokens`;
  return html`<p>${choice(
    "How the layers are joined",
    [
      ["rollout", "rollout", "All layers multiplied"],
      ["flow", "largest flow", isLong ? limit : "How much can pass from each input token", isLong],
    ],
    isLong ? "rollout" : session.state.flowBy,
    (flowBy) => session.set({ flowBy }),
  )}</p>
    <p class="quiet">Each layer: α·I + (1 − α)·(its heads joined), rows divided by their sum. ${
      isFlow
        ? "These are capacities: the largest flow through all layers is found for each pair of tokens."
        : "Then all layers are multiplied."
    } Abnar and Zuidema 2020, “Quantifying Attention Flow in Transformers”.</p>`;
}

/** The settings of a layer's matrix, and the first layer. */
function settings(session: Session, { layers }: Block): TemplateResult {
  const { alpha, fuse, discard, fromLayer } = session.state;
  const done = () => session.changed("push");
  return html`<div class="settings">
    ${slider("α: the part that stays in place (residual)", alpha, 1, (alpha) => session.set({ alpha }, "replace"), done)}
    ${select(
      "heads joined by",
      [
        ["mean", "mean"],
        ["max", "largest"],
        ["min", "smallest"],
      ],
      fuse,
      (fuse) => session.set({ fuse }),
    )}
    ${slider("smallest weights left out", discard, 0.95, (discard) => session.set({ discard }, "replace"), done)}
    ${select(
      "first layer",
      layers.map((layer) => [String(layer), String(layer)] as const),
      String(layers.includes(fromLayer ?? -1) ? fromLayer : layers[0]),
      (layer) => session.set({ fromLayer: Number(layer) === layers[0] ? null : Number(layer) }),
    )}
  </div>`;
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
