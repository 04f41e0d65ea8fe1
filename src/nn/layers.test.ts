/** Layers: gradients of every parameter and input by central differences, with every option. */
import { alibi, keyLengths, OptionError, ShapeError, type Tensor, tensor } from "heed";
import * as nn from "heed/nn";
import { describe, expect, it } from "vitest";
import { normals } from "../../tests/support/cases/tensors.ts";
import { gradcheck, gradientsOf } from "../../tests/support/oracles/gradcheck.ts";

const make = normals(3);
const dtype = "float64";
const x = make(2, 5, 6);
const bool = (shape: number[], ...values: number[]) => tensor(Uint8Array.from(values), shape, "bool");

/** Checks all parameters of a layer and the named inputs. Zero biases and unit weights are moved off those first. */
function check(layer: nn.Module, inputs: Record<string, Tensor>, work: () => Tensor | Tensor[], limit = 12) {
  for (const [name, t] of layer.parameters())
    if (/norm|bias/.test(name) || t.shape.length === 1) {
      const [data, more] = [t.data as Float64Array, make(t.size).data];
      for (let n = 0; n < data.length; n++) data[n] += 0.3 * (more[n] as number);
    }
  const all = { ...Object.fromEntries(layer.parameters()), ...inputs };
  gradcheck(all, work, { limit });
  const { gradients } = gradientsOf(
    all,
    () => [work()].flat(),
    (t) => t,
  );
  for (const [name, gradient] of Object.entries(gradients)) expect(gradient, name).toBeDefined();
}

describe("gradients agree with central differences", () => {
  it("Linear, Embedding, norms", () => {
    for (const bias of [true, false]) {
      const linear = new nn.Linear(6, 3, { dtype, bias });
      check(linear, { x }, () => linear.forward(x));
      const norm = new nn.LayerNorm(6, { dtype, bias, eps: 0.01 });
      check(norm, { x }, () => norm.forward(x));
    }
    const rms = new nn.RMSNorm(6, { dtype });
    check(rms, { x }, () => rms.forward(x));
    const table = new nn.Embedding(7, 3, { dtype });
    check(table, {}, () => table.forward([6, 0, 6]));
  });

  it("MLP with every activation, and SwiGLU", () => {
    for (const activation of ["gelu", "gelu-tanh", "relu", "silu"] as const) {
      const mlp = new nn.MLP(6, { hidden: 5, activation, dtype, bias: activation !== "relu" });
      check(mlp, { x }, () => mlp.forward(x));
    }
    const gated = new nn.SwiGLU(6, { dtype });
    check(gated, { x }, () => gated.forward(x));
    const dropping = new nn.MLP(6, { dropoutP: 0.5, dtype });
    const dropped = () => nn.withDropout(4, () => dropping.forward(x));
    check(dropping, { x }, dropped);
    expect(dropped().toArray()).not.toEqual(dropping.forward(x).toArray());
  });

  it("positions: learned, sinusoidal, rotary", () => {
    const learned = new nn.LearnedPositions(9, 6, { dtype });
    check(learned, { x }, () => nn.add(x, learned.forward(5, 3)), 60);
    const waves = new nn.SinusoidalPositions(6, { dtype });
    check(waves, { x }, () => nn.add(x, waves.forward(5, 3)));
    for (const layout of ["half", "interleaved"] as const) {
      const turn = new nn.Rope({ layout, base: 50, rotaryDim: 4 });
      check(turn, { x }, () => turn.forward(x, 7));
    }
  });

  it("SelfAttention: dk ≠ dv, biases, masks of keys and of pairs, causal", () => {
    const keyMask = bool([2, 5], 1, 1, 0, 1, 1, 1, 1, 1, 0, 0);
    const pairs = make(5, 5);
    for (const [bias, options, more] of [
      [false, {}, {}],
      [true, { keyMask }, {}],
      [false, { isCausal: true, attnMask: pairs, keyMask }, { pairs }],
    ] as const) {
      const layer = new nn.SelfAttention(6, { dk: 4, dv: 3, bias, dtype });
      check(layer, { x, ...more }, () => layer.forward(x, options).output);
      expect(layer.forward(x).output.shape).toEqual([2, 5, 3]);
    }
  });

  it("MultiHeadAttention: self, cross, kdim and vdim, grouped heads, rotary, masks, score mods, dropout", () => {
    const memory = make(2, 4, 6);
    const [k, v] = [make(2, 4, 5), make(2, 4, 3)];
    const keyMask = bool([2, 5], 1, 1, 0, 1, 1, 1, 1, 1, 0, 0);
    const slopes = make(4);
    const bias = make(2, 1, 5, 5);
    const sinks = make(3);
    const other = make(2, 5, 6);
    const rope = new nn.Rope({ base: 30 });
    for (const [name, options, inputs, forward] of [
      ["self", {}, { x }, (l) => l.forward(x)],
      ["no bias", { bias: false }, { x }, (l) => l.forward(x, x, x, { isCausal: true, keyMask })],
      ["cross", {}, { x, memory }, (l) => l.forward(x, memory)],
      ["three inputs", { kdim: 5, vdim: 3 }, { x, k, v }, (l) => l.forward(x, k, v)],
      ["float mask", {}, { x, bias }, (l) => l.forward(x, x, x, { attnMask: bias, keyMask })],
      ["keys alone masked", {}, { x }, (l) => l.forward(x, x, x, { attnMask: keyLengths([2, 5]) })],
      ["queries and keys alike, values not", {}, { x, other }, (l) => l.forward(x, x, other)],
      ["three inputs of one size", {}, { x, other }, (l) => l.forward(x, other, x)],
      ["kdim alone", { kdim: 5, bias: false }, { x, k, memory }, (l) => l.forward(x, k, memory)],
      ["sinks", {}, { x, sinks }, (l) => l.forward(x, x, x, { sinks, isCausal: true })],
      ["two masks", {}, { x, bias }, (l) => l.forward(x, x, x, { attnMask: [bias, keyLengths(4)] })],
      ["rotary", { rope }, { x }, (l) => l.forward(x, x, x, { queryOffset: 3, isCausal: true })],
    ] as [
      string,
      nn.MultiHeadOptions,
      Record<string, Tensor>,
      (l: nn.MultiHeadAttention) => nn.AttendResult,
    ][]) {
      const layer = new nn.MultiHeadAttention(6, 3, { dtype, ...options });
      check(layer, inputs, () => forward(layer).output, 8);
      expect(forward(layer).output.shape, name).toEqual([2, 5, 6]);
    }
    const wide = make(2, 5, 12);
    for (const numKvHeads of [1, 2]) {
      const layer = new nn.MultiHeadAttention(12, 4, { numKvHeads, dtype, dropoutP: 0.2 });
      const work = () => layer.forward(wide, wide, wide, { scoreMod: alibi(slopes) }).output;
      check(layer, { wide, slopes }, work, 8);
      check(layer, { wide }, () => nn.withDropout(1, work), 8);
      expect(layer.in_proj_weight!.shape).toEqual([12 + 2 * numKvHeads * 3, 12]);
    }
  });

  it("MultiHeadAttention after past keys: past keys and values have gradients too", () => {
    const layer = new nn.MultiHeadAttention(6, 3, { dtype, rope: new nn.Rope() });
    const past = { key: make(2, 3, 3, 2), value: make(2, 3, 3, 2) };
    check(layer, { x, ...past }, () => layer.forward(x, x, x, { past, isCausal: true }).output, 8);
  });

  it("EncoderBlock and DecoderBlock, before and after the norm, with and without a memory", () => {
    const memory = make(2, 3, 4);
    const keyMask = bool([2, 3], 1, 1, 0, 1, 1, 1);
    for (const normFirst of [true, false]) {
      const common = { normFirst, feedForward: 5, dtype } as const;
      const encoder = new nn.EncoderBlock(6, 2, { ...common, activation: "relu" });
      check(encoder, { x }, () => encoder.forward(x).output, 6);
      const turning = new nn.EncoderBlock(8, 4, {
        ...common, numKvHeads: 2, rope: new nn.Rope(), layerNormEps: 0.1, dropoutP: 0.2, activation: "gelu-tanh",
      }); // biome-ignore format: one list
      const wide = make(1, 4, 8);
      const real = bool([1, 4], 1, 0, 1, 1);
      check(
        turning,
        { wide },
        () => nn.withDropout(5, () => turning.forward(wide, { keyMask: real }).output),
        6,
      );
      const causal = new nn.DecoderBlock(6, 2, { ...common, bias: false, numKvHeads: 1, dropoutP: 0.1 });
      check(causal, { x }, () => nn.withDropout(3, () => causal.forward(x).output), 6);
      const decoder = new nn.DecoderBlock(6, 2, { ...common, crossAttention: true, memoryDim: 4 });
      check(decoder, { x, memory }, () => decoder.forward(x, memory, { memory: { keyMask } }).output, 6);
    }
  });
});

describe("behavior", () => {
  it("a decoder block attends to no later position, an encoder block does", () => {
    const moved = make(2, 5, 6);
    moved.data.set(x.data);
    for (let n = 24; n < 30; n++) moved.data[n] = 9;
    const early = (block: nn.EncoderBlock | nn.DecoderBlock, t: Tensor) =>
      [...block.forward(t as nn.FloatTensor).output.toFloat64()].slice(0, 24);
    const decoder = new nn.DecoderBlock(6, 2, { dtype });
    expect(early(decoder, moved)).toEqual(early(decoder, x));
    const encoder = new nn.EncoderBlock(6, 2, { dtype });
    expect(early(encoder, moved)).not.toEqual(early(encoder, x));
  });

  it("a decoder block with a memory is its three parts, each with its own norm, before or after", () => {
    const memory = make(2, 3, 6);
    for (const normFirst of [true, false]) {
      const block = new nn.DecoderBlock(6, 2, { dtype, normFirst, crossAttention: true });
      for (const norm of [block.norm1, block.norm2, block.norm3!]) norm.bias!.data.set([...make(6).data]);
      const parts: [nn.LayerNorm, (t: nn.FloatTensor) => nn.FloatTensor][] = [
        [block.norm1, (t) => block.self_attn.forward(t, t, t, { isCausal: true }).output],
        [block.norm2, (t) => block.multihead_attn!.forward(t, memory).output],
        [block.norm3!, (t) => block.linear2.forward(nn.gelu(block.linear1.forward(t)))],
      ];
      const want = parts.reduce(
        (t, [norm, f]) => (normFirst ? nn.add(t, f(norm.forward(t))) : norm.forward(nn.add(t, f(t)))),
        x,
      );
      expect([...block.forward(x, memory).output.data]).toEqual([...want.data]);
    }
  });

  it("token by token with `past` is the same as all at once", () => {
    const rope = new nn.Rope();
    const layer = new nn.MultiHeadAttention(8, 4, { numKvHeads: 2, rope, dtype });
    const full = make(1, 6, 8);
    const want = layer.forward(full, full, full, { isCausal: true }).output.toFloat64();
    let past: nn.AttendOptions["past"];
    for (let n = 0; n < 6; n++) {
      const one = nn.slice(full, 1, n, n + 1);
      const result = layer.forward(one, one, one, { isCausal: true, past });
      past = result;
      for (const [i, y] of result.output.toFloat64().entries()) expect(y).toBeCloseTo(want[n * 8 + i], 12);
    }
  });

  it("a single sequence [N, E] gives what a batch of one gives", () => {
    const layer = new nn.MultiHeadAttention(6, 3, { dtype });
    const single = make(5, 6);
    const one = layer.forward(single, single, single, {
      returnWeights: true,
      keyMask: bool([5], 1, 0, 1, 1, 1),
    });
    expect([one.output.shape, one.weights!.shape, one.lse.shape]).toEqual([
      [5, 6],
      [3, 5, 5],
      [3, 5],
    ]);
    const batch = nn.reshape(single, [1, 5, 6]);
    const want = layer.forward(batch, batch, batch, { keyMask: bool([1, 5], 1, 0, 1, 1, 1) });
    expect([...one.output.toFloat64()]).toEqual([...want.output.toFloat64()]);
    gradcheck({ single }, () => layer.forward(single).output);
  });

  it("keys that keyMask leaves out are not read, and a query without keys gives the bias of out_proj", () => {
    const layer = new nn.MultiHeadAttention(6, 2, { dtype });
    layer.out_proj.bias!.data.set([1, 2, 3, 4, 5, 6]);
    const memory = make(2, 2, 6);
    memory.data.fill(Number.NaN, 12);
    const { output, weights } = layer.forward(x, memory, memory, {
      keyMask: bool([2, 2], 1, 1, 0, 0),
      returnWeights: true,
    });
    expect([...output.toFloat64()].slice(30)).toEqual(
      Array.from({ length: 5 }, () => [1, 2, 3, 4, 5, 6]).flat(),
    );
    expect(
      weights!
        .toFloat64()
        .slice(20)
        .every((w) => w === 0),
    ).toBe(true);
    expect(output.toFloat64().every(Number.isFinite)).toBe(true);
  });

  it("dropout of a layer acts inside withDropout only, and repeats with the seed", () => {
    const block = new nn.EncoderBlock(6, 2, { dropoutP: 0.5, dtype });
    const numbers = (seed?: number) => [...nn.withDropout(seed, () => block.forward(x).output).toFloat64()];
    expect(numbers(undefined)).toEqual([...block.forward(x).output.toFloat64()]);
    expect(numbers(1)).toEqual(numbers(1));
    expect(numbers(1)).not.toEqual(numbers(2));
    expect(numbers(1)).not.toEqual(numbers());
  });

  it("the result holds what its weights are rebuilt from", () => {
    const layer = new nn.MultiHeadAttention(6, 3, { dtype });
    const { query, key, value, lse } = layer.forward(x);
    expect([query, key, value].map((t) => t.shape)).toEqual([
      [2, 3, 5, 2],
      [2, 3, 5, 2],
      [2, 3, 5, 2],
    ]);
    expect(lse.shape).toEqual([2, 3, 5]);
  });
});

describe("errors", () => {
  const layer = new nn.MultiHeadAttention(6, 3, { dtype });
  it("sizes that do not fit are refused when the layer is built", () => {
    expect(() => new nn.MultiHeadAttention(6, 4)).toThrow(/numHeads must divide embedDim.*numHeads 4/);
    expect(() => new nn.MultiHeadAttention(6, 3, { numKvHeads: 2 })).toThrow(OptionError);
    expect(() => new nn.Linear(0, 3)).toThrow(/Linear: inputs must be an integer ≥ 1, got 0/);
    expect(() => new nn.Embedding(2, 1.5)).toThrow(OptionError);
    expect(() => new nn.MLP(4, { activation: "swish" as never })).toThrow(/MLP: activation must be one of/);
    expect(() => new nn.EncoderBlock(4, 2, { dropoutP: 1 })).toThrow(
      /EncoderBlock: dropoutP must be in \[0, 1\)/,
    );
    expect(() => new nn.Linear(2, 2, { seed: 0.5 })).toThrow(/seed must be an integer/);
  });
  it("a keyMask of another dtype or shape is refused", () => {
    expect(() => layer.forward(x, x, x, { keyMask: make(2, 5) })).toThrow(/keyMask must be bool, true where/);
    expect(() => layer.forward(x, x, x, { keyMask: bool([2, 4], ...new Array(8).fill(1)) })).toThrow(
      ShapeError,
    );
  });
  it("positions beyond the table, a memory too many or too few, and mixed offsets with rope", () => {
    expect(() => new nn.LearnedPositions(4, 2).forward(3, 2)).toThrow(
      /there are 4 positions; got N = 3 from offset 2/,
    );
    expect(() => new nn.DecoderBlock(6, 2, { dtype }).forward(x, x)).toThrow(/built without crossAttention/);
    expect(() => new nn.DecoderBlock(6, 2, { dtype, crossAttention: true }).forward(x)).toThrow(
      /memory .* is missing/,
    );
    const turning = new nn.MultiHeadAttention(6, 3, { dtype, rope: new nn.Rope() });
    expect(() => turning.forward(x, x, x, { queryOffset: [0, 1] })).toThrow(/queryOffset must be one number/);
  });
});
