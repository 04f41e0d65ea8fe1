/** Words: what one head of a trained model looks at, in whole sentences. Weights are heed's, of the head's own query and key. */
import { scaledDotProductAttention } from "../../src/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";
import { type Scoring, scoringOf } from "../head/head.ts";
import type { OwnLink } from "../head/link.ts";
import { rowsOf } from "../head/packed.ts";
import { CAPTURES } from "./captures.ts";
import { linesOf, placeIn, SENTENCES, type SentenceName } from "./sentences.ts";

/** What a reader changes. */
export type Words = {
  /** Which sentence: one of the captures, a pair of them ("flies", "banks"), or "own". */
  readonly line: string;
  /** The token that looks, by its place. */
  readonly query: number;
  /** True while the shares are hidden and beads are poured. */
  readonly hide: boolean;
  /** Beads on each token: the reader's guess. */
  readonly beads: readonly number[];
  /** The reader's own sentence, for the line "own". */
  readonly ownText: string;
  /** The head that reads it, counted through all layers; −1 for the one with the link of the largest contrast. */
  readonly head: number;
};

/** One sentence. */
export interface Line {
  readonly tokens: readonly string[];
  /** The token that looks. */
  readonly looks: number;
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
  /** Of the reader's own sentence: the head of the small encoder, and its link of the largest contrast. */
  readonly link?: OwnLink;
  /** What the word that looks first gives to the word that it finds, or in controls does not, by sentence. */
  readonly linkShares: Readonly<Record<SentenceName, number>>;
  /** Softmax of the scores of the first line as the listings have them, rounded to three digits. */
  readonly rounded: readonly number[];
}

/** Weights [tokens][tokens] and the log of each row's sum. */
function weightsOf({ query, key }: Scoring) {
  const { weights, lse } = scaledDotProductAttention(query, key, key, { returnWeights: true });
  return { rows: rowsOf(weights!), lse };
}

let linkShares: Record<SentenceName, number> | undefined;

/** What the word that looks first gives to the word that it finds, in every sentence. */
const shareInAll = () =>
  Object.fromEntries(
    Object.entries(SENTENCES).map(([key, { looks, finds }]) => {
      const name = key as SentenceName;
      return [name, weightsOf(scoringOf(CAPTURES[name])).rows[placeIn(name, looks)][placeIn(name, finds)]];
    }),
  ) as Record<SentenceName, number>;

/** The numbers of a state. */
export async function compute({ line, query, ownText, head }: Words): Promise<WordsNumbers> {
  linkShares ??= shareInAll();
  const reader =
    line === "own" ? await (await import("../head/own.ts")).ownSentence(ownText, head) : undefined;
  const heads = reader === undefined ? linesOf(line).map((name) => scoringOf(CAPTURES[name])) : [reader];
  const lines = heads.map((scoring) => {
    const { tokens } = scoring;
    const { rows, lse } = weightsOf(scoring);
    const at = Math.min(query < 0 ? (reader?.link.from ?? 0) : query, tokens.length - 1);
    const sum = lse.at(at);
    return {
      tokens,
      looks: at,
      marks: tokens.map(
        (token, i) => (i === 0 && token === "start") || (i === tokens.length - 1 && token === "end"),
      ),
      // weight = e^(score − lse), so the score is ln(weight) + lse.
      scores: rows[at].map((weight) => roundScore(Math.log(weight) + sum)),
      shares: rows[at],
      weights: rows,
    };
  });
  return { lines, linkShares, ...(reader && { link: reader.link }), rounded: softmaxOf(lines[0].scores) };
}
