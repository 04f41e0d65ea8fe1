/**
 * Why this weight: the score of query i and key j as a sum over pairs of components of the residual stream.
 *
 *     s_ij = Σ_c Σ_c′ q_{i,c} · k_{j,c′} · scale        q_c = W_q·norm(x_c), norms frozen (residual.ts)
 *
 * The sum is exact, because attention's score is bilinear; rotary positions rotate each component. Softmax only sees differences, so
 * each term is also given against its mean over the row's other keys: a term that is equal for all keys explains nothing. A large term
 * is not a cause: terms cancel, and only an intervention shows a cause (effects.ts).
 */
import { checkCount, OptionError, refuseGot } from "../../core/errors.ts";
import { dot } from "../../core/numbers.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { type FloatTensor, linear, matmul, multiply, rope, slice, sum, transpose } from "../../nn/index.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import { anglesOf } from "../transformer/angles.ts";
import { type AttentionRecipe, layerWeights } from "../transformer/attend.ts";
import { queryFactors } from "../transformer/transformer.ts";
import { checkIndex } from "./intervene.ts";
import type { Component, RecordedRun } from "./residual.ts";
import { float64, freezeNorm, normed, Residual, recordRun, withLastBias } from "./residual.ts";

/** A share of a score. */
export interface ScoreShare {
  /** Its part of the score. */
  readonly value: number;
  /** The same, minus its mean over the other keys that the query may attend to. */
  readonly difference: number;
}

/** A component with its share of a score, summed over the components of the other token. */
export interface ComponentShare extends ScoreShare {
  readonly component: Component;
}

/** A term of a score: a component of the query token and one of the key token. */
export interface ScoreTerm extends ScoreShare {
  readonly query: Component;
  readonly key: Component;
}

/** A score as a sum. */
export interface ScoreSplit {
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly tokens: readonly string[];
  /** The weight of the link, and its score before softmax, score mods included. */
  readonly weight: number;
  readonly score: ScoreShare;
  /** Σ of all terms, minus the model's own scaled q·k: rounding. */
  readonly error: number;
  /** The terms with the largest |difference|, the largest first. */
  readonly terms: readonly ScoreTerm[];
  /** All other terms together. */
  readonly rest: ScoreShare;
  /** What soft cap, ALiBi, relative positions or DeBERTa's terms add after q·k; zero where the layer has none. */
  readonly scoreMods: ScoreShare;
  /** Every component of the query token, and of the key token, the largest |difference| first. */
  readonly queryComponents: readonly ComponentShare[];
  readonly keyComponents: readonly ComponentShare[];
}

/** Options of `splitScore`. */
export interface ScoreSplitOptions {
  readonly layer: number;
  readonly head: number;
  /** Positions of the two tokens. */
  readonly query: number;
  readonly key: number;
  /** The second text of a pair. */
  readonly pair?: string;
  /** Number of terms to list; default 12. */
  readonly top?: number;
}

/**
 * The score of a link, split into contributions of earlier heads, feed-forward networks and embeddings on both sides, with the statistics
 * of the norms frozen at their values in this run.
 *
 * @throws OptionError where there is no such layer, head or token, or the query may not attend to the key; UnsupportedError for a model
 *   that is no encoder or decoder of this package
 * @example
 * const split = splitScore(decoder, "the president of the united", { layer: 1, head: 0, query: 4, key: 1 });
 * split.terms[0]; // { query: { kind: "word" }, key: { kind: "word" }, value, difference }
 */
export function splitScore(model: TextModel, text: string, options: ScoreSplitOptions): ScoreSplit {
  checkCount("splitScore", arguments, 3);
  const what = "splitScore";
  checkTextModel(what, model);
  checkOptionNames(what, options, ["layer", "head", "query", "key", "pair", "top"]);
  const { layer, head, query, key, pair, top = 12 } = options;
  checkIndex(what, "layer", layer, model.layers);
  checkIndex(what, "head", head, model.heads);
  if (!(Number.isInteger(top) && top >= 0)) refuseGot("top", `${what}: top must be an integer ≥ 0`, top);
  const tokens = model.tokenize(text, pair);
  const N = tokens.ids.length;
  checkIndex(what, "query", query, N);
  checkIndex(what, "key", key, N);
  const run = recordRun(what, model, tokens);
  const { recipe } = run.attention[layer];
  const visible = Array.from({ length: N }, (_, j) => isVisible(recipe, query, j));
  if (!visible[key])
    throw new OptionError("key", `${what}: token ${query} may not attend to token ${key} in layer ${layer}`, {
      query,
      key,
    });
  const { components, q, k, factor } = projections(run, layer, head, query);
  const K = components.length;
  const products = matmul(q, transpose(k.reshape([K * N, -1]) as FloatTensor)).contiguous().data; // [K, K·N]
  const share = shareOf(visible, key);
  const term = (c: number, other: number) => share((j) => factor * products[c * K * N + other * N + j]);
  const terms: ScoreTerm[] = [];
  const [queryShares, keyShares] = [components, components].map((list) => list.map(() => NOTHING));
  for (let c = 0; c < K; c++)
    for (let other = 0; other < K; other++) {
      const one = term(c, other);
      terms.push({ query: components[c], key: components[other], ...one });
      queryShares[c] = sumOf([queryShares[c], one]);
      keyShares[other] = sumOf([keyShares[other], one]);
    }
  const total = sumOf(terms);
  const { weight, scores } = modelScores(run, layer, head, query);
  const score = share((j) => scores[j]);
  const hasMods =
    recipe.softcap !== undefined ||
    recipe.relative !== undefined ||
    recipe.alibi !== undefined ||
    recipe.disentangled !== undefined;
  const product = modelProduct(run, layer, head, query, key) * factor;
  const shares = (list: readonly ScoreShare[]) =>
    byDifference(components.map((component, c) => ({ component, ...list[c] })));
  const sorted = byDifference(terms);
  return {
    layer,
    head,
    query,
    key,
    tokens: tokens.tokens,
    weight: weight[key],
    score,
    error: total.value - product,
    terms: sorted.slice(0, top),
    rest: sumOf(sorted.slice(top)),
    scoreMods: hasMods
      ? { value: score.value - total.value, difference: score.difference - total.difference }
      : NOTHING,
    queryComponents: shares(queryShares),
    keyComponents: shares(keyShares),
  };
}

const NOTHING: ScoreShare = { value: 0, difference: 0 };

const sumOf = (shares: readonly ScoreShare[]): ScoreShare => ({
  value: shares.reduce((all, { value }) => all + value, 0),
  difference: shares.reduce((all, { difference }) => all + difference, 0),
});

const byDifference = <T extends ScoreShare>(shares: T[]): T[] =>
  shares.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));

/** The share of a key, from the value of each key: itself, and against the mean of the other visible keys. */
const shareOf = (visible: readonly boolean[], key: number) => (valueAt: (key: number) => number) => {
  let [all, count] = [0, 0];
  visible.forEach((isVisibleKey, j) => {
    if (!isVisibleKey || j === key) return;
    all += valueAt(j);
    count++;
  });
  const value = valueAt(key);
  return { value, difference: count === 0 ? 0 : value - all / count };
};

/** True if query i may attend to key j. */
function isVisible({ mask }: AttentionRecipe, i: number, j: number): boolean {
  if (mask === "none") return true;
  if (mask === "causal") return j <= i;
  return Math.abs(i - j) <= mask.window && !(mask.causal && j > i);
}

/** The weights and the final scores of a row, as the model computed them. */
function modelScores({ attention }: RecordedRun, layer: number, head: number, query: number) {
  const { lse } = attention[layer];
  const N = lse.shape[lse.shape.length - 1];
  const first = (head * N + query) * N;
  const weight = layerWeights(attention[layer])
    .toFloat64()
    .subarray(first, first + N);
  const base = lse.toFloat64()[head * N + query];
  return { weight, scores: weight.map((w) => Math.log(w) + base) };
}

/** The model's own q·k, without the scale. */
function modelProduct({ attention }: RecordedRun, layer: number, head: number, i: number, j: number): number {
  const { query, key } = attention[layer];
  const [H, N, d] = query.shape;
  const keyHead = Math.floor(head / (H / key.shape[0]));
  const row = (x: FloatTensor, n: number) => x.toFloat64().subarray(n * d, (n + 1) * d);
  return dot(row(query, head * N + i), row(key, keyHead * N + j));
}

/** q of each component at the query's token, [K, d]; k of each at every token, [K, N, d]; and the factor of their product. */
function projections(run: RecordedRun, layer: number, head: number, query: number) {
  const { recipe } = run.model;
  const { names, layers, query_growth: growth, num_attention_heads: H, num_key_value_heads: Hkv } = recipe;
  const { head_dim: d } = recipe;
  const at = names.layer.replace("*", String(layer));
  const residual = new Residual(run, layer);
  const input = residual.all();
  const isNormed = names.attentionNorm !== undefined && layers[layer].attention_norm !== false;
  const { components, x } = isNormed ? normed(residual, at + names.attentionNorm, input) : input;
  let q = projection(run, at, "query", head, x);
  let k = projection(run, at, "key", Math.floor(head / (H / Hkv)), x);
  const { rotary } = layers[layer];
  if (rotary) {
    const { frequencies, amplitude } = anglesOf(rotary, run.ids.length);
    const rotation = { rotaryDim: rotary.rotaryDim, frequencies, amplitude, layout: rotary.layout };
    q = rope(q, rotation);
    k = rope(k, rotation);
  }
  if (growth) q = multiply(q, queryFactors(growth, 0, sum(x, 0)));
  const row = slice(q, 1, query, query + 1).contiguous() as FloatTensor;
  return {
    components,
    q: row.reshape([components.length, d]) as FloatTensor,
    k: k.contiguous() as FloatTensor,
    factor: recipe.query_scale ?? 1 / Math.sqrt(d),
  };
}

/** The queries or keys of one head, of each component: x [K, N, C] to [K, N, d], after the frozen norm of queries or keys. */
function projection(
  { model }: RecordedRun,
  at: string,
  which: "query" | "key",
  head: number,
  x: FloatTensor,
): FloatTensor {
  const { recipe } = model;
  const { names, transposed, qkv_layout, qk_norm, head_dim: d } = recipe;
  const { num_attention_heads: H, num_key_value_heads: Hkv } = recipe;
  const name = at + (names.qkv ?? names[which]);
  const stored = model.parameter(`${name}.weight`) as FloatTensor;
  const bias = model.parameter(`${name}.bias`);
  const map = transposed ? transpose(stored) : stored; // [rows, C]
  const G = H / Hkv;
  const firstRow = () => {
    if (!names.qkv) return head * d;
    if (qkv_layout !== "groups") return (which === "key" ? H * d : 0) + head * d;
    return which === "key" ? (head * (G + 2) + G) * d : (Math.floor(head / G) * (G + 2) + (head % G)) * d;
  };
  const rows = (from: number, to: number) => {
    const weight = float64(slice(map, 0, from, to) as FloatTensor);
    return withLastBias(linear(x, weight), bias && float64(slice(bias, 0, from, to) as FloatTensor));
  };
  const from = firstRow();
  const plain = rows(from, from + d);
  const norm = names[which === "query" ? "queryNorm" : "keyNorm"];
  if (norm === undefined) return plain;
  const weight = model.parameter(`${at}${norm}.weight`);
  const shift = model.parameter(`${at}${norm}.bias`);
  const ofHead = (tensor: FloatTensor | undefined) =>
    tensor && (slice(tensor, 0, head * d, (head + 1) * d) as FloatTensor);
  if (qk_norm === "heads") {
    // Weights [heads, d], without an offset or a bias.
    const row =
      weight &&
      (slice(weight, 0, head, head + 1)
        .contiguous()
        .reshape([d]) as FloatTensor);
    return freezeNorm({ ...recipe.norm, weight: "plain" }, sum(plain, 0), row).apply(plain);
  }
  if (qk_norm !== "all") {
    const frozen = freezeNorm(recipe.norm, sum(plain, 0), weight, shift);
    return withLastBias(frozen.apply(plain), frozen.bias);
  }
  // Statistics over all heads, weights of this one.
  const first = from - head * d;
  const all = sum(rows(first, first + (which === "query" ? H : Hkv) * d), 0);
  const frozen = freezeNorm(recipe.norm, all, ofHead(weight), ofHead(shift));
  return withLastBias(frozen.apply(plain), frozen.bias);
}
