/**
 * Interventions: a head, a layer's attention, a feed-forward network, a state or a single link of a run is turned off or replaced. What
 * replaces an output is zeros, its mean over the text, or the output of another run (a patch), aligned token by token.
 */

import {
  argumentError,
  checkArgument,
  checkCount,
  isList,
  OptionError,
  refuseValue,
} from "../../core/errors.ts";
import { checkKind, checkKinds } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import type { FloatTensor } from "../../nn/index.ts";
import type { EncoderOptions } from "../encoder/encoder.ts";
import { checkTextModel, type TextModel, type TextTokens } from "../text-model.ts";
import type { AttentionChange, ForwardOptions, LayerAttention } from "../transformer/attend.ts";
import { layerWeights } from "../transformer/attend.ts";

/** What replaces an output: zeros, or its mean over the text. */
export type Replacement = "zero" | "mean";

/** The outputs of a run, for patches: of heads [H, N, d] and feed-forward networks [N, C] of each layer, and the states [N, C]. */
export interface Activations {
  readonly heads: readonly FloatTensor[];
  readonly feedForward: readonly FloatTensor[];
  readonly states: readonly FloatTensor[];
}

/** The source of a patch. */
export interface Patch {
  readonly from: Activations;
  /** The position of each token in the other run; −1 or undefined: the token keeps its output. Default: the same position. */
  readonly positions?: readonly (number | undefined)[];
}

/** An output that is replaced. */
export interface OutputIntervention {
  /** Default `head`. `attention`: all heads of a layer, before the output projection. `state`: the residual stream (0: the embedding). */
  readonly part?: "head" | "attention" | "mlp" | "state";
  readonly layer: number;
  /** Of `head`. */
  readonly head?: number;
  /** Default "zero". */
  readonly replace?: Replacement | Patch;
  /** Only at this token. Default null, every token. */
  readonly position?: number | null;
}

/** A link whose weight becomes 0. */
export interface LinkIntervention {
  readonly part: "link";
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  /** The row's other weights grow so that it sums to 1. Default false. */
  readonly renormalize?: boolean;
}

/** One change of a run. */
export type Intervention = OutputIntervention | LinkIntervention;

/** Hooks that apply interventions. */
export type InterventionHooks = Required<Pick<ForwardOptions, "onAttention" | "onFeedForward" | "onHidden">>;

/** Throws an OptionError unless `value` is an integer from 0 to `count` − 1. */
export function checkIndex(what: string, name: string, value: unknown, count: number): void {
  if (!(Number.isInteger(value) && (value as number) >= 0 && (value as number) < count))
    refuseValue(what, name, `0 to ${count - 1}`, value);
}

/** Throws an OptionError unless `replace` is "zero", "mean" or a patch. */
export function checkReplacement(what: string, replace: unknown): void {
  const isPatch = typeof replace === "object" && replace !== null && "from" in replace;
  if (replace !== "zero" && replace !== "mean" && !isPatch)
    refuseValue(what, "replace", '"zero", "mean" or { from: recordActivations(…) }', replace);
}

/**
 * The outputs of a run on tokens, for patches into another run: of the heads [H, N, dv] and the feed-forward networks [N, C] of each
 * layer, and the states [N, C] before the first layer and after each.
 *
 * @throws OptionError where `model` is no text model, or `tokens` are not what `model.tokenize` returns
 * @example
 * const { states } = recordActivations(encoder, encoder.tokenize("the old ship"));
 * states.length === encoder.layers + 1; // → true
 */
export function recordActivations(
  model: TextModel,
  tokens: Pick<TextTokens, "ids" | "typeIds">,
): Activations {
  checkCount("recordActivations", arguments, 2);
  checkTextModel("recordActivations", model);
  checkArgument(
    [tokens?.ids, tokens?.typeIds ?? []].every(isList),
    "recordActivations",
    "tokens, as model.tokenize(text) returns them",
    tokens,
  );
  const heads: FloatTensor[] = [];
  const feedForward: FloatTensor[] = [];
  const states: FloatTensor[] = [];
  model.model.hidden(
    tokens.ids,
    runOptions(model, tokens, {
      onAttention: (_, { output }) => void heads.push(output),
      onFeedForward: (_, output) => void feedForward.push(output),
      onHidden: (_, state) => void states.push(state),
    }),
  );
  return { heads, feedForward, states };
}

/** Options of a run on tokens. */
export function runOptions(
  { architecture }: Pick<TextModel, "architecture">,
  { typeIds }: Pick<TextTokens, "typeIds">,
  hooks: ForwardOptions = {},
): EncoderOptions {
  return architecture === "encoder" ? { typeIds, ...hooks } : hooks;
}

/**
 * Hooks that turn off, replace or patch parts of a model while it runs.
 *
 * @throws OptionError where there is no such part, layer, head or token, or `replace` is unknown; while the model runs, where a patch
 *   has no output for a token
 * @example
 * const { ids } = decoder.tokenize("the old ship");
 * const hooks = intervene(decoder, [{ part: "mlp", layer: 0 }, { part: "link", layer: 1, head: 0, query: 2, key: 0 }]);
 * decoder.model.forward(ids, hooks).shape; // → [6, 1024]
 */
export function intervene(model: TextModel, interventions: readonly Intervention[]): InterventionHooks {
  checkCount("intervene", arguments, 2);
  return hooksOf("intervene", model, interventions);
}

/** The same, for a function whose name errors have. */
export function hooksOf(
  what: string,
  model: TextModel,
  interventions: readonly Intervention[],
): InterventionHooks {
  checkTextModel(what, model);
  if (!Array.isArray(interventions))
    throw argumentError(what, "a list of heads, such as [{ layer: 0, head: 1 }]", interventions);
  for (const one of interventions) checkIntervention(what, model, one);
  const at = (layer: number, ...parts: readonly string[]) =>
    interventions.filter((it) => it.layer === layer && parts.includes(it.part ?? "head"));
  const ofState = (part: "mlp" | "state") => (layer: number, state: FloatTensor) => {
    const here = at(layer, part) as OutputIntervention[];
    if (here.length === 0) return undefined;
    const [N, C] = state.shape.slice(-2);
    const data = copyOf(state);
    for (const { replace = "zero", position } of here)
      replaceRows(data, rowsOf(what, [0], N, position), { N, size: C }, replace, (patch) =>
        outputOf(patch.from[part === "mlp" ? "feedForward" : "states"][layer]),
      );
    return new Tensor(data, state.shape, state.dtype) as FloatTensor;
  };
  return {
    onAttention: (layer, layerAttention) => {
      const links = at(layer, "link") as LinkIntervention[];
      const outputs = at(layer, "head", "attention") as OutputIntervention[];
      if (links.length > 0 && outputs.length > 0)
        throw new OptionError(
          "interventions",
          `${what}: layer ${layer} has a link and a head to change; change one of them in a run`,
        );
      if (links.length > 0) return withoutLinks(what, layerAttention, links);
      return outputs.length > 0 ? changedHeads(what, layerAttention, layer, outputs) : undefined;
    },
    onFeedForward: ofState("mlp"),
    onHidden: ofState("state"),
  };
}

const PARTS = ["head", "attention", "mlp", "state", "link"];
// biome-ignore format: a table
const INTERVENTION = { "": "part layer head replace position renormalize", "an integer ≥ 0": "query key" } as const;
const ACTIVATIONS = { "a list of objects": "heads feedForward states" } as const;

function checkIntervention(what: string, model: TextModel, one: Intervention): void {
  if (typeof one !== "object" || one === null)
    throw argumentError(what, "interventions such as { layer: 0, head: 1 }", one);
  checkKinds(`${what}: an intervention`, one, INTERVENTION);
  const { from, positions } = ((one as OutputIntervention).replace ?? {}) as Partial<Patch>;
  if (from !== undefined) checkKinds(`${what}: from`, from, ACTIVATIONS);
  for (const at of positions === undefined ? [] : checkKind(what, "positions", "a list", positions))
    if (at !== undefined && !Number.isInteger(at))
      refuseValue(what, "positions", "integers or undefined", positions);
  const { part = "head", layer } = one;
  if (!PARTS.includes(part)) refuseValue(what, "part", `one of ${PARTS.join(", ")}`, part);
  checkIndex(what, "layer", layer, model.layers + (part === "state" ? 1 : 0));
  if (part === "head" || part === "link") checkIndex(what, "head", one.head, model.heads);
  if (one.part === "link") return;
  checkReplacement(what, one.replace ?? "zero");
  if (one.position != null) checkKind(what, "position", "an integer ≥ 0", one.position);
}

const copyOf = (x: FloatTensor) => (x.contiguous().data as FloatTensor["data"]).slice();

/** Rows to replace: of each group of N rows (a head), all or the one of a position. */
function rowsOf(
  what: string,
  groups: readonly number[],
  N: number,
  position: number | null | undefined,
): readonly number[] {
  if (position != null) checkIndex(what, "position", position, N);
  const within = position == null ? [...Array(N).keys()] : [position];
  return groups.flatMap((group) => within.map((n) => group * N + n));
}

/** A patch's output [..., N, size] as rows. */
interface PatchOutput {
  readonly data: ArrayLike<number>;
  readonly N: number;
}

const outputOf = (output: FloatTensor | undefined): PatchOutput | undefined =>
  output && { data: output.contiguous().data as ArrayLike<number>, N: output.shape[output.shape.length - 2] };

/** Replaces rows of `size` numbers in place; groups of N rows are heads. */
function replaceRows(
  data: FloatTensor["data"],
  rows: readonly number[],
  { N, size }: { readonly N: number; readonly size: number },
  replace: Replacement | Patch,
  output: (patch: Patch) => PatchOutput | undefined,
): void {
  const source = typeof replace === "object" ? output(replace) : undefined;
  if (typeof replace === "object" && source === undefined)
    throw new OptionError("replace", "intervene: the run of the patch has fewer layers than the model");
  const old = replace === "mean" ? data.slice() : data;
  for (const row of rows) {
    const group = Math.floor(row / N);
    let from: number | undefined;
    if (typeof replace === "object") {
      const { positions } = replace;
      const position = positions ? positions[row % N] : row % N;
      if (position === undefined || position < 0) continue;
      if (position >= (source as PatchOutput).N)
        throw new OptionError(
          "positions",
          `intervene: the run of the patch has ${(source as PatchOutput).N} tokens, so none at position ${position}`,
          { got: position },
        );
      from = (group * (source as PatchOutput).N + position) * size;
    }
    for (let e = 0; e < size; e++) {
      let value = 0;
      if (from !== undefined) value = (source as PatchOutput).data[from + e];
      else if (replace === "mean") {
        for (let n = 0; n < N; n++) value += old[(group * N + n) * size + e];
        value /= N;
      }
      data[row * size + e] = value;
    }
  }
}

/** The outputs of a layer's heads after replacements. */
export function changedHeads(
  what: string,
  { output }: LayerAttention,
  layer: number,
  changes: readonly OutputIntervention[],
): AttentionChange {
  const [H, N, d] = output.shape.slice(-3);
  const data = copyOf(output);
  const batches = data.length / (H * N * d);
  for (const { part = "head", head, replace = "zero", position } of changes)
    for (let b = 0; b < batches; b++) {
      const heads = part === "attention" ? [...Array(H).keys()] : [head as number];
      const groups = heads.map((h) => b * H + h);
      replaceRows(data, rowsOf(what, groups, N, position), { N, size: d }, replace, ({ from }) =>
        outputOf(from.heads[layer]),
      );
    }
  return { output: new Tensor(data, output.shape, output.dtype) as FloatTensor };
}

function withoutLinks(
  what: string,
  layerAttention: LayerAttention,
  links: readonly LinkIntervention[],
): AttentionChange {
  const weights = layerWeights(layerAttention) as FloatTensor; // [H, N, Nk]
  const [, N, Nk] = weights.shape.slice(-3);
  const data = copyOf(weights);
  for (const { head, query, key, renormalize = false } of links) {
    checkIndex(what, "query", query, N);
    checkIndex(what, "key", key, Nk);
    const first = (head * N + query) * Nk;
    const rest = 1 - data[first + key];
    data[first + key] = 0;
    // A row whose only weight is removed stays zero.
    if (renormalize && rest > 0) for (let j = 0; j < Nk; j++) data[first + j] /= rest;
  }
  return { weights: new Tensor(data, weights.shape, weights.dtype) as FloatTensor };
}
