/**
 * What there is to say about a text's attention: which heads there are, what is strongest, and one weight explained by
 * its own numbers. The terminal and the SVG draw what is collected here; a program can use it without either.
 */
import { OptionError, ShapeError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { type HeadMetrics, type HeadWeights, headMetrics, type Link, strongestLinks } from "./metrics.ts";

/** What is drawn of a layer: weights [heads, n, n], lse [heads, n], queries and keys [heads, n, d]. */
export interface SeenLayer {
  readonly weights: Tensor;
  readonly lse: Tensor;
  readonly q: Tensor;
  readonly k: Tensor;
}

/** A text, its pieces, and what each layer's attention did with them. */
export interface SeenText {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly layers: readonly SeenLayer[];
}

/** One head with its measures. */
export interface SeenHead extends HeadWeights {
  readonly metrics: HeadMetrics;
}

/** The heads of a text, layer by layer; `layer` and `head` keep one of them. Counted from 0. */
export function headsOf(seen: SeenText, choice: { layer?: number; head?: number } = {}): SeenHead[] {
  const n = seen.pieces.length;
  const count = seen.layers[0]?.weights.shape[0] ?? 0;
  inRange("layer", choice.layer, seen.layers.length);
  inRange("head", choice.head, count);
  return seen.layers.flatMap(({ weights }, layer) => {
    if (weights.shape.length !== 3 || weights.shape[1] !== n || weights.shape[2] !== n)
      throw new ShapeError(
        "weights",
        `headsOf: weights of layer ${layer} must be [heads, ${n}, ${n}], got [${weights.shape.join(", ")}]`,
      );
    if (choice.layer !== undefined && choice.layer !== layer) return [];
    const all = weights.toFloat64();
    return Array.from({ length: weights.shape[0] }, (_, head) => head)
      .filter((head) => choice.head === undefined || choice.head === head)
      .map((head) => {
        const matrix = { weights: all.subarray(head * n * n, (head + 1) * n * n), queries: n, keys: n };
        return { layer, head, ...matrix, metrics: headMetrics(matrix) };
      });
  });
}

function inRange(name: string, value: number | undefined, count: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= 0 && value < count))
    throw new OptionError(name, `${name} must be an integer from 0 to ${count - 1}, got ${value}`, {
      [name]: value,
    });
}

/** One weight with the numbers it was made of: weight = e^(score − lse). */
export interface Explained extends Link {
  /** q·k / √d. */
  readonly score: number;
  /** Natural log of the sum of e^score over the row. */
  readonly lse: number;
  /** Head size. */
  readonly d: number;
  /** e^(score − lse): the weight once more, from q, k and the row's lse alone. */
  readonly recomputed: number;
}

/** The strongest link of a token to another one (to itself, where there is no other), with its numbers. */
export function explainStrongest(seen: SeenText, heads: readonly HeadWeights[]): Explained | undefined {
  const links = strongestLinks(heads, Number.POSITIVE_INFINITY).flat();
  const others = links.filter((link) => link.query !== link.key);
  const strongest = (others.length > 0 ? others : links).reduce<Link | undefined>(
    (best, link) => (best === undefined || link.weight > best.weight ? link : best),
    undefined,
  );
  if (strongest === undefined) return undefined;
  const { layer, head, query, key } = strongest;
  const { q, k, lse: sums } = seen.layers[layer];
  const d = q.shape[2];
  let dot = 0;
  for (let i = 0; i < d; i++) dot += q.at(head, query, i) * k.at(head, key, i);
  const score = dot / Math.sqrt(d);
  const lse = sums.at(head, query);
  return { ...strongest, score, lse, d, recomputed: Math.exp(score - lse) };
}

/** The explained weight as a sentence; `labels` name the pieces. */
export function explainSentence(it: Explained, labels: readonly string[]): string {
  const name = (i: number) => `“${labels[i]}”`;
  const whom = it.query === it.key ? "itself" : name(it.key);
  // No line break inside a number's unit or inside the formula (U+00A0).
  const formula = `e^(${fixed(it.score, 3)} − ${it.lse < 0 ? `(${fixed(it.lse, 3)})` : fixed(it.lse, 3)}) = ${it.recomputed.toFixed(3)}.`;
  return (
    `In layer ${it.layer}, head ${it.head}, ${name(it.query)} gives ${(100 * it.weight).toFixed(1)}\u00a0% of its attention to ${whom}: ` +
    `its score q·k/√${it.d} is ${fixed(it.score, 3)}, the log-sum-exp over ${labels.length === 1 ? "the one key" : `all ${labels.length} keys`} is ${fixed(it.lse, 3)}, ` +
    `and ${formula.replaceAll(" ", "\u00a0")}`
  );
}

/** A number with two digits after the point and a true minus sign. */
export function fixed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}
