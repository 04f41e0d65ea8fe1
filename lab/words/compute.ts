/** Words: what one head of a trained model looks at, in whole sentences. Weights are heed's, of the head's own query and key. */
import { scaledDotProductAttention } from "../../src/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";
import { type CaptureName, headOf } from "../head/head.ts";
import type { StrongestLink } from "../head/own.ts";
import { rowsOf } from "../head/packed.ts";

/** What a reader changes. */
export type Words = {
  /** Which sentence: tired, warm, flies (two), bank or ownText. */
  readonly line: string;
  /** The token that looks, by its place. */
  readonly query: number;
  /** True while the shares are hidden and beads are poured. */
  readonly hide: boolean;
  /** Beads on each token: the reader's guess. */
  readonly beads: readonly number[];
  /** The reader's own sentence, for the line "own". */
  readonly ownText: string;
};

/** One sentence. */
export interface Line {
  readonly tokens: readonly string[];
  /** True for the marks that the model puts around a sentence. */
  readonly marks: readonly boolean[];
  /** Of the token that looks, [tokens]. */
  readonly scores: readonly number[];
  readonly shares: readonly number[];
  /** Shares of every token, for moving the eye: [tokens][tokens]. */
  readonly weights: readonly (readonly number[])[];
}

/** What the picture shows. */
export interface WordsNumbers {
  readonly lines: readonly Line[];
  /** Of the reader's own sentence: the head of the small encoder, and its strongest link between pieces that are not neighbors. */
  readonly link?: StrongestLink;
  /** Softmax of the scores of the first line as the listings have them, rounded to three digits. */
  readonly rounded: readonly number[];
}

/** The numbers of a state. */
export async function compute({ line, query, ownText }: Words): Promise<WordsNumbers> {
  const names: readonly CaptureName[] = line === "flies" ? ["time", "fruit"] : [line as CaptureName];
  const readerHead = line === "own" ? await (await import("../head/own.ts")).ownSentence(ownText) : undefined;
  const heads = readerHead === undefined ? names.map(headOf) : [readerHead];
  const lines = heads.map(({ tokens, query: q, key, value }) => {
    const { weights, lse } = scaledDotProductAttention(q, key, value, { returnWeights: true });
    const rows = rowsOf(weights!);
    const at = Math.min(query, tokens.length - 1);
    const sum = lse.at(at);
    return {
      tokens,
      marks: tokens.map(
        (token, i) => (i === 0 && token === "start") || (i === tokens.length - 1 && token === "end"),
      ),
      // weight = e^(score − lse), so the score is ln(weight) + lse.
      scores: rows[at].map((weight) => roundScore(Math.log(weight) + sum)),
      shares: rows[at],
      weights: rows,
    };
  });
  return { lines, ...(readerHead && { link: readerHead.link }), rounded: softmaxOf(lines[0].scores) };
}
