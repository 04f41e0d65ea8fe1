/**
 * Causes: a quantity of a run, measured with every head, feed-forward network or layer of attention turned off in turn, or patched from
 * another text. Patching follows Vig et al. 2020 (arXiv 2004.12265) and Meng et al. 2022 (arXiv 2202.05262).
 *
 *     change = q(changed) − q(text)        recovered = (q(patched) − q(text)) / (q(other) − q(text))
 */
import { tidy } from "../../api/tidy.ts";
import { align } from "../../core/align.ts";
import {
  checkArgument,
  checkCount,
  formatValue,
  OptionError,
  refuseGot,
  refuseValue,
} from "../../core/errors.ts";
import { cosine } from "../../core/numbers.ts";
import { checkKinds, checkOptionNames } from "../../core/option-names.ts";
import { checkTextModel, type TextModel, type TextTokens } from "../text-model.ts";
import { layerWeights } from "../transformer/attend.ts";
import type { Intervention, InterventionHooks, Patch, Replacement } from "./intervene.ts";
import { checkIndex, checkReplacement, hooksOf, recordActivations, runOptions } from "./intervene.ts";
import { type EffectPart, PARTS_OPTIONS, type PartsOptions, partsInTurn, placeOf } from "./parts.ts";
import { checkedPosition, checkHead, spellMasks } from "./prediction.ts";
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
  /**
   * The cosine of the last state at `position` with that at `otherPosition` (default: the same) of the other text, or without one with
   * that of the unchanged run.
   */
  | { readonly of: "state"; readonly position: number; readonly otherPosition?: number }
  /** The cosine of the means of the last states of the text and the other text, or of the text and its unchanged run. */
  | { readonly of: "text" }
  /** The weight of a link. */
  | {
      readonly of: "weight";
      readonly layer: number;
      readonly head: number;
      readonly query: number;
      readonly key: number;
    };

/** Options of `measureEffects`; the default of `parts` is heads and feed-forward networks. */
export interface EffectsOptions extends PartsOptions {
  /** A second text: the source of a patch, and the partner of `state` and `text`. */
  readonly other?: string;
  /** Outputs are replaced by those of `other` at the aligned tokens; without it, by `replace`, in `other` too. Default false. */
  readonly patch?: boolean;
  /** Default "zero". */
  readonly replace?: Replacement;
  /** Only at this token. Default null, every token. */
  readonly position?: number | null;
  /** Called after each part. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** The effect of one part. */
export interface Effect {
  readonly part: EffectPart;
  readonly layer: number;
  /** Of heads and links. */
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
 * @throws OptionError where there is no such token, layer or head, or a patch has no second text; UnsupportedError for logits of a model
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
  checkCount("measureEffects", arguments, 4);
  const what = "measureEffects";
  checkTextModel(what, model);
  checkOptionNames(what, options, ["other", "patch", "replace", "position", "onProgress", ...PARTS_OPTIONS]);
  checkArgument(typeof text === "string", what, "a text as the second argument", text);
  const { other, patch = false, replace = "zero", position = null } = options;
  checkReplacement(what, replace);
  if (patch && other === undefined)
    throw new OptionError("other", `${what}: a patch needs a second text (other)`);
  if (patch && options.link !== undefined)
    throw new OptionError("link", `${what}: a link cannot be patched; leave out patch, or name parts`);
  const read = [text, other].flatMap((one) =>
    one === undefined ? [] : [model.tokenize(spellMasks(model.tokenizer, one))],
  );
  const [tokens, otherTokens] = read;
  const aligned = otherTokens && positionsOf(tokens, otherTokens);
  const changes = partsInTurn(what, model, tokens.ids.length, options, ["head", "mlp"]);
  const measure = quantityOf(what, model, quantity, tokens, otherTokens);
  const activations = patch ? recordActivations(model, otherTokens) : undefined;
  const value = measure({});
  const otherValue = patch
    ? otherQuantity(what, model, quantity, otherTokens, aligned as number[])
    : undefined;
  const source: Patch | undefined = activations && { from: activations, positions: aligned };
  const effects: Effect[] = [];
  for (const change of changes) {
    const intervention: Intervention =
      change.part === "link" ? change : { ...change, replace: source ?? replace, position };
    const hooks = hooksOf(what, model, [intervention]);
    // A link has positions of this text only.
    const after = measure({ text: hooks, other: patch || change.part === "link" ? undefined : hooks });
    effects.push({
      ...placeOf(change),
      value: after,
      change: after - value,
      ...(otherValue !== undefined && { recovered: (after - value) / (otherValue - value) }),
    });
    options.onProgress?.(effects.length, changes.length);
  }
  effects.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return { value, ...(otherValue !== undefined && { otherValue }), effects };
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
  /** The last states of the other text, or of the unchanged run. */
  const partnerStates = (): ((hooks: RunHooks) => Float64Array) => {
    if (otherTokens) return (hooks) => lastStates(otherTokens, hooks.other);
    const unchanged = lastStates(tokens, undefined);
    return () => unchanged;
  };
  const C = model.model.sizes.width;
  const rowOf = (states: Float64Array, row: number) => states.subarray(row * C, (row + 1) * C);
  if (quantity?.of !== undefined)
    checkKinds(`${what}: the quantity`, quantity, {
      "": "of token against position otherPosition layer head query key",
    });
  switch (quantity?.of) {
    case "state": {
      const { position, otherPosition = position } = quantity;
      checkIndex(what, "position", position, N);
      checkIndex(what, "otherPosition", otherPosition, otherTokens?.ids.length ?? N);
      const partner = partnerStates();
      return (hooks) =>
        cosine(rowOf(lastStates(tokens, hooks.text), position), rowOf(partner(hooks), otherPosition));
    }
    case "text": {
      const partner = partnerStates();
      return (hooks) => cosine(meanRow(lastStates(tokens, hooks.text), C), meanRow(partner(hooks), C));
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
      checkHead(what, model, "has no logits");
      const [first, second] = [quantity.token, quantity.against].map((token) => tokenId(what, model, token));
      if (first === second) refuseValue(what, "against", "another token than token", quantity.against);
      const position = checkedPosition(what, model, tokens, quantity.position);
      return (hooks) =>
        tidy(() => {
          const states = model.model.hidden(tokens.ids, runOptions(model, tokens, hooks.text));
          const logits = finiteLogits(what, model.model.logits(states).toFloat64());
          const V = logits.length / N;
          return logits[position * V + first] - logits[position * V + second];
        });
    }
    default:
      refuseGot("quantity", `${what}: the quantity is of logit, state, text or weight`, quantity);
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

/** The sum of states [N, C], which has the direction of their mean. */
export function meanRow(states: Float64Array, C: number): Float64Array {
  const mean = new Float64Array(C);
  states.forEach((x, n) => {
    mean[n % C] += x;
  });
  return mean;
}
