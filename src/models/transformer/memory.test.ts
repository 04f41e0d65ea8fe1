/** A forward pass gives the same bits in the engine's memory and outside of it, and its layers share that memory. */
import { describe, expect, test } from "vitest";
import { keep, tidy } from "../../api/tidy.ts";
import { isScoped, reclaimer } from "../../core/arena.ts";
import { Tensor } from "../../core/tensor.ts";
import { scale } from "../../nn/index.ts";
import { type Engine, getEngine } from "../../wasm/engine/engine.ts";
import { Bert } from "../families/encoders/bert.ts";
import { Gpt2 } from "../families/gpt/gpt2.ts";

const N = 60;
const ids = Int32Array.from({ length: N }, (_, n) => (n * 7) % 50);
const bert = (layers: number) =>
  new Bert(
    {
      vocab_size: 50,
      hidden_size: 192,
      num_hidden_layers: layers,
      num_attention_heads: 3,
      intermediate_size: 768,
      max_position_embeddings: 64,
    },
    { seed: 1 },
  );
const gpt2 = () =>
  new Gpt2({ vocab_size: 50, n_positions: 64, n_embd: 96, n_layer: 3, n_head: 3 }, { seed: 1 });
const ones = () => new Tensor(new Float32Array(100_000).fill(1), [100_000], "float32");

describe("a forward pass", () => {
  test("gives the bits that it gives with a hook, alone and in a scope", () => {
    for (const model of [bert(3), gpt2()]) {
      let last: Tensor | undefined;
      const watched = model.hidden(ids, {
        onHidden: (_, x) => {
          last = x;
        },
      });
      // A tensor passed to a hook stays readable.
      expect(last?.data.length).toBeGreaterThan(0);
      expect(model.hidden(ids).data).toEqual(watched.data);
      expect(tidy(() => model.hidden(ids)).data).toEqual(watched.data);
      expect(isScoped()).toBe(false);
    }
  });

  test("takes no more memory for more layers", () => {
    const { memory } = getEngine() as Engine;
    const inUseAfter = (layers: number): number => {
      const model = bert(layers);
      for (let n = 0; n < 3; n++) model.hidden(ids);
      return memory.resetPeak();
    };
    const few = inUseAfter(2);
    expect(few).toBeGreaterThan(N * 768 * 4);
    expect(inUseAfter(8)).toBe(few);
  });
});

test("the attention of a layer ends before its feed-forward network: its memory is that of the larger of both", () => {
  const { memory } = getEngine() as Engine;
  const [C, inner, N] = [192, 768, 512];
  const fields = { hidden_size: C, intermediate_size: inner, num_attention_heads: 3, num_hidden_layers: 1 };
  const model = new Bert({ ...fields, vocab_size: 50, max_position_embeddings: N }, { seed: 1 });
  const text = Int32Array.from({ length: N }, (_, n) => (n * 7) % 50);
  const before = memory.resetPeak();
  for (let n = 0; n < 2; n++) model.hidden(text);
  const states = 4 * N * C;
  // Both arrays of the network, states and copies of weights: 15 states together; with the 7 of attention 21.
  expect(memory.resetPeak() - before).toBeLessThan(4 * N * 2 * inner + 16 * states);
});

describe("reclaimer", () => {
  test("disposes all tensors of a scope except one and those that are kept", () => {
    const tensors: Tensor[] = [];
    const result = tidy(() => {
      const reclaim = reclaimer();
      let x = scale(ones(), 2);
      for (let layer = 0; layer < 200; layer++) {
        const before = x;
        const other = scale(x, 10);
        if (layer === 1) tensors.push(keep(scale(x, 100)));
        x = reclaim(scale(x, 1 + 1 / (layer + 1)));
        expect(() => other.data).toThrow(/disposed/);
        if (layer > 0) expect(() => before.data).toThrow(/disposed/);
        expect(x.data[99_999]).toBeCloseTo(2 * (layer + 2), 1);
      }
      return x;
    });
    expect(result.data[0]).toBeCloseTo(402, 0);
    expect(tensors[0].data[99_999]).toBe(400);
  });

  test("does nothing outside of a scope", () => {
    const x = scale(ones(), 2);
    expect(reclaimer()(x)).toBe(x);
    expect(x.data[1]).toBe(2);
  });
});
