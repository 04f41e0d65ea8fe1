/**
 * Masks: one head of a real model on eight words and two padding tokens, with a mask that the reader paints. Three ways to hide a
 * key are compared: heed's, a large negative number instead of −∞, and the bare formula with −∞.
 */
import { fromFloat16, toFloat16 } from "../../src/core/dtype.ts";
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { finiteMask, withoutMaximum } from "../../src/reference/index.ts";
import { scoringOf, vectorsOf } from "../head/head.ts";
import { rowsOf } from "../head/packed.ts";
import { PADDED } from "./captures.ts";
import { realOf, SIZE } from "./recipes.ts";

/** What a reader changes. */
export type Masks = {
  /** The bitmap, row after row: 1 where a query may look at a key. */
  readonly mask: readonly number[];
  /** The query whose row is shown. */
  readonly row: number;
  /** The key under the keyboard's cursor. */
  readonly column: number;
  /** Whether the visible scores of the row are −10³⁰. */
  readonly low: boolean;
  /** Whether a set bit hides instead of showing. */
  readonly inverted: boolean;
  /** Whether the row's shares are hidden until a prediction was made. */
  readonly hide: boolean;
  /** Whether the picture has the sum of the row where words are hidden after softmax. */
  readonly late: boolean;
  /** What is below or, in a narrow picture, shown at all: "row", "grid" or "polarity". */
  readonly show: string;
  /** The mask as a recipe: two by name, joined by "and" or "or". */
  readonly first: string;
  readonly join: string;
  readonly second: string;
  /** The reader's own sentence, read by the small encoder; "" for the common one. */
  readonly ownText: string;
};

/** What the picture shows. */
export interface MasksNumbers {
  readonly tokens: readonly string[];
  /** Weights without a mask and with it, [10][10]. */
  readonly plain: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  /** The row, three ways: the formula with −∞, −1e9 instead, heed. */
  readonly formula: readonly number[];
  readonly finite: readonly number[];
  readonly heed: readonly number[];
  /** The row's own outputs in the three ways, and how far heed's is from the output without a mask. */
  readonly outputs: { readonly formula: number; readonly finite: number; readonly heed: number };
  /** Rows whose output the mask changed. */
  readonly changed: readonly boolean[];
  /** Scores of the row, rounded as the listings have them, and what those print. */
  readonly scores: readonly number[];
  readonly listing: readonly (readonly number[])[];
  /** −10⁹ in float16. */
  readonly half: number;
}

const LOW = -1e30;

const COMMON = { ...scoringOf(PADDED), value: vectorsOf(PADDED.value, PADDED.tokens) };

/** The numbers of a state. */
export async function compute({ mask, row, low, inverted, ownText }: Masks): Promise<MasksNumbers> {
  const { tokens, query, key, value } = ownText === "" ? COMMON : await ownTokens(ownText);
  const n = tokens.length;
  const see = mask.map((bit) => (bit === 1) !== inverted);
  const visible = tensor(Uint8Array.from(see, Number), [n, n], "bool");
  const plain = scaledDotProductAttention(query, key, value, { returnWeights: true });
  // A float mask lowers scores; adding −10³⁰ to a score of this size gives −10³⁰.
  const lowered = tensor(
    Float32Array.from({ length: n * n }, (_, at) => (low && Math.floor(at / n) === row && see[at] ? LOW : 0)),
    [n, n],
  );
  const masked = scaledDotProductAttention(query, key, value, {
    attnMask: low ? [visible, lowered] : visible,
    returnWeights: true,
  });
  const sizes = { Nq: n, Nk: n, dk: query.shape[1], dv: value.shape[1] };
  const [q, k, v] = [query, key, value].map((t) => t.toFloat64());
  const shortcut = {
    allowed: (i: number, j: number) => see[i * n + j],
    ...(low && { score: (s: number, i: number, j: number) => (i === row && see[i * n + j] ? LOW : s) }),
  };
  const byFormula = withoutMaximum(q, k, v, sizes, shortcut);
  const byNumber = finiteMask(q, k, v, sizes, shortcut);
  const rowOf = (all: Float64Array, width = n) => [...all.subarray(row * width, (row + 1) * width)];
  const weights = rowsOf(masked.weights!);
  const [before, after] = [plain.output.toFloat64(), masked.output.toFloat64()];
  const dv = sizes.dv;
  const size = (numbers: readonly number[]) => Math.hypot(...numbers);
  const sum = plain.lse.at(row);
  const scores = rowsOf(plain.weights!)[row].map((weight, j) =>
    low && see[row * n + j] ? LOW : Math.round((Math.log(weight) + sum) * 1000) / 1000,
  );
  return {
    tokens,
    plain: rowsOf(plain.weights!),
    weights,
    formula: rowOf(byFormula.weights),
    finite: rowOf(byNumber.weights),
    heed: weights[row],
    outputs: {
      formula: size(rowOf(byFormula.output, dv)),
      finite: size(rowOf(byNumber.output, dv)),
      heed: size([...after.subarray(row * dv, (row + 1) * dv)]),
    },
    changed: Array.from({ length: n }, (_, i) =>
      Array.from({ length: dv }, (_, e) => Math.abs(after[i * dv + e] - before[i * dv + e])).some(
        (d) => d > 1e-6,
      ),
    ),
    scores,
    listing: threeWays(scores, see.slice(row * n, (row + 1) * n)),
    half: fromFloat16(toFloat16(-1e9)),
  };
}

/** The reader's sentence: as many pieces as it has words, at most as many as the common one has, and padding. */
async function ownTokens(ownText: string) {
  const real = realOf(ownText);
  return (await import("../head/own.ts")).ownHead(ownText, real - 2, SIZE);
}

/** What the listings compute from the row's rounded scores. */
function threeWays(scores: readonly number[], see: readonly boolean[]): number[][] {
  const n = scores.length;
  const one = Float64Array.of(1);
  const keys = Float64Array.from(scores);
  const sizes = { Nq: 1, Nk: n, dk: 1, dv: 1 };
  const options = { scale: 1, allowed: (_: number, j: number) => see[j] };
  const column = tensor(keys, [n, 1]);
  const { weights } = scaledDotProductAttention(tensor(one, [1, 1]), column, column, {
    scale: 1,
    attnMask: tensor(Uint8Array.from(see, Number), [1, n], "bool"),
    returnWeights: true,
  });
  return [
    [...withoutMaximum(one, keys, keys, sizes, options).weights],
    [...finiteMask(one, keys, keys, sizes, options).weights],
    rowsOf(weights!)[0],
  ];
}
