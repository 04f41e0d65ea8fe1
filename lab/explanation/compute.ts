/**
 * Is attention an explanation? Every link of one word, in every head of a trained encoder: its weight, and how far the word's last state
 * turns when that one weight is set to 0 and all later layers run again. Of the captured sentences the runs were made before
 * (captures.ts); of the reader's own sentence they are made in the page.
 */
import { PIECES } from "../frame/words.ts";
import { shownTokens } from "../head/head.ts";
import type { WordLinks } from "../head/own.ts";
import { decodeFloat16 } from "../head/packed.ts";
import { LINKS } from "./captures.ts";

/** What a reader changes. */
export type Explanation = {
  /** "time" or "fruit": which sentence about flies. */
  readonly data: string;
  readonly layer: number;
  readonly head: number;
  /** What "without" means: "silent", the weight becomes 0; "hidden", the key is masked and the others' shares grow. */
  readonly how: string;
  /** Which links are drawn: "head", those of one head, or "all". */
  readonly shown: string;
  /** The reader's own sentence, read by the small encoder; "" for the common ones. */
  readonly ownText: string;
};

/** What the picture shows. */
export interface ExplanationNumbers {
  readonly words: readonly string[];
  /** The word whose links they are. */
  readonly query: number;
  readonly layers: number;
  readonly heads: number;
  /** True if the reader's sentence has more pieces than are read. */
  readonly cut: boolean;
  /** The head that is shown, as it is in this model. */
  readonly layer: number;
  readonly head: number;
  /** All links, [layers · heads · words]: weight, length of weight × value, and the angle by which the last state turns, in degrees. */
  readonly weights: readonly number[];
  readonly moves: readonly number[];
  readonly angles: readonly number[];
  /** Of the head that is shown, [words], rounded as the listings have them. */
  readonly row: { readonly weights: readonly number[]; readonly angles: readonly number[] };
  /** Rank correlation (Spearman) of weight and angle, and of weight × value and angle, over all links. */
  readonly correlation: number;
  readonly correlationMoves: number;
  /** The same for the head that is shown. */
  readonly correlationRow: number;
  /** Links of more than half of the word's attention: how many, how many of those to marks, and the largest angle of these. */
  readonly strong: { readonly count: number; readonly marks: number; readonly largestOfMarks: number };
}

/** The links of a state's sentence. */
async function linksOf({ data, how, ownText }: Explanation): Promise<WordLinks> {
  if (ownText !== "") return (await import("../head/own.ts")).ownWordLinks(ownText, PIECES, how === "hidden");
  const { tokens, query, weights, moves, silent, hidden } = LINKS[data as keyof typeof LINKS];
  return {
    tokens: shownTokens(tokens),
    layers: 6,
    heads: 12,
    query,
    weights: decodeFloat16(weights),
    moves: decodeFloat16(moves),
    turns: decodeFloat16(how === "hidden" ? hidden : silent),
    cut: false,
  };
}

const cache = new Map<string, Promise<WordLinks>>();

/** The numbers of a state. */
export async function compute(state: Explanation): Promise<ExplanationNumbers> {
  const { layer, head, data, how, ownText } = state;
  const name = `${ownText}|${data}|${how}`;
  let loading = cache.get(name);
  if (loading === undefined) {
    cache.clear();
    loading = linksOf(state);
    loading.catch(() => cache.delete(name));
    cache.set(name, loading);
  }
  const { tokens, query, layers, heads, cut, ...links } = await loading;
  const [n, weights, moves] = [tokens.length, Array.from(links.weights), Array.from(links.moves)];
  const angles = Array.from(links.turns, (turn) => (180 / Math.PI) * Math.acos(1 - Math.max(0, turn)));
  const at = (Math.min(layer, layers - 1) * heads + Math.min(head, heads - 1)) * n;
  const rowOf = (all: readonly number[]) => all.slice(at, at + n).map((x) => Number(x.toPrecision(4)));
  const row = { weights: rowOf(weights), angles: rowOf(angles) };
  const isMark = (i: number) => i % n === 0 || i % n === n - 1;
  const strong = weights.flatMap((weight, i) => (weight > 0.5 ? [i] : []));
  return {
    words: tokens,
    query,
    layers,
    heads,
    cut,
    layer: Math.min(layer, layers - 1),
    head: Math.min(head, heads - 1),
    weights,
    moves,
    angles,
    row,
    correlation: spearman(weights, angles),
    correlationMoves: spearman(moves, angles),
    correlationRow: spearman(row.weights, row.angles),
    strong: {
      count: strong.length,
      marks: strong.filter(isMark).length,
      largestOfMarks: Math.max(0, ...strong.filter(isMark).map((i) => angles[i])),
    },
  };
}

/** Places in the order of size, 0 for the smallest; equal numbers share the mean of their places. */
function ranks(numbers: readonly number[]): number[] {
  const order = numbers.map((_, i) => i).sort((a, b) => numbers[a] - numbers[b]);
  const places = new Array<number>(numbers.length);
  for (let from = 0, end = 0; from < order.length; from = end) {
    while (end < order.length && numbers[order[end]] === numbers[order[from]]) end++;
    for (let i = from; i < end; i++) places[order[i]] = (from + end - 1) / 2;
  }
  return places;
}

/** Spearman's rank correlation: that of the places. */
function spearman(a: readonly number[], b: readonly number[]): number {
  const middle = (a.length - 1) / 2;
  const [ra, rb] = [a, b].map((numbers) => ranks(numbers).map((place) => place - middle));
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, place, i) => sum + place * y[i], 0);
  return dot(ra, rb) / Math.sqrt(dot(ra, ra) * dot(rb, rb));
}
