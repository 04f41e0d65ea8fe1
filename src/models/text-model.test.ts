import { describe, expect, test } from "vitest";
import { OptionError } from "../core/errors.ts";
import { Bert, Gpt2, materializeWeights, textModel, trainTokenizer } from "./index.ts";

const text = "the cat sat on the mat, the cat sat\n".repeat(4);
const bpe = trainTokenizer([text], { kind: "bpe", vocabSize: 262 });
const wordPiece = trainTokenizer([text], { kind: "wordpiece", vocabSize: 40 });
const decoder = textModel(
  new Gpt2({ vocab_size: 262, n_positions: 12, n_embd: 8, n_layer: 2, n_head: 2 }),
  bpe,
);
const encoder = textModel(
  new Bert({
    vocab_size: 40,
    hidden_size: 8,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    intermediate_size: 12,
    max_position_embeddings: 9,
  }),
  wordPiece,
  { name: "small" },
);

test("a model says what it is", () => {
  expect(decoder).toMatchObject({
    name: "gpt2",
    architecture: "decoder",
    layers: 2,
    heads: 2,
    maxTokens: 12,
  });
  expect(encoder).toMatchObject({
    name: "small",
    architecture: "encoder",
    layers: 1,
    heads: 2,
    maxTokens: 9,
  });
});

describe("tokens", () => {
  test("are shown as text, each with its place", () => {
    const { tokens, offsets, special, texts } = decoder.tokenize("the cat é");
    expect(tokens.join("").startsWith("the cat ")).toBe(true);
    expect(tokens.slice(-2)).toEqual(["\\xC3", "\\xA9"]);
    expect(offsets.map(([start, end]) => texts[0].slice(start, end)).slice(-2)).toEqual(["é", "é"]);
    expect(special.includes(true)).toBe(false);
  });

  test("of a pair have their text and type", () => {
    const { tokens, sequences, typeIds, special } = encoder.tokenize("cat", "sat");
    expect(tokens).toEqual(["[CLS]", "cat", "[SEP]", "sat", "[SEP]"]);
    expect([...sequences]).toEqual([-1, 0, -1, 1, -1]);
    expect([...typeIds]).toEqual([0, 0, 0, 1, 1]);
    expect(special).toEqual([true, false, true, false, true]);
  });

  test("too many are dropped from the end of the longer text; special ones stay", () => {
    const long = encoder.tokenize("cat cat cat cat cat cat cat cat cat");
    expect(long.tokens).toEqual(["[CLS]", ...new Array(7).fill("cat"), "[SEP]"]);
    expect(long.leftOut).toBe(2);
    const pair = encoder.tokenize("cat cat", "sat sat sat sat sat sat");
    expect(pair.tokens.join(" ")).toBe("[CLS] cat cat [SEP] sat sat sat sat [SEP]");
    expect(decoder.tokenize("x".repeat(40)).leftOut).toBe(28);
  });
});

describe("attention", () => {
  test("of a decoder attends to no later token; weights are rebuilt from q, k and lse", () => {
    const textAttention = decoder.attention("the cat sat");
    const { pieces, layers } = materializeWeights(textAttention);
    expect(pieces).toEqual(textAttention.tokens);
    expect(layers.length).toBe(2);
    for (const { weights } of layers)
      for (let row = 0; row < pieces.length; row++)
        for (let key = row + 1; key < pieces.length; key++) expect(weights.at(1, row, key)).toBe(0);
  });

  test("of a pair is that of its ids and types", () => {
    const textAttention = encoder.attention("the cat", "sat");
    const again = encoder.attentionOf(textAttention.ids, textAttention.typeIds);
    expect(again[0].lse).toEqual(textAttention.layers[0].lse);
    expect(encoder.attentionOf(textAttention.ids)[0].lse).not.toEqual(again[0].lse);
  });

  test("of an empty text is refused, unless an encoder adds special tokens", () => {
    expect(() => decoder.attention("")).toThrow(OptionError);
    expect(encoder.attention("").tokens).toEqual(["[CLS]", "[SEP]"]);
  });
});

test("a tokenizer with more ids than rows is refused", () => {
  expect(() => textModel(encoder.model, bpe)).toThrow(/ids up to 261, the model 40 rows/);
});
