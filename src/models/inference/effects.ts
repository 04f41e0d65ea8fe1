/**
 * Causes: a quantity of a run, measured with every head, feed-forward network or layer of attention turned off in turn, or patched from
 * another text. Patching follows Vig et al. 2020 (arXiv 2004.12265) and Meng et al. 2022 (arXiv 2202.05262).
 *
 *     change = q(changed) − q(text)        recovered = (q(patched) − q(text)) / (q(other) − q(text))
 */
import { tidy } from "../../api/tidy.ts";
import { align } from "../../core/align.ts";
import { formatValue, OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { checkTextModel, type TextModel, type TextTokens } from "../text-model.ts";
import { layerWeights } from "../transformer/attend.ts";
import {
  type Activations,
  checkIndex,
  checkReplacement,
  hooksOf,
  type InterventionHooks,
  type OutputIntervention,
  type Replacement,
  recordActivations,
  runOptions,
} from "./intervene.ts";
import { maskToken, spellMasks } from "./prediction.ts";
import { finiteLogits } from "./sampling.ts";

/** What is measured. Positions count from 0, special tokens included. */
export type Quantity =
  /** The logit of `token` minus that of `against`, at `position` (default: the last token of a decoder, the first mask of an encoder). */
  | {
      readonly of: "logit";
      readonly token: string | number;
      readonly against: string | number;
      readonly position?: number;
    }
  /** The cosine of the last state at `position` with that at `otherPosition` of the other text. */
  | { readonly of: "state"; readonly position: number; readonly otherPosition: number }
  /** The cosine of the means of the last states of the text and the other text. */
  | { readonly of: "text" }
  /** The weight of a link. */
  | {
      readonly of: "weight";
      readonly layer: number;
      readonly head: number;
      readonly query: number;
      readonly key: number;
    };

/** Options of `measureEffects`. */
export interface EffectsOptions {
  /** A second text: the source of a patch, and the partner of `state` and `text`. */
  readonly other?: string;
  /** Outputs are replaced by those of `other` at the aligned tokens; without it, by `replace`, in `other` too. Default false. */
  readonly patch?: boolean;
  /** Default "zero". */
  readonly replace?: Replacement;
  /** What is changed in turn. Default heads and feed-forward networks. */
  readonly parts?: readonly ("head" | "mlp" | "attention")[];
  /** Only this layer. Default all. */
  readonly layer?: number;
  /** Only at this token. Default null, every token. */
  readonly position?: number | null;
  /** Called after each part. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** The effect of one part. */
export interface Effect {
  readonly part: "head" | "mlp" | "attention";
  readonly layer: number;
  /** Of heads. */
  readonly head?: number;
  /** The quantity after the change. */
  readonly value: number;
  /** The same, minus the quantity of the unchanged run. */
  readonly change: number;
  /** Of patches: the share of the difference between the two texts that the patch makes; NaN where there is no difference. */
  readonly recovered?: number;
}

/** The effects of every part on a quantity. */
export interface Effects {
  /** The quantity of the unchanged run. */
  readonly value: number;
  /** Of patches: the quantity of the other text. */
  readonly otherValue?: number;
  /** The largest |change| first. */
  readonly effects: readonly Effect[];
}

/**
 * Measures a quantity with each head and feed-forward network turned off in turn, or patched from another text.
 *
 * @throws OptionError where there is no such token, layer or head, or a second text is missing; UnsupportedError for logits of a model
 *   without a language-modeling head
 * @example
 * const quantity = { of: "logit", token: " of", against: "," } as const;
 * measureEffects(decoder, "the president of the united", quantity, { parts: ["mlp"] }).effects.length; // → 4
 */
export function measureEffects(
  model: TextModel,
  text: string,
  quantity: Quantity,
  options: EffectsOptions = {},
): Effects {
  const what = "measureEffects";
  checkTextModel(what, model);
  checkOptionNames(what, options, ["other", "patch", "replace", "parts", "layer", "position", "onProgress"]);
  const { other, patch = false, replace = "zero", parts = ["head", "mlp"], position = null } = options;
  checkReplacement(what, replace);
  for (const part of parts)
    if (!["head", "mlp", "attention"].includes(part))
      throw new OptionError("parts", `${what}: parts are head, mlp and attention, got ${formatValue(part)}`, {
        got: part,
      });
  if (options.layer !== undefined) checkIndex(what, "layer", options.layer, model.layers);
  const needsOther = patch || quantity.of === "state" || quantity.of === "text";
  if (needsOther && other === undefined)
    throw new OptionError(
      "other",
      `${what}: ${patch ? "a patch" : `the quantity "${quantity.of}"`} needs a second text (other)`,
    );
  const read = [text, other].flatMap((one) =>
    one === undefined ? [] : [model.tokenize(spellMasks(model.tokenizer, one))],
  );
  const [tokens, otherTokens] = read;
  const aligned = otherTokens && positionsOf(tokens, otherTokens);
  const measure = quantityOf(what, model, quantity, tokens, otherTokens);
  const activations = patch ? recordActivations(model, otherTokens) : undefined;
  const value = measure({});
  const otherValue = patch
    ? otherQuantity(what, model, quantity, otherTokens, aligned as number[])
    : undefined;
  const changes = changesOf(model, parts, options.layer);
  const effects: Effect[] = [];
  for (const change of changes) {
    const source = activations && { from: activations as Activations, positions: aligned };
    const hooks = hooksOf(what, model, [{ ...change, replace: source ?? replace, position }]);
    const after = measure({ text: hooks, other: patch ? undefined : hooks });
    const { part = "head", layer, head } = change;
    effects.push({
      part: part as Effect["part"],
      layer,
      ...(head !== undefined && { head }),
      value: after,
      change: after - value,
      ...(otherValue !== undefined && { recovered: (after - value) / (otherValue - value) }),
    });
    options.onProgress?.(effects.length, changes.length);
  }
  effects.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return { value, ...(otherValue !== undefined && { otherValue }), effects };
}

/** Each part in turn, layer by layer. */
function changesOf(
  { layers, heads }: TextModel,
  parts: readonly Effect["part"][],
  only: number | undefined,
): OutputIntervention[] {
  const numbers = only === undefined ? [...Array(layers).keys()] : [only];
  return numbers.flatMap((layer) =>
    parts.flatMap((part): OutputIntervention[] =>
      part === "head"
        ? Array.from({ length: heads }, (_, head) => ({ part, layer, head }))
        : [{ part, layer }],
    ),
  );
}

/** The position in the other text of each token, −1 where it has no partner. */
function positionsOf(a: TextTokens, b: TextTokens): number[] {
  const positions = a.tokens.map(() => -1);
  for (const pair of align(a.tokens, b.tokens))
    if (pair.a !== undefined && pair.b !== undefined) positions[pair.a] = pair.b;
  return positions;
}

/** Hooks of the run on each text. */
interface RunHooks {
  readonly text?: InterventionHooks;
  readonly other?: InterventionHooks;
}

/** The function that measures a quantity in changed runs. */
function quantityOf(
  what: string,
  model: TextModel,
  quantity: Quantity,
  tokens: TextTokens,
  otherTokens: TextTokens | undefined,
): (hooks: RunHooks) => number {
  const N = tokens.ids.length;
  const lastStates = (read: TextTokens, hooks: InterventionHooks | undefined) =>
    tidy(() => model.model.hidden(read.ids, runOptions(model, read, hooks)).toFloat64());
  const C = model.model.sizes.width;
  const rowOf = (states: Float64Array, row: number) => states.subarray(row * C, (row + 1) * C);
  switch (quantity?.of) {
    case "state": {
      const partner = otherTokens as TextTokens;
      checkIndex(what, "position", quantity.position, N);
      checkIndex(what, "otherPosition", quantity.otherPosition, partner.ids.length);
      return (hooks) =>
        cosine(
          rowOf(lastStates(tokens, hooks.text), quantity.position),
          rowOf(lastStates(partner, hooks.other), quantity.otherPosition),
        );
    }
    case "text": {
      const partner = otherTokens as TextTokens;
      return (hooks) =>
        cosine(meanRow(lastStates(tokens, hooks.text), C), meanRow(lastStates(partner, hooks.other), C));
    }
    case "weight": {
      const { layer, head, query, key } = quantity;
      checkIndex(what, "layer", layer, model.layers);
      checkIndex(what, "head", head, model.heads);
      checkIndex(what, "query", query, N);
      checkIndex(what, "key", key, N);
      return (hooks) => linkWeight(model, tokens, quantity, hooks.text);
    }
    case "logit": {
      if (!model.model.hasHead)
        throw new UnsupportedError(
          "head",
          `${what}: ${model.name} has no language-modeling head, so it has no logits`,
        );
      const [first, second] = [quantity.token, quantity.against].map((token) => tokenId(what, model, token));
      const position = quantity.position ?? predictedPosition(model, tokens);
      checkIndex(what, "position", position, N);
      return (hooks) =>
        tidy(() => {
          const states = model.model.hidden(tokens.ids, runOptions(model, tokens, hooks.text));
          const logits = finiteLogits(what, model.model.logits(states).toFloat64());
          const V = logits.length / N;
          return logits[position * V + first] - logits[position * V + second];
        });
    }
    default:
      throw new OptionError(
        "quantity",
        `${what}: the quantity is of logit, state, text or weight, got ${formatValue(quantity)}`,
        { got: quantity },
      );
  }
}

/** The quantity of the other text of a patch, at the aligned tokens. */
function otherQuantity(
  what: string,
  model: TextModel,
  quantity: Quantity,
  other: TextTokens,
  positions: readonly number[],
): number {
  // A state is compared with its partner in the other text, and is equal to itself.
  if (quantity.of === "state" || quantity.of === "text") return 1;
  const partner = (name: string, position: number) => {
    if (positions[position] >= 0) return positions[position];
    throw new OptionError(name, `${what}: token ${position} has no partner in the other text`, {
      got: position,
    });
  };
  const moved: Quantity =
    quantity.of === "weight"
      ? { ...quantity, query: partner("query", quantity.query), key: partner("key", quantity.key) }
      : {
          ...quantity,
          position: quantity.position === undefined ? undefined : partner("position", quantity.position),
        };
  return quantityOf(what, model, moved, other, undefined)({});
}

function linkWeight(
  model: TextModel,
  tokens: TextTokens,
  { layer, head, query, key }: Extract<Quantity, { of: "weight" }>,
  hooks: InterventionHooks | undefined,
): number {
  let weight = Number.NaN;
  model.model.hidden(
    tokens.ids,
    runOptions(model, tokens, {
      ...hooks,
      onAttention: (l, layerAttention) => {
        if (l === layer) {
          const weights = layerWeights(layerAttention);
          const [, N, Nk] = weights.shape;
          weight = weights.toFloat64()[(head * N + query) * Nk + key];
        }
        return hooks?.onAttention(l, layerAttention);
      },
    }),
  );
  return weight;
}

/** The id of a token of the vocabulary, from its text or its number. */
export function tokenId(what: string, { tokenizer, model }: TextModel, token: string | number): number {
  if (typeof token === "number") {
    checkIndex(what, "token", token, model.sizes.vocabulary);
    return token;
  }
  const id = tokenizer.id(token);
  if (id !== undefined) return id;
  const ids = tokenizer.ids(token);
  if (ids.length !== 1)
    throw new OptionError(
      "token",
      `${what}: ${formatValue(token)} must be one token of the vocabulary, got ${ids.length} tokens`,
      { got: token },
    );
  return ids[0];
}

/** Where a model predicts: after the last token, or at the first mask; −1 where there is none. */
export function predictedPosition({ architecture, tokenizer }: TextModel, { ids }: TextTokens): number {
  if (architecture === "decoder") return ids.length - 1;
  const mask = maskToken(tokenizer);
  return mask === undefined ? -1 : ids.indexOf(tokenizer.id(mask) as number);
}

function meanRow(states: Float64Array, C: number): Float64Array {
  const mean = new Float64Array(C);
  states.forEach((x, n) => {
    mean[n % C] += x;
  });
  return mean;
}

function cosine(a: Float64Array, b: Float64Array): number {
  const dot = (x: Float64Array, y: Float64Array) => x.reduce((sum, value, n) => sum + value * y[n], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
