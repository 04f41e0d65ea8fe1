import { describe, expect, test } from "vitest";
import { OptionError } from "../core/errors.ts";
import { Gpt2, generate } from "./index.ts";

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
    // The last token is said, not read: one more than there are positions.
    expect(ids.length).toBe(13);
  });

  test("stops after maxTokens, and at a stop token, which is not handed out", () => {
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

  test("whoever stops asking stops the computation", () => {
    const tokens = generate(model, [3, 4]);
    expect(tokens.next().done).toBe(false);
    tokens.return();
    expect(tokens.next().done).toBe(true);
  });

  test("draws are those of their seed", () => {
    expect(all({ temperature: 1, seed: 5 })).toEqual(all({ temperature: 1, seed: 5 }));
    const drawn = new Set(Array.from({ length: 20 }, (_, seed) => all({ temperature: 1.5, seed }).join()));
    expect(drawn.size).toBeGreaterThan(10);
    expect(all({ temperature: 1, topK: 1, seed: 9 })).toEqual(all({}));
  });

  test("draws have the shares of softmax, of the k most likely alone where asked", () => {
    const logits = model.forward([3, 4]).toFloat64().slice(-20);
    const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a]);
    for (const topK of [undefined, 3]) {
      const kept = order.slice(0, topK ?? 20);
      const total = kept.reduce((sum, id) => sum + Math.exp(logits[id] / 2), 0);
      const counts = new Float64Array(20);
      const runs = 3000;
      for (let seed = 0; seed < runs; seed++) counts[all({ temperature: 2, topK, seed, maxTokens: 1 })[0]]++;
      for (const id of order) {
        const share = kept.includes(id) ? Math.exp(logits[id] / 2) / total : 0;
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
    [{ seed: 0.5 }, /seed/],
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
