/** Modules: names, first values, and loading that is all or nothing. */
import { FormatError, ShapeError, type Tensor, tensor, zeros } from "heed";
import * as nn from "heed/nn";
import { describe, expect, it } from "vitest";

const names = (module: nn.Module) => [...module.parameters().keys()];

describe("parameters carry PyTorch's names and shapes", () => {
  it("MultiHeadAttention", () => {
    expect(names(new nn.MultiHeadAttention(8, 2))).toEqual([
      "in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias",
    ]); // biome-ignore format: one list
    const other = new nn.MultiHeadAttention(8, 2, { kdim: 3, vdim: 5 });
    expect(Object.fromEntries([...other.parameters()].map(([name, t]) => [name, t.shape]))).toEqual({
      q_proj_weight: [8, 8],
      k_proj_weight: [8, 3],
      v_proj_weight: [8, 5],
      in_proj_bias: [24],
      "out_proj.weight": [8, 8],
      "out_proj.bias": [8],
    });
  });

  it("EncoderBlock is TransformerEncoderLayer, DecoderBlock with a memory TransformerDecoderLayer", () => {
    const encoder = [
      "self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight", "self_attn.out_proj.bias",
      "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight",
      "norm2.bias",
    ]; // biome-ignore format: one list
    expect(names(new nn.EncoderBlock(8, 2))).toEqual(encoder);
    expect(names(new nn.DecoderBlock(8, 2))).toEqual(encoder);
    const cross = encoder.slice(0, 4).map((name) => name.replace("self_attn", "multihead_attn"));
    expect(names(new nn.DecoderBlock(8, 2, { crossAttention: true })).sort()).toEqual(
      [...encoder, ...cross, "norm3.weight", "norm3.bias"].sort(),
    );
  });

  it("lists of modules count from 0, private fields are not parameters, and tied weights are listed once", () => {
    class Model extends nn.Module {
      readonly wte = new nn.Embedding(5, 2);
      readonly h = [new nn.Linear(2, 2, { bias: false }), new nn.Linear(2, 2)];
      readonly lm_head = new nn.Linear(2, 5, { bias: false });
      readonly #cache = zeros([3]);
      constructor() {
        super();
        Object.assign(this.lm_head, { weight: this.wte.weight });
      }
      size() {
        return this.#cache.size;
      }
    }
    const model = new Model();
    expect(names(model)).toEqual(["wte.weight", "h.0.weight", "h.1.weight", "h.1.bias"]);
    expect(model.size()).toBe(3);
    const state = model.stateDict();
    state.set("lm_head.weight", state.get("wte.weight")!);
    expect(model.loadStateDict(state)).toEqual({ missing: [], unexpected: [] });
    state.delete("wte.weight");
    expect(model.loadStateDict(state)).toEqual({ missing: [], unexpected: [] });
  });
});

describe("initial values", () => {
  it("follow PyTorch's rules: bounds, zeros, ones", () => {
    const spread = (t: { toFloat64(): Float64Array }) => Math.max(...t.toFloat64().map(Math.abs));
    const linear = new nn.Linear(400, 300);
    expect(spread(linear.weight)).toBeLessThanOrEqual(1 / 20);
    expect(spread(linear.weight)).toBeGreaterThan(0.99 / 20);
    expect(spread(linear.bias!)).toBeLessThanOrEqual(1 / 20);
    const mha = new nn.MultiHeadAttention(64, 4);
    const bound = Math.sqrt(6 / (3 * 64 + 64));
    expect(spread(mha.in_proj_weight!)).toBeLessThanOrEqual(bound);
    expect(spread(mha.in_proj_weight!)).toBeGreaterThan(0.99 * bound);
    expect([spread(mha.in_proj_bias!), spread(mha.out_proj.bias!)]).toEqual([0, 0]);
    const { weight } = new nn.Embedding(1000, 50);
    const numbers = weight.toFloat64();
    const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
    const variance = numbers.reduce((a, b) => a + (b - mean) ** 2, 0) / numbers.length;
    expect(Math.abs(mean)).toBeLessThan(0.02);
    expect(Math.abs(variance - 1)).toBeLessThan(0.03);
    expect([...new nn.LayerNorm(2).weight.data, ...new nn.LayerNorm(2).bias!.data]).toEqual([1, 1, 0, 0]);
  });

  it("repeat with the seed, differ between seeds and between equal parts, and agree in both dtypes", () => {
    const values = (seed: number, dtype: nn.Precision) =>
      [...new nn.EncoderBlock(8, 2, { seed, dtype }).parameters().values()].map((t) => [...t.toFloat64()]);
    expect(values(1, "float32")).toEqual(values(1, "float64"));
    expect(values(1, "float32")).not.toEqual(values(2, "float32"));
    const layers = () => [new nn.Linear(3, 3), new nn.Linear(3, 3)].map(({ weight }) => [...weight.data]);
    const [first, second] = nn.withSeed(3, layers);
    expect(first).not.toEqual(second);
    expect(nn.withSeed(3, layers)).toEqual([first, second]);
    expect(nn.withSeed(4, layers)).not.toEqual([first, second]);
    expect(layers()).not.toEqual(layers());
    const gated = new nn.SwiGLU(4, { hidden: 4 });
    expect([...gated.gate_proj.weight.data]).not.toEqual([...gated.up_proj.weight.data]);
  });
});

describe("load", () => {
  const layer = () => new nn.Linear(2, 3, { dtype: "float32" });
  const full = (): Map<string, Tensor> =>
    new Map<string, Tensor>([
      ["weight", tensor(Float64Array.of(1, 2, 3, 4, 5, 6), [3, 2])],
      ["bias", tensor(Float32Array.of(7, 8, 9), [3])],
    ]);

  it("copies values in place, of any float dtype, strided too", () => {
    const one = layer();
    const { weight, bias } = one;
    const state = full();
    // 1.5 and −2 as bfloat16, transposed.
    state.set(
      "weight",
      tensor(Uint16Array.of(0x3fc0, 0xc000, 0x3fc0, 0xc000, 0xc000, 0x3fc0), [2, 3], "bfloat16").transpose(),
    );
    one.loadStateDict(state);
    expect([one.weight === weight, one.bias === bias]).toEqual([true, true]);
    expect([...weight.data, ...bias!.data]).toEqual([1.5, -2, -2, -2, 1.5, 1.5, 7, 8, 9]);
  });

  it("lists missing and unexpected names, and changes nothing", () => {
    const one = layer();
    const before = [...one.weight.data];
    const state = full();
    state.delete("bias");
    state.set("extra", zeros([1]));
    const load = () => one.loadStateDict(state);
    expect(load).toThrow(FormatError);
    expect(load).toThrow(/Linear.loadStateDict: the state does not fit; missing: bias; unexpected: extra/);
    expect([...one.weight.data]).toEqual(before);
    expect(one.loadStateDict(state, { strict: false })).toEqual({ missing: ["bias"], unexpected: ["extra"] });
    expect([...one.weight.data]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("refuses another shape before it changes anything", () => {
    const one = layer();
    const before = [...one.weight.data];
    const state = full();
    state.set("bias", zeros([4]));
    expect(() => one.loadStateDict(state)).toThrow(ShapeError);
    expect(() => one.loadStateDict(state)).toThrow(/bias must be \[3\], got bias \[4\] float32/);
    expect([...one.weight.data]).toEqual(before);
  });

  it("a state is a copy", () => {
    const one = layer();
    const state = one.stateDict();
    one.weight.data.fill(0);
    expect(
      state
        .get("weight")!
        .toFloat64()
        .some((w) => w !== 0),
    ).toBe(true);
  });
});
