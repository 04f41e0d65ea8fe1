/** Arrows: a query and five keys of two numbers each, their scores, shares and the average of the values. */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { namesFrom } from "../frame/words.ts";

/** What a reader changes. */
export type Arrows = {
  /** The query's tip, for the mode "free". */
  readonly x: number;
  readonly y: number;
  /** Where the query comes from: "free", "same" (Q = K = X) or "turned" (Q = X·W). */
  readonly mode: string;
  /** The word whose query it is, in the two other modes. */
  readonly word: number;
  /** Angle of W^q in degrees, for the mode "turned". */
  readonly angle: number;
  /** Whether the average of the values is drawn. */
  readonly output: boolean;
  /** The keys, x and y of each: where words are. */
  readonly keys: readonly number[];
  /** The reader's own sentence, whose words name the arrows; "" for none. */
  readonly ownText: string;
};

/** The words whose vectors are the arrows. */
const WORDS = ["cat", "sat", "mat", "it", "tired"] as const;

/** What the picture shows. */
export interface ArrowsNumbers {
  readonly words: readonly string[];
  readonly keys: readonly (readonly [number, number])[];
  readonly query: readonly [number, number];
  /** q·k, and q·k/√2. */
  readonly dots: readonly number[];
  readonly scores: readonly number[];
  readonly shares: readonly number[];
  readonly output: readonly [number, number];
}

/** The numbers of a state. */
export function compute({ x, y, mode, word, angle, keys, ownText }: Arrows): ArrowsNumbers {
  const points = WORDS.map((_, j) => [keys[2 * j], keys[2 * j + 1]] as const);
  const [wx, wy] = points[word];
  const turn = mode === "turned" ? (angle * Math.PI) / 180 : 0;
  const round = (value: number) => Math.round(value * 100) / 100 + 0;
  const query: readonly [number, number] =
    mode === "free"
      ? [x, y]
      : [round(wx * Math.cos(turn) - wy * Math.sin(turn)), round(wx * Math.sin(turn) + wy * Math.cos(turn))];
  const q = tensor(Float64Array.from(query), [1, 2]);
  const k = tensor(Float64Array.from(keys), [5, 2]);
  const { output, weights, lse } = scaledDotProductAttention(q, k, k, { returnWeights: true });
  const shares = [...weights!.toFloat64()];
  // weight = e^(score − lse)
  const scores = shares.map((weight) => Math.log(weight) + lse.at(0));
  const [ox, oy] = output.toFloat64();
  return {
    words: namesFrom(ownText, WORDS),
    keys: points,
    query,
    dots: scores.map((score) => score * Math.SQRT2),
    scores,
    shares,
    output: [ox, oy],
  };
}
