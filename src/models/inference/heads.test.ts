import { expect, test } from "vitest";
import { scaledDotProductAttention } from "../../api/attention.ts";
import { tensor } from "../../core/create/construct.ts";
import { type AttentionModel, Gpt2, type LayerAttention, textModel, trainTokenizer } from "../index.ts";
import { headScores, inductionScores } from "./heads.ts";

/** One token per character; in head h, row `row` puts nearly all its weight on key `of(row)`. */
function planted(
  architecture: "encoder" | "decoder",
  heads: readonly ((row: number, text: string) => number)[],
): AttentionModel {
  const tokenize = (text: string) => ({
    texts: [text],
    ids: Int32Array.from(text, (character) => character.charCodeAt(0)),
    tokens: [...text],
    offsets: [...text].map((_, i) => [i, i + 1] as const),
    sequences: new Int8Array(text.length),
    special: [...text].map(() => false),
    typeIds: new Int32Array(text.length),
    leftOut: 0,
  });
  return {
    name: "planted",
    architecture,
    layers: 1,
    heads: heads.length,
    maxTokens: 100,
    tokenize,
    attention(text) {
      const n = text.length;
      // Keys are unit vectors; a query points at the key it attends to.
      const q = new Float64Array(heads.length * n * n);
      const k = new Float64Array(heads.length * n * n);
      heads.forEach((of, h) => {
        for (let row = 0; row < n; row++) {
          q[(h * n + row) * n + Math.max(0, of(row, text))] = 60 * Math.sqrt(n);
          k[(h * n + row) * n + row] = 1;
        }
      });
      const [query, key] = [tensor(q, [heads.length, n, n]), tensor(k, [heads.length, n, n])];
      const options = architecture === "decoder" ? { isCausal: true as const } : {};
      const { lse } = scaledDotProductAttention(query, key, key, options);
      return {
        ...tokenize(text),
        layers: [{ query, key, value: key, lse, options } as unknown as LayerAttention],
      };
    },
  };
}

const before = (row: number) => row - 1;
const self = (row: number) => row;
const follower = (row: number, text: string) => text.slice(0, row).lastIndexOf(text[row]) + 1;
const opening = (row: number, text: string) =>
  text[row] === ")" ? text.slice(0, row).lastIndexOf("(") : row;

test("planted heads score 1 on their own measure, and low on others", () => {
  const [previous, copies, same, brackets] = headScores(
    planted("decoder", [before, follower, self, opening]),
    ["ab(cab)c (x)y"],
  );
  expect(previous.previous).toBeCloseTo(1, 9);
  expect(previous.induction).toBeLessThan(0.3);
  expect(copies.induction).toBeCloseTo(1, 9);
  expect(same.self).toBeCloseTo(1, 9);
  expect(same.previous).toBeCloseTo(0, 9);
  expect(brackets.matching).toBeCloseTo(1, 9);
  expect([previous.layer, brackets.head]).toEqual([0, 3]);
});

test("the weight on the first token, and uniform attention, are reported too", () => {
  const [head] = headScores(planted("decoder", [() => 0]), ["abcd"]);
  expect(head.first).toBeCloseTo(1, 9);
  // Rows 1, 2, 3 see 2, 3, 4 tokens.
  expect(head.even.previous).toBeCloseTo((1 / 2 + 1 / 3 + 1 / 4) / 3, 12);
  expect(head.induction).toBeNaN();
  expect(headScores(planted("encoder", [() => 0]), ["abcd"])[0].even.previous).toBeCloseTo(1 / 4, 12);
});

test("the weight on the next token is measured for encoders only", () => {
  const texts = ["abcab"];
  const [after, back] = headScores(planted("encoder", [(row) => Math.min(row + 1, 4), before]), texts);
  expect(after.next).toBeCloseTo(1, 9);
  expect(back.next).toBeLessThan(0.01);
  expect(after.even.next).toBeCloseTo(1 / 5, 12);
  expect(headScores(planted("decoder", [before]), texts)[0].next).toBeNaN();
});

test("quotes pair up in turn, brackets by nesting, and an encoder looks ahead too", () => {
  const close = (row: number, text: string) =>
    text[row] === '"' && text.indexOf('"') === row ? text.lastIndexOf('"') : row;
  const [head] = headScores(planted("encoder", [close]), ['a "bc" d']);
  expect(head.matchingNext).toBeCloseTo(1, 9);
  expect(head.matching).toBeCloseTo(0, 9);
  const nested = (row: number, text: string) =>
    text[row] === "]" ? text.indexOf("[") : text[row] === ")" ? text.indexOf("(") : row;
  expect(headScores(planted("decoder", [nested]), ["([x])", "“a)”"])[0].matching).toBeGreaterThan(0.6);
});

test("induction on random tokens repeated once is measured for every head of a real model", () => {
  const bpe = trainTokenizer(["the cat sat on the mat ".repeat(9)], { kind: "bpe", vocabSize: 262 });
  const model = textModel(
    new Gpt2({ vocab_size: 262, n_positions: 32, n_embd: 8, n_layer: 2, n_head: 2 }),
    bpe,
  );
  const scores = inductionScores(model, { length: 10, sequences: 2 });
  expect(scores.map(({ layer, head }) => [layer, head])).toEqual([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ]);
  // The attention of an untrained model is nearly uniform.
  for (const { induction, even } of scores) expect(Math.abs(induction - even.induction)).toBeLessThan(0.02);
  expect(inductionScores(model, { length: 10, sequences: 2 })).toEqual(scores);
});
