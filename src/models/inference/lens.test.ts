/** The logit lens: each row is the model's own last norm and head of that state; the last row is the prediction. */
import { describe, expect, test } from "vitest";
import { OptionError, UnsupportedError } from "../../core/errors.ts";
import type { FloatTensor } from "../../nn/index.ts";
import {
  Bert,
  fillMask,
  Gpt2,
  locateShipped,
  logitLens,
  readModel,
  textModel,
  tokenShares,
} from "../index.ts";
import type { TextModel } from "../text-model.ts";
import { recordActivations, runOptions } from "./intervene.ts";
import { lensTable } from "./lens.ts";

const decoder = await readModel(locateShipped("decoder"));
const encoder = await readModel(locateShipped("encoder"));
const { tokenizer } = decoder;
const gpt2 = textModel(
  new Gpt2(
    {
      vocab_size: tokenizer.size,
      n_embd: 16,
      n_layer: 3,
      n_head: 2,
      n_positions: 32,
      initializer_range: 0.5,
    },
    { seed: 3 },
  ),
  tokenizer,
);

/** The logits of a state after `layers` layers: a run in which it replaces the last layer's. */
function logitsOf(model: TextModel, text: string, layers: number, position: number): Float64Array {
  const tokens = model.tokenize(text);
  const { states } = recordActivations(model, tokens);
  const replaced = model.model.hidden(
    tokens.ids,
    runOptions(model, tokens, { onHidden: (at) => (at === model.layers ? states[layers] : undefined) }),
  );
  const logits = model.model.logits(replaced as FloatTensor).toFloat64();
  const V = logits.length / tokens.ids.length;
  return logits.slice(position * V, (position + 1) * V);
}

describe("logitLens", () => {
  const TEXT = "the president of the united";
  for (const [name, model, text, position] of [
    ["the shipped decoder", decoder, TEXT, 3],
    ["a random GPT-2", gpt2, TEXT, undefined],
    ["the shipped encoder at a mask", encoder, "the president of the united [MASK]", undefined],
    ["the shipped encoder at a word", encoder, TEXT, 2],
  ] as const)
    test(`of ${name} equals its last norm and head on each state`, () => {
      const lens = logitLens(model, text, { position, top: 3 });
      expect(lens.rows.map(({ layers }) => layers)).toEqual(
        Array.from({ length: model.layers + 1 }, (_, n) => n),
      );
      for (const { layers, tokens, probability, rank } of lens.rows) {
        const shares = tokenShares(logitsOf(model, text, layers, lens.position));
        const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]);
        expect(tokens.map(({ id }) => id)).toEqual(order.slice(0, 3));
        for (const one of tokens) expect(one.probability).toBeCloseTo(shares[one.id], 6);
        expect(probability).toBeCloseTo(shares[lens.token.id], 6);
        expect(rank).toBe(1 + shares.filter((share) => share > shares[lens.token.id]).length);
      }
      expect(lens.rows.at(-1)).toMatchObject({ rank: 1, probability: lens.token.probability });
    });

  test("the table of many tokens has the first token of each state; it ends with the text", () => {
    const table = lensTable(gpt2, TEXT, 1, 99);
    const { length } = gpt2.tokenize(TEXT).ids;
    expect(table.map((row) => row.length)).toEqual(Array(gpt2.layers + 1).fill(length - 1));
    for (let position = 1; position < length; position++) {
      const { rows } = logitLens(gpt2, TEXT, { position, top: 1 });
      expect(table.map((row) => row[position - 1])).toEqual(rows.map(({ tokens }) => tokens[0]));
    }
    expect(() => lensTable(gpt2, TEXT, length, length + 1)).toThrow("from must be 0 to");
  });

  test("the last row of a mask is what fillMask gives; a token can be followed by its text or id", () => {
    const text = "the president of the united [MASK]";
    const { rows, position } = logitLens(encoder, text, { top: 5 });
    const [fill] = fillMask(encoder, text, { top: 5 });
    expect(position).toBe(fill.position);
    expect(rows.at(-1)?.tokens.map(({ token }) => token)).toEqual(fill.candidates.map(({ token }) => token));
    const { id } = fill.candidates[1];
    const followed = logitLens(encoder, text, { token: id });
    expect(followed.token.id).toBe(id);
    expect(followed.rows.at(-1)?.rank).toBe(2);
    expect(logitLens(encoder, text, { token: fill.candidates[1].token })).toEqual(followed);
  });

  test("a model without a head, a text without a mask or a token, and wrong options are refused", () => {
    const headless = textModel(
      new Bert({ ...(encoder.model as Bert).config }, { hasHead: false }),
      encoder.tokenizer,
    );
    expect(() => logitLens(headless, "the ship")).toThrow(UnsupportedError);
    expect(() => logitLens(encoder, "the ship")).toThrow(
      "logitLens: the text has no mask; write [MASK] where a token is predicted, or give its position",
    );
    expect(() => logitLens(decoder, "")).toThrow("logitLens: the text has no token");
    expect(() => logitLens(decoder, "the ship", { position: 99 })).toThrow(OptionError);
    expect(() => logitLens(decoder, "the ship", { top: 0 })).toThrow("top must be an integer ≥ 1");
    expect(() => logitLens(decoder, "the ship", { token: "nosuchtoken" })).toThrow(OptionError);
  });
});
