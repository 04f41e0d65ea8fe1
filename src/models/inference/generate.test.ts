import { describe, expect, test } from "vitest";
import { sweepSize } from "../../../tests/support/cases/count.ts";
import { tensor } from "../../core/create/construct.ts";
import { OptionError } from "../../core/errors.ts";
import { Gpt2, generate, generateText, textModel, tokenShares, trainTokenizer } from "../index.ts";
import { chooser } from "./sampling.ts";

const model = new Gpt2(
  { vocab_size: 20, n_positions: 12, n_embd: 8, n_layer: 2, n_head: 2, initializer_range: 0.5 },
  { seed: 2 },
);
const all = (options: Parameters<typeof generate>[2], ids: number[] = [3, 4]) => [
  ...generate(model, ids, options),
];
/** The most likely next token of a whole sequence, without a cache. */
const next = (ids: number[]) => {
  const row = model.forward(ids).toFloat64().slice(-20);
  return row.indexOf(Math.max(...row));
};

describe("generate", () => {
  test("by default takes the most likely token each time, until the positions end", () => {
    const ids = [3, 4];
    for (const id of generate(model, [3, 4])) {
      expect(id).toBe(next(ids));
      ids.push(id);
    }
    // The last token is yielded but not read: one more than there are positions.
    expect(ids.length).toBe(13);
  });

  test("a copy of a cache has its tokens and continues another text", () => {
    const cache = model.cache();
    model.forward([3, 4, 5], { cache });
    const copy = cache.copy();
    const last = (ids: number[]) => [...model.forward(ids).toFloat64().slice(-20)];
    const step = (id: number, from: typeof cache) => [...model.forward([id], { cache: from }).toFloat64()];
    for (const [id, from] of [[6, copy], [7, cache]] as const) // biome-ignore format: one list
      step(id, from).forEach((x, n) => expect(x).toBeCloseTo(last([3, 4, 5, id])[n], 4));
    expect([copy.restart(), cache.restart()]).toEqual([
      [3, 4, 5, 6],
      [3, 4, 5, 7],
    ]);
  });

  test("logits that are NaN are an error, not the token with id 0", () => {
    const parameters = new Map(model.parameters());
    const name = "transformer.h.0.attn.c_attn.bias";
    const bias = parameters.get(name) as { data: Float32Array; shape: readonly number[] };
    const broken = new Gpt2(model.config, {
      parameters: new Map(parameters).set(
        name,
        tensor(
          bias.data.map(() => Number.NaN),
          bias.shape,
        ),
      ),
    });
    for (const temperature of [0, 1])
      expect(() => [...generate(broken, [3, 4], { temperature })]).toThrow(
        expect.objectContaining({
          code: "non-finite",
          message: expect.stringContaining("generate: the logit of token 0 is NaN"),
        }),
      );
  });

  test("stops after maxTokens, and at a stop token, which is not yielded", () => {
    const greedy = all({});
    expect(all({ maxTokens: 4 })).toEqual(greedy.slice(0, 4));
    expect(all({ maxTokens: 0 })).toEqual([]);
    expect(all({ stop: [greedy[2]] })).toEqual(greedy.slice(0, greedy.indexOf(greedy[2])));
  });

  test("the config's end token stops too, unless other stops are given", () => {
    const greedy = all({});
    const config = { ...model.config, eos_token_id: greedy[1] };
    const ending = new Gpt2(config, { parameters: model.parameters() });
    expect([...generate(ending, [3, 4])]).toEqual(greedy.slice(0, greedy.indexOf(greedy[1])));
    expect([...generate(ending, [3, 4], { stop: [] })]).toEqual(greedy);
  });

  test("a caller that stops iterating stops the computation", () => {
    const tokens = generate(model, [3, 4]);
    expect(tokens.next().done).toBe(false);
    tokens.return();
    expect(tokens.next().done).toBe(true);
  });

  test("the same seed samples the same tokens", () => {
    expect(all({ temperature: 1, seed: 5 })).toEqual(all({ temperature: 1, seed: 5 }));
    const drawn = new Set(Array.from({ length: 20 }, (_, seed) => all({ temperature: 1.5, seed }).join()));
    expect(drawn.size).toBeGreaterThan(10);
    expect(all({ temperature: 1, topK: 1, seed: 9 })).toEqual(all({}));
    for (const narrow of [{ topK: 5 }, { topP: 0.9 }, { minP: 0.01 }])
      expect(all({ ...narrow, seed: 5 })).toEqual(all({ ...narrow, temperature: 1, seed: 5 }));
  });

  test("each step draws for itself, each token as often as its share says", () => {
    const logits = Float64Array.from([0.5, 0.2, 0.2, 0.1], Math.log);
    const draw = chooser({ temperature: 1, seed: 3 });
    const counts = [0, 0, 0, 0];
    for (let n = 0; n < 5000; n++) counts[draw(logits, n)]++;
    counts.forEach((count, id) => expect(Math.abs(count / 5000 - Math.exp(logits[id]))).toBeLessThan(0.02));
  });

  test("samples follow softmax, over the k most likely tokens if requested", () => {
    const logits = model.forward([3, 4]).toFloat64().slice(-20);
    const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a]);
    for (const topK of [undefined, 3]) {
      const candidates = order.slice(0, topK ?? 20);
      const total = candidates.reduce((sum, id) => sum + Math.exp(logits[id] / 2), 0);
      const counts = new Float64Array(20);
      const runs = sweepSize(1000, 3000);
      for (let seed = 0; seed < runs; seed++) counts[all({ temperature: 2, topK, seed, maxTokens: 1 })[0]]++;
      for (const id of order) {
        const share = candidates.includes(id) ? Math.exp(logits[id] / 2) / total : 0;
        // Five standard deviations of a count.
        expect(Math.abs(counts[id] - runs * share)).toBeLessThanOrEqual(
          5 * Math.sqrt(runs * share * (1 - share)),
        );
      }
    }
  });

  test.each([
    [{ maxTokens: -1 }, /maxTokens/],
    [{ temperature: -1 }, /temperature/],
    [{ temperature: Number.NaN }, /temperature/],
    [{ topK: 0 }, /topK/],
    [{ topP: 0 }, /topP/],
    [{ topP: 1.1 }, /topP/],
    [{ minP: -0.1 }, /minP/],
    [{ seed: 0.5 }, /seed/],
    [
      { topK: 3, temperature: 0 },
      /temperature must be above 0 with topK: 0 takes the most likely token, got 0/,
    ],
    [{ topP: 0.5, temperature: 0 }, /above 0 with topP/],
    [{ minP: 0.5, temperature: 0 }, /above 0 with minP/],
    [{ seed: 3 }, /seed must be left out, or with a temperature such as 1/],
  ])("%j is refused", (options, message) => {
    expect(() => all(options)).toThrow(OptionError);
    expect(() => all(options)).toThrow(message);
  });

  test("no token, and more than there are positions, are refused", () => {
    expect(() => all({}, [])).toThrow(/1 to 12 tokens/);
    expect(() => all({}, new Array(13).fill(1))).toThrow(/1 to 12 tokens/);
    expect(all({}, new Array(12).fill(1)).length).toBe(1);
  });
});

describe("tokenShares", () => {
  test("logits may be a tensor of one row", () => {
    expect(tokenShares(tensor(Float32Array.of(0, 0), [2]), {})).toEqual(Float64Array.of(0.5, 0.5));
    expect(() => tokenShares(tensor(Float32Array.of(0, 0), [1, 2]), {})).toThrow(/the logits \[V\]/);
  });

  // Shares 0.4, 0.3, 0.2, 0.1 at temperature 1, out of order.
  const logits = Float64Array.from([0.2, 0.4, 0.1, 0.3], Math.log);
  const shares = (options: Parameters<typeof tokenShares>[1]) =>
    Array.from(tokenShares(logits, options), (x) => Math.round(1e6 * x) / 1e6);

  test("softmax of logits / temperature", () => {
    expect(shares({})).toEqual([0.2, 0.4, 0.1, 0.3]);
    const squares = [0.04, 0.16, 0.01, 0.09].map((x) => Math.round((1e6 * x) / 0.3) / 1e6);
    expect(shares({ temperature: 0.5 })).toEqual(squares);
  });

  test("top-k, top-p and min-p keep the most likely tokens, in this order", () => {
    expect(shares({ topK: 1 })).toEqual([0, 1, 0, 0]);
    expect(shares({ topP: 0.4 })).toEqual([0, 1, 0, 0]);
    expect(shares({ topP: 0.41 })).toEqual([0, 0.571429, 0, 0.428571]);
    expect(shares({ topP: 0.000001 })).toEqual([0, 1, 0, 0]);
    expect(shares({ minP: 0.5 })).toEqual([0.222222, 0.444444, 0, 0.333333]);
    expect(shares({ minP: 1 })).toEqual([0, 1, 0, 0]);
    // Of the two that top-k keeps, the first has 4/7.
    expect(shares({ topK: 2, topP: 0.55 })).toEqual([0, 1, 0, 0]);
  });
});

describe("generateText", () => {
  const tokenizer = trainTokenizer(["the sea and the ship, café 漢字"], { kind: "bpe", vocabSize: 262 });
  const decoder = textModel(
    new Gpt2(
      {
        vocab_size: tokenizer.size,
        n_positions: 60,
        n_embd: 8,
        n_layer: 1,
        n_head: 2,
        initializer_range: 0.8,
      },
      { seed: 5 },
    ),
    tokenizer,
  );
  const options = { maxTokens: 40, temperature: 1.5, seed: 3 };
  const write = (more = {}) => [...generateText(decoder, "the sea", { ...options, ...more })];

  test("pieces together are the text of the ids, and no piece ends inside a character", () => {
    const ids: number[] = [];
    const pieces = write({ onToken: (id: number) => ids.push(id) });
    expect(ids.length).toBe(40);
    expect(pieces.join("")).toBe(tokenizer.decode(Int32Array.from(ids)));
    expect(pieces.length).toBeGreaterThan(10);
    const only = [...generate(decoder.model as Gpt2, tokenizer.ids("the sea"), options)];
    expect(only).toEqual(ids);
  });

  test("ends before a stop text, across pieces, and yields no part of it", () => {
    const full = write().join("");
    for (let at = 1; at + 3 < full.length; at += 5) {
      const stop = full.slice(at, at + 3);
      expect(write({ stopTexts: [stop] }).join("")).toBe(full.slice(0, full.indexOf(stop)));
    }
    // The beginning of a stop text that does not continue is yielded.
    expect(write({ stopTexts: [`${full.slice(4, 9)}\u0000never`] }).join("")).toBe(full);
  });

  test("ids that the tokenizer has no token for add nothing to the text", () => {
    const padded = textModel(
      new Gpt2({ vocab_size: 1000, n_positions: 60, n_embd: 8, n_layer: 1, n_head: 2 }, { seed: 5 }),
      tokenizer,
    );
    const ids: number[] = [];
    const onToken = (id: number) => ids.push(id);
    const text = [
      ...generateText(padded, "the sea", { maxTokens: 20, temperature: 2, seed: 1, onToken }),
    ].join("");
    expect(ids.some((id) => id >= tokenizer.size)).toBe(true);
    expect(text).toBe(tokenizer.decode(Int32Array.from(ids.filter((id) => id < tokenizer.size))));
  });

  test("an encoder, and invalid stop texts, are refused", () => {
    expect(() => [...generateText({ ...decoder, architecture: "encoder" }, "a")]).toThrow(/fillMask/);
    expect(() => write({ stopTexts: [""] })).toThrow(/stopTexts/);
    expect(() => write({ stopTexts: "a" })).toThrow(/stopTexts/);
  });
});
