/**
 * "Causes": each head, attention layer and feed-forward network is turned off or replaced in turn, and the change of a prediction, a state or
 * a weight is shown: a grid of layers × parts, the part of the cursor's head, and the largest changes. In Compare it is the fourth pane.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { StoredEffects } from "../../../../src/store/formats/stored-evidence.ts";
import type { PartEffect } from "../../../../src/view/element.ts";
import { css } from "../../../../ui/css.ts";
import {
  type Causes,
  causesOf,
  hasCauses,
  measureOf,
  measuresOf,
  storedEffects,
} from "../../../state/causes/causes.ts";
import type { State } from "../../../state/state.ts";
import type { Session } from "../../session.ts";
import { bar, choice, numeral, quoted, token } from "../../ui.ts";

/** How many parts are listed. */
const LISTED = 6;
/** The largest number of heads that are drawn as a grid. */
const DRAWN = 1024;

/** The second text of Compare. */
export interface OtherText {
  /** The text, if its model can be asked; undefined: it cannot. */
  readonly text: string | undefined;
}

type Part = Pick<PartEffect, "part" | "layer" | "head">;

/** `L2 H8`, `MLP 2`, `attention 2`. */
const partName = ({ part, layer, head }: Part): string =>
  head !== undefined ? `L${layer} H${head}` : `${part === "mlp" ? "MLP" : "attention"} ${layer}`;

/** The pane, a button that opens it, or nothing where the text has neither a model nor stored results. */
export function causesPanel(session: Session, other?: OtherText): TemplateResult | typeof nothing {
  const { state, block, model } = session;
  if (block === undefined || !hasCauses(session)) return nothing;
  const names = session.labels(block);
  const at = quoted(names.query[state.query], names.lang.query);
  if (state.cause === "off")
    return html`<div class="causes"><h2>Causes</h2>
      <p><button type="button" class="bordered ask" title="Turns each head off in turn" @click=${() => session.set({ cause: "zero" })}>${model?.ask ? html`What changes ${at} if a head is off?` : "What changes if a head is off?"}</button></p></div>`;
  return html`<div class="causes"><h2>Causes</h2>
    ${model?.ask ? modelCauses(session, other) : storedEffects(block).map((one) => stored(session, one))}
    <p><button type="button" @click=${() => session.set({ cause: "off" })}>Close the causes</button></p></div>`;
}

const CHANGES: readonly (readonly [Exclude<State["cause"], "off">, string, string])[] = [
  ["zero", "off", "Zeros replace the output of each part in turn"],
  ["mean", "mean", "The mean over the text replaces the output of each part in turn"],
  ["patch", "from B", "The output in text B replaces that of each part in turn, at the aligned tokens"],
  ["link", "this link", "The cursor's link gets weight 0 in each head in turn"],
  ["renormalized", "link, rest grows", "The same, and the row's other weights grow to sum to 1"],
];

function modelCauses(session: Session, other: OtherText | undefined): TemplateResult {
  const { state, block, model } = session;
  const names = session.labels(block!);
  const at = quoted(names.query[state.query], names.lang.query);
  const measure = measureOf(session);
  const labels: Record<State["measure"], unknown> = {
    prediction: model?.predicts === "next" ? "next token" : "masked word",
    state: at,
    text: "whole text",
    weight: "this weight",
  };
  const answer = causesOf(session, other?.text);
  const needsOther = state.cause === "patch" && other?.text === undefined;
  const { result } = answer ?? {};
  return html`<p>${choice(
    "Change",
    CHANGES.filter(([name]) => other !== undefined || name !== "patch"),
    state.cause as "zero",
    (cause) => session.set({ cause }),
    "wraps",
  )}</p><p>${choice(
    "Measured on",
    measuresOf(session).map((name) => [name, labels[name]] as const),
    measure,
    (chosen) => session.set({ measure: chosen }),
    "wraps",
  )}</p>
  ${
    needsOther
      ? html`<p class="quiet">A patch takes outputs from a second text that a model reads: ${other === undefined ? "open Compare" : "choose one as B"}.</p>`
      : answer?.error !== undefined
        ? html`<p class="warning" role="alert">${answer.error}</p>`
        : result === undefined
          ? html`<p class="quiet" role="status">Running ${model!.name} without each part …</p>`
          : html`${quantity(session, result, other?.text !== undefined)}
    ${isTelling(result) ? nothing : html`<p class="quiet">The two texts hardly differ in it, so no share of their difference is given.</p>`}
    ${pictured(session, isTelling(result) ? result.effects : result.effects.map(({ recovered: _, ...effect }) => effect), measure, state.cause, result.token)}
    ${result.done < result.total ? html`<p class="quiet" role="status">${numeral(result.done, "layers")} of ${numeral(result.total, "layers")} layers <progress value=${result.done} max=${result.total}></progress> <button type="button" @click=${() => session.set({ cause: "off" })}>Stop</button></p>` : nothing}`
  }`;
}

/** Whether a patch's share of the difference between two texts says something: the difference is no small part of the largest change. */
const isTelling = ({ value, otherValue, effects }: Causes): boolean =>
  otherValue === undefined || 5 * Math.abs(otherValue - value) >= Math.abs(effects[0]?.change ?? 0);

/** The quantity of the unchanged run. */
function quantity(
  session: Session,
  {
    value,
    otherValue,
    token: predicted,
    against,
  }: { value: number; otherValue?: number; token?: string; against?: string },
  hasOther: boolean,
): TemplateResult {
  const { state, block } = session;
  const names = session.labels(block!);
  const at = quoted(names.query[state.query], names.lang.query);
  const measure = measureOf(session);
  if (measure === "prediction")
    return against === undefined
      ? html`<p>Probability of ${quoted(predicted ?? "")}, the most likely token: ${numeral(value, "ablate", { style: "percent" })}.</p>`
      : html`<p>Logit of ${quoted(predicted ?? "")} minus that of ${quoted(against)}: ${numeral(value, "measureEffects")} in A, ${numeral(otherValue ?? Number.NaN, "measureEffects other")} in B.</p>`;
  if (measure === "weight")
    return html`<p>Weight of ${at} → ${quoted(names.key[state.key], names.lang.key)} in L${state.layer} H${state.head}: ${numeral(value, "measureEffects")}.</p>`;
  const of = measure === "state" ? html`the last state of ${at}` : "the mean of the last states";
  return hasOther
    ? html`<p>Cosine of ${of} in A with that in B: ${numeral(value, "measureEffects")}.</p>`
    : html`<p class="quiet">The cosine of ${of} with that of the unchanged run: below 1, it has moved.</p>`;
}

/** The effects as a grid and a list; the cursor's head in a sentence. */
function pictured(
  session: Session,
  effects: readonly PartEffect[],
  measure: State["measure"] | "stored",
  cause: State["cause"],
  predicted?: string,
): TemplateResult {
  const { state } = session;
  const largest = Math.max(...effects.slice(0, 1).map(({ change }) => Math.abs(change)));
  const isCurrent = ({ layer, head }: Part) => layer === state.layer && head === state.head;
  const current = effects.find(isCurrent);
  const isProbability = measure === "prediction" && cause !== "patch";
  const written = isProbability ? ({ style: "percent" } as const) : {};
  // A click moves the cursor, and with it a link that is measured.
  const open = ({ layer, head }: Part) =>
    head === undefined || measure === "weight" ? undefined : () => session.set({ layer, head });
  return html`${
    current === undefined
      ? nothing
      : html`<p><strong>${cause === "patch" ? "With B’s" : cause === "mean" ? "With the mean of" : cause === "zero" ? "Without" : "Without the link in"} ${partName(current)}</strong>: ${numeral(current.value, "measureEffects", written)},
        ${change(current, isProbability)}${recovered(current)}${current.top !== undefined && current.top.token !== predicted ? html`; most likely then ${quoted(current.top.token)}` : nothing}.</p>`
  }
  ${grid(session, effects, largest, open)}
  <ol class="effects">${effects.slice(0, LISTED).map((effect) => {
    const act = open(effect);
    const name = partName(effect);
    return html`<li class=${isCurrent(effect) ? "current" : ""}>${act ? html`<button type="button" class="link" @click=${act}>${name}</button>` : html`<span>${name}</span>`}
      ${bar(effect.change / (largest || 1), effect.change < 0 ? "key" : "query", true)}${change(effect, isProbability)}
      ${effect.top !== undefined && effect.top.token !== predicted ? html`<span class="found">then ${token(effect.top.token)}</span>` : effect.recovered === undefined ? nothing : html`<span class="found">${recovered(effect)}</span>`}</li>`;
  })}</ol>`;
}

const change = ({ change: by }: PartEffect, isProbability: boolean): TemplateResult =>
  isProbability
    ? html`<span class="by">${numeral(100 * by, "ablate change", { style: "signed" })} points</span>`
    : html`<span class="by">${numeral(by, "measureEffects change", { style: "signed" })}</span>`;

const recovered = ({ recovered: share }: PartEffect): TemplateResult | typeof nothing =>
  share === undefined || !Number.isFinite(share)
    ? nothing
    : html` ${numeral(share, "measureEffects recovered", { style: "percent" })} of the difference`;

/** Layers × parts; the stronger the color, the larger the change: blue raises the quantity, brown lowers it. */
function grid(
  session: Session,
  effects: readonly PartEffect[],
  largest: number,
  open: (part: Part) => (() => void) | undefined,
): TemplateResult | typeof nothing {
  const { block, state } = session;
  const { layers, heads } = block!;
  if (layers.length * heads > DRAWN) return nothing;
  const columns = [...Array(heads).keys(), "attention", "mlp"] as const;
  const has = new Map(effects.map((one) => [`${one.layer} ${one.head ?? one.part}`, one]));
  const shownColumns = columns.filter(
    (column) => typeof column === "number" || effects.some(({ part }) => part === column),
  );
  return html`<table class="effect-grid" aria-label="Changes by layer and part">
    <thead><tr><th scope="col"><span class="hid">layer</span></th>${shownColumns.map((column) => html`<th scope="col" class=${typeof column === "number" ? nothing : "whole"}>${column === "attention" ? "all" : column === "mlp" ? "MLP" : column}</th>`)}</tr></thead>
    <tbody>${layers.map(
      (layer) =>
        html`<tr><th scope="row">${layer}</th>${shownColumns.map((column) => {
          const effect = has.get(`${layer} ${column}`);
          if (effect === undefined) return html`<td></td>`;
          const share = Math.abs(effect.change) / (largest || 1);
          const role = effect.change < 0 ? "key" : "query";
          const isCurrent = layer === state.layer && column === state.head;
          const about = `${partName(effect)}: ${effect.change >= 0 ? "+" : "−"}${Math.abs(effect.change).toPrecision(3)}`;
          const paint = css({
            background: `color-mix(in srgb, var(--${role}) ${(100 * share).toFixed(1)}%, var(--paper))`,
          });
          const act = open(effect);
          return html`<td><button type="button" title=${about} aria-label=${about} aria-current=${isCurrent ? "true" : nothing} ?disabled=${act === undefined} @click=${act} ${paint}></button></td>`;
        })}</tr>`,
    )}</tbody></table>`;
}

/** Effects that the file has, with the command that measured them. */
function stored(
  session: Session,
  { kind, command, quantity: of, other, value, effects }: StoredEffects,
): TemplateResult {
  const { block } = session;
  const names = session.labels(block!);
  const named = (at: unknown, role: "query" | "key") =>
    quoted(names[role][Number(at)] ?? "", names.lang[role]);
  const parts = effects.map(
    (one): PartEffect => ({
      ...one,
      part: one.part as PartEffect["part"],
      value: one.value ?? one.probability ?? Number.NaN,
    }),
  );
  const what =
    kind === "prediction"
      ? html`Probability of the most likely token`
      : of?.["of"] === "weight"
        ? html`Weight of ${named(of["query"], "query")} → ${named(of["key"], "key")} in L${of["layer"]} H${of["head"]}`
        : html`Cosine of ${of?.["of"] === "state" ? html`the last state of ${named(of["position"], "query")}` : "the mean of the last states"} with that ${other === undefined ? "of the unchanged run" : html`in <q>${other}</q>`}`;
  return html`<p>${what}${value === undefined ? nothing : html`: ${numeral(value, "measureEffects")}`}; with one head off${other === undefined ? "" : " in both"}:</p>
    ${pictured(session, parts, kind === "prediction" ? "prediction" : "stored", "zero")}
    <details><summary>Measured by</summary><code>${command}</code></details>`;
}
