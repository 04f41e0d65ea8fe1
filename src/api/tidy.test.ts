/** Work in `tidy` gives the same bits as outside, whatever its memory contained before, and its tensors are disposed. */
import { inspect } from "node:util";
import { cast, OptionError, type Tensor, tensor } from "heed";
import { Bert, Gpt2 } from "heed/models";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import { AdamW, crossEntropy, keep, Tape, tidy } from "heed/train";
import { afterEach, describe, expect, test } from "vitest";
import { LEVELS, use } from "../../tests/support/backends/levels.ts";
import { isScoped } from "../core/arena.ts";
import { getEngine } from "../wasm/engine/engine.ts";

const numbers = (...shape: number[]): Tensor<"float32"> =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i * 7.3 + shape[0])),
    shape,
  );
const ids = (count: number, below: number) => Int32Array.from({ length: count }, (_, i) => (i * 37) % below);

/** Fills the memory that the next `tidy` uses. */
function poison(): void {
  tidy(() =>
    tensor(new Float32Array(2 ** 22).fill(Number.NaN), [2 ** 11, 2 ** 11])
      .transpose()
      .contiguous(),
  );
}

/** Loss and gradients of all parameters as bits. */
function bits(layer: { parameters(): ReadonlyMap<string, Tensor> }, work: () => Tensor): string[] {
  const tape = new Tape();
  const loss = tape.run(work);
  const gradients = tape.gradients(loss, layer.parameters().values());
  return [loss, ...gradients.values()].map((t) =>
    Buffer.from(t.contiguous().data.slice().buffer).toString("base64"),
  );
}

const total = (y: Tensor) => nn.mean(nn.multiply(y, numbers(...y.shape)));

const WORK: Record<string, () => string[]> = {};
for (const [width, heads, N] of [
  [64, 4, 32],
  [36, 3, 19],
]) {
  const x = numbers(2, N, width);
  const encoder = new nn.EncoderBlock(width, heads, { seed: 1 });
  WORK[`an encoder block of width ${width}`] = () => bits(encoder, () => total(encoder.forward(x).output));
  const mha = new nn.MultiHeadAttention(width, heads, { seed: 2 });
  WORK[`multi-head attention of width ${width}`] = () =>
    bits(mha, () => total(mha.forward(x, x, x, { isCausal: true }).output));
  const gated = new nn.SwiGLU(width, { seed: 3 });
  WORK[`SwiGLU of width ${width}`] = () => bits(gated, () => total(gated.forward(x)));
  const gru = new history.GRU(width, 24, { seed: 4 });
  WORK[`GRU of width ${width}`] = () => bits(gru, () => total(gru.forward(x).output));
  const sizes = { n_embd: width, n_layer: 2, n_head: heads, n_positions: N, vocab_size: 97, n_inner: null };
  const gpt2 = new Gpt2({ ...sizes, attn_pdrop: 0.1, embd_pdrop: 0.1, resid_pdrop: 0.1 }, { seed: 5 });
  const prompt = tensor(ids(3 * N, 97), [3, N]);
  WORK[`GPT-2 of width ${width}`] = () =>
    nn.withDropout(7, () => bits(gpt2, () => crossEntropy(gpt2.forward(prompt), prompt)));
  const bert = new Bert(
    {
      vocab_size: 128,
      hidden_size: width,
      num_hidden_layers: 1,
      num_attention_heads: heads,
      intermediate_size: 48,
      max_position_embeddings: N,
      type_vocab_size: 2,
      hidden_act: "gelu",
      layer_norm_eps: 1e-12,
    },
    { seed: 6 },
  );
  WORK[`BERT of width ${width}`] = () => bits(bert, () => crossEntropy(bert.forward(prompt), prompt));
}

afterEach(() => use("wide", 1));

describe("tidy", () => {
  for (const level of LEVELS)
    for (const threads of level === "reference" ? [1] : [1, 3])
      test(`${level} on ${threads} threads: the same bits as outside`, () => {
        use(level, threads);
        for (const [name, work] of Object.entries(WORK)) {
          const want = work();
          poison();
          expect(tidy(work), name).toEqual(want);
        }
      });

  test("later steps use no more memory than the first ones", () => {
    const layer = new nn.EncoderBlock(64, 4, { seed: 1 });
    const x = numbers(4, 64, 64);
    const step = () => tidy(() => bits(layer, () => total(layer.forward(x).output)));
    for (let n = 0; n < 3; n++) step();
    const before = getEngine()?.memory.memory.buffer.byteLength;
    for (let n = 0; n < 10; n++) step();
    expect(getEngine()?.memory.memory.buffer.byteLength).toBe(before);
  });

  for (const [name, level, dtype] of [
    ["with shared memory", "relaxed", "float32"],
    ["on the reference", "reference", "float32"],
    ["in float64", "relaxed", "float64"],
  ] as const)
    describe(`the contract of tf.tidy, ${name}`, () => {
      const outside = (): nn.FloatTensor => cast(numbers(40, 40), dtype);

      test("returned tensors survive, at any depth; all others are disposed", () => {
        use(level, 1);
        const x = outside();
        let lost: Tensor | undefined;
        const [outer, deep] = tidy(() => {
          const y = nn.add(x, x);
          lost = nn.scale(y, 3);
          return [y, { view: y.transpose(), list: [new Map([["z", nn.scale(y, 0.5)]])] }] as const;
        });
        poison();
        expect(outer.at(1, 2)).toBe(2 * x.at(1, 2));
        expect(deep.view.at(2, 1)).toBe(outer.at(1, 2));
        expect(deep.list[0].get("z")?.at(3, 3)).toBe(x.at(3, 3));
        expect(() => lost?.data).toThrow(/disposed when its tidy/);
        expect(() => nn.add(lost!, x)).toThrow(expect.objectContaining({ code: "disposed" }));
        expect(String(inspect(lost))).toContain("disposed");
        expect(x.at(0, 1)).toBe(outer.at(0, 1) / 2);
      });

      test("tensors that an inner scope returns live as long as the outer one; kept ones outlive all scopes", () => {
        use(level, 1);
        const x = outside();
        let survivor: Tensor | undefined;
        let inner: Tensor | undefined;
        tidy(() => {
          inner = tidy(() => {
            survivor = keep(nn.scale(x, 4));
            return nn.scale(x, 2);
          });
          expect(inner.at(0, 1)).toBe(2 * x.at(0, 1));
        });
        poison();
        expect(() => inner?.data).toThrow(/disposed/);
        expect(survivor?.at(0, 1)).toBe(4 * x.at(0, 1));
      });
    });

  test("a step updates parameters and moments in place", () => {
    const layer = new nn.Linear(64, 64, { seed: 3 });
    const x = numbers(32, 64);
    const train = (within: <T>(work: () => T) => T) => {
      const layer = new nn.Linear(64, 64, { seed: 3 });
      const optimizer = new AdamW(layer.parameters(), { lr: 0.01 });
      for (let n = 0; n < 5; n++)
        within(() => {
          const tape = new Tape();
          const loss = tape.run(() => total(layer.forward(x)));
          optimizer.step(tape.gradients(loss, layer.parameters().values()));
        });
      return [...layer.parameters().values(), ...optimizer.moments().values()].map(({ data }) => [
        ...(data as Float32Array),
      ]);
    };
    const trained = train(tidy);
    expect(trained).toEqual(train((work) => work()));
    expect(trained[0]).not.toEqual([...(layer.weight.data as Float32Array)]);
  });

  test("an error ends an inner scope too", () => {
    tidy(() => {
      const y = tidy(() => nn.scale(numbers(8, 8), 2));
      expect(y.data[0]).toBe(2 * numbers(8, 8).data[0]);
      expect(isScoped()).toBe(true);
    });
    let escaped: Tensor | undefined;
    const fail = () => {
      escaped = nn.scale(numbers(8, 8), 2);
      throw new RangeError("stop");
    };
    expect(() => tidy(fail)).toThrow(RangeError);
    expect(isScoped()).toBe(false);
    expect(() => escaped?.data).toThrow(/disposed when its tidy/);
  });

  test("work that is not a function, or returns a promise, is rejected", () => {
    expect(() => tidy(1 as never)).toThrow(OptionError);
    expect(() => tidy(async () => 1)).toThrow(/synchronous/);
  });

  test("results that do not fit the arena are ordinary arrays", () => {
    const big = numbers(2 ** 12, 2 ** 10);
    tidy(() => {
      const all = Array.from({ length: 70 }, () => nn.scale(big, 0.5));
      for (const y of all) expect(y.data[5]).toBe(0.5 * big.data[5]);
    });
  });
});
