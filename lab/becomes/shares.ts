/**
 * The context vector of "flies" in layer 0, head 4: shares × values, of the tokens of one sentence and of "fruit" of the other. And what
 * it makes of the word: y = norm(x + a), in which all but this head is as in the model.
 */
import { literal } from "../frame/words.ts";
import { CENTERED, FRUIT_SHARE, SHARES, TERMS, VALUES } from "./captures.ts";
import { cosines, sumOf } from "./vectors.ts";

/** What the picture of the shares shows. A point is a vector in the plane of the values of "time" and "fruit". */
export interface ContextNumbers {
  /** Shares of the eight tokens, and the model's own. */
  readonly shares: readonly number[];
  readonly modelShares: readonly number[];
  /** What "flies" gives "fruit" in the second sentence. */
  readonly fruitShare: number;
  /** The value of each token, the context vector, and the model's own in both sentences. */
  readonly values: readonly (readonly number[])[];
  readonly context: readonly number[];
  readonly models: readonly (readonly number[])[];
  /** Length of the context vector, and its cosine with the model's own in each sentence; the cosine of the values of "time" and "fruit". */
  readonly length: number;
  readonly cosines: readonly number[];
  readonly apart: number;
  /** Cosines of y with that of "runs" and of "insect": with the shares, and with the model's own. */
  readonly near: readonly number[];
  readonly modelNear: readonly number[];
  /** What the listings print: the product of the numbers that they have. */
  readonly printed: readonly number[];
}

const TOKENS = SHARES.length + 1;
const point = (row: readonly number[]) => [row[0], row[1] ?? 0];

/** Cosines of y with "runs" and "insect". */
function nearOf(shares: readonly number[]): number[] {
  const centered = sumOf([1, ...shares], CENTERED);
  // The norm's epsilon, 1e-12, is below the digits of the terms.
  const deviation = Math.hypot(...centered) / Math.sqrt(384);
  const [shift, ...meanings] = TERMS.slice(1 + TOKENS);
  const y = sumOf(
    [...[1, ...shares].map((factor) => factor / deviation), 1],
    [...TERMS.slice(0, 1 + TOKENS), shift],
  );
  return cosines([y, ...meanings])[0].slice(1);
}

/** The numbers of shares that the reader has set; without any, of the model's own. */
export function contextOf(set: readonly number[]): ContextNumbers {
  const normalized = (list: readonly number[]) => list.map((x) => x / list.reduce((a, b) => a + b));
  const modelShares = normalized([...SHARES, 0]);
  const shares = set.length === 0 ? modelShares : normalized(set);
  const values = VALUES.slice(0, TOKENS);
  const context = sumOf(shares, values);
  const models = [sumOf(modelShares, values), VALUES[TOKENS]];
  const rounded = (list: readonly number[]) => list.map((x) => Number(literal(x)));
  return {
    shares,
    modelShares,
    fruitShare: FRUIT_SHARE,
    values: values.map(point),
    context: point(context),
    models: models.map(point),
    length: Math.hypot(...context),
    cosines: cosines([context, ...models])[0].slice(1),
    apart: cosines([values[1], values[TOKENS - 1]])[0][1],
    near: nearOf(shares),
    modelNear: nearOf(modelShares),
    printed: sumOf(
      rounded(shares),
      values.map((row) => rounded(point(row))),
    ),
  };
}
