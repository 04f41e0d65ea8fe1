/** Arrows: a query and five keys of two numbers each, their scores, shares and the average of the values. */
import { randn, scaledDotProductAttention, tensor, zeros } from "../../src/index.ts";
import { matmul, multiply, softmax, sub, sum } from "../../src/nn/index.ts";
import { namesFrom } from "../frame/words.ts";
import { READ, TEXT } from "./sentences.ts";

/** What a reader changes. */
export type Arrows = {
  /** The query's tip, for the mode "free". */
  readonly x: number;
  readonly y: number;
  /** Where the query comes from: "free", "same" (Q = K = X), "turned" (Q = X·W), or "trained": Q = K = X, and X is of word2vec. */
  readonly mode: string;
  /** The word whose query it is, in the two other modes. */
  readonly word: number;
  /** Angle of W^q in degrees, for the mode "turned". */
  readonly angle: number;
  /** Whether the average of the values is drawn. */
  readonly output: boolean;
  /** The keys, x and y of each: where words are. */
  readonly keys: readonly number[];
  /** Steps of word2vec, and the seed of its random numbers, for the mode "trained". */
  readonly steps: number;
  readonly seed: number;
  /** The reader's own sentence, whose words name the arrows; "" for none. */
  readonly ownText: string;
};

/** The words whose vectors are the arrows. */
const WORDS = ["cat", "sat", "mat", "it", "tired"] as const;

/**
 * word2vec: a word predicts its neighbors. Its one-hot vector times a matrix is a row of that matrix, x; a second matrix y gives each
 * neighbor a score. The gradient of the mean surprise by the scores is softmax − counts.
 */
function trained(steps: number, seed: number): (readonly [number, number])[] {
  const vocabulary = [...new Set(TEXT)];
  const counts = zeros([vocabulary.length, vocabulary.length], "float64");
  const ids = TEXT.map((word) => vocabulary.indexOf(word));
  for (const [i, id] of ids.entries())
    for (const near of [ids[i - 1], ids[i + 1]])
      if (near !== undefined) counts.data[id * vocabulary.length + near]++;
  const totals = sum(counts, -1, { keepAxis: true });
  let [x, y] = [0, 1].map((stream) =>
    randn([vocabulary.length, 2], { seed: 2 * seed + stream, dtype: "float64" }),
  );
  for (let step = 0; step < steps; step++) {
    const gradient = multiply(sub(multiply(softmax(matmul(x, y.transpose())), totals), counts), 0.05);
    [x, y] = [sub(x, matmul(gradient, y)), sub(y, matmul(gradient.transpose(), x))];
  }
  return READ.map((word) => {
    const [a, b] = [0, 1].map((axis) => Math.round(100 * x.at(vocabulary.indexOf(word), axis)) / 100 + 0);
    return [a, b];
  });
}

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
  /** Cosine of the first two keys: before the first step of word2vec, 0 in other modes, and as they are. */
  readonly cosines: readonly [number, number];
}

const cosine = ([[a, b], [c, d]]: ArrowsNumbers["keys"]) =>
  (a * c + b * d) / (Math.hypot(a, b) * Math.hypot(c, d) || 1);

/** The numbers of a state. */
export function compute({ x, y, mode, word, angle, keys, steps, seed, ownText }: Arrows): ArrowsNumbers {
  const isTrained = mode === "trained";
  const points = isTrained
    ? trained(steps, seed)
    : WORDS.map((_, j) => [keys[2 * j], keys[2 * j + 1]] as const);
  const [wx, wy] = points[word];
  const turn = mode === "turned" ? (angle * Math.PI) / 180 : 0;
  const round = (value: number) => Math.round(value * 100) / 100 + 0;
  const query: readonly [number, number] =
    mode === "free"
      ? [x, y]
      : [round(wx * Math.cos(turn) - wy * Math.sin(turn)), round(wx * Math.sin(turn) + wy * Math.cos(turn))];
  const q = tensor(Float64Array.from(query), [1, 2]);
  const k = tensor(Float64Array.from(points.flat()), [5, 2]);
  const { output, weights, lse } = scaledDotProductAttention(q, k, k, { returnWeights: true });
  const shares = [...weights!.toFloat64()];
  // weight = e^(score − lse)
  const scores = shares.map((weight) => Math.log(weight) + lse.at(0));
  const [ox, oy] = output.toFloat64();
  return {
    words: isTrained ? READ : namesFrom(ownText, WORDS),
    keys: points,
    query,
    dots: scores.map((score) => score * Math.SQRT2),
    scores,
    shares,
    output: [ox, oy],
    cosines: [isTrained ? cosine(trained(0, seed)) : 0, cosine(points)],
  };
}
