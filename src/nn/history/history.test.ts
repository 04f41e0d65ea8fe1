/** Additive and multiplicative attention, recurrent networks, attention by features: gradients, masks, approximation errors. */
import { keyLengths, OptionError, ShapeError, type Tensor, tensor } from "heed";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import { describe, expect, it } from "vitest";
import { normals } from "../../../tests/support/cases/tensors.ts";
import { gradcheck, gradientsOf } from "../../../tests/support/oracles/gradcheck.ts";

const make = normals(4);
const dtype = "float64";
const bool = (shape: number[], ...values: number[]) => tensor(Uint8Array.from(values), shape, "bool");
const ids = (shape: number[], ...values: number[]) => tensor(Int32Array.from(values), shape);
const list = (t: Tensor) => [...t.toFloat64()];
const check = (
  layer: nn.Module,
  inputs: Record<string, Tensor>,
  work: () => Tensor | readonly Tensor[],
  limit = 12,
) => gradcheck({ ...Object.fromEntries(layer.parameters()), ...inputs }, work, { limit });

describe("additive and multiplicative attention", () => {
  const [q, k, v] = [make(2, 3, 4), make(2, 5, 3), make(2, 5, 2)];
  const keyMask = bool([2, 5], 1, 0, 1, 1, 0, 0, 0, 0, 0, 0);

  it("gradients of AdditiveAttention, with masks of keys and of pairs", () => {
    const layer = new history.AdditiveAttention(4, 3, 6, { dtype });
    check(layer, { q, k, v }, () => layer.forward(q, k, v).output);
    check(layer, { q, k }, () => layer.forward(q, k).output);
    const bias = make(3, 5);
    check(layer, { q, k, v, bias }, () => layer.forward(q, k, v, { keyMask, attnMask: bias }).output);
    check(layer, { q, k, v }, () => layer.forward(q, k, v, { attnMask: keyLengths([2, 4]) }).output);
    const same = make(2, 5, 4);
    check(layer, { same, k, v }, () => layer.forward(same, k, v, { isCausal: true }).output);
  });

  it("gradients of LuongAttention, general and dot", () => {
    const general = new history.LuongAttention(4, 3, { dtype });
    check(general, { q, k, v }, () => general.forward(q, k, v, { keyMask }).output);
    const dot = new history.LuongAttention(3, 3, { dtype, score: "dot" });
    const narrow = make(2, 3, 3);
    check(dot, { narrow, k, v }, () => dot.forward(narrow, k, v).output);
    expect(dot.parameters().size).toBe(0);
  });

  it("masked keys are not read in the forward or backward pass, and a row without keys gives zeros", () => {
    const bad = make(2, 5, 3);
    bad.data.fill(Number.NaN, 15);
    for (const layer of [
      new history.AdditiveAttention(4, 3, 6, { dtype }),
      new history.LuongAttention(4, 3, { dtype }),
    ]) {
      const { outputs, gradients } = gradientsOf(
        { q, bad },
        () => [layer.forward(q, bad, v, { keyMask }).output],
        (t) => t,
      );
      expect(list(outputs[0]).slice(6)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(list(gradients.q!).slice(12)).toEqual(new Array(12).fill(0));
      for (const gradient of Object.values(gradients))
        expect(list(gradient!).every(Number.isFinite)).toBe(true);
    }
  });

  it("weights on request sum to 1", () => {
    const layer = new history.AdditiveAttention(4, 3, 6, { dtype });
    const { weights } = layer.forward(q, k, v, { returnWeights: true });
    expect(weights!.shape).toEqual([2, 3, 5]);
    for (const sum of list(nn.sum(weights!, -1))) expect(sum).toBeCloseTo(1, 12);
  });
});

describe("recurrent networks", () => {
  it("gradients of GRUCell and GRU, in one and both directions, with padding", () => {
    const cell = new history.GRUCell(3, 4, { dtype });
    const [x, h] = [make(2, 3), make(2, 4)];
    check(cell, { x, h }, () => cell.forward(x, h));
    const sequence = make(2, 3, 3);
    const keyMask = bool([2, 3], 1, 1, 1, 1, 1, 0);
    for (const bidirectional of [false, true])
      for (const options of [{}, { keyMask }]) {
        const gru = new history.GRU(3, 2, { bidirectional, dtype });
        check(
          gru,
          { sequence },
          () => {
            const { output, last } = gru.forward(sequence, options);
            return [output, ...last];
          },
          6,
        );
      }
  });

  it("GRUCell is the formula", () => {
    const cell = new history.GRUCell(1, 1, { dtype });
    const set = (t: Tensor, ...values: number[]) => t.data.set(values as never);
    set(cell.weight_ih, 0.5, -0.3, 0.8);
    set(cell.weight_hh, 0.1, 0.2, -0.4);
    set(cell.bias_ih, 0.01, 0.02, 0.03);
    set(cell.bias_hh, 0.04, 0.05, 0.06);
    const σ = (x: number) => 1 / (1 + Math.exp(-x));
    const [x, h] = [0.7, -0.6];
    const r = σ(0.5 * x + 0.01 + 0.1 * h + 0.04);
    const z = σ(-0.3 * x + 0.02 + 0.2 * h + 0.05);
    const n = Math.tanh(0.8 * x + 0.03 + r * (-0.4 * h + 0.06));
    const got = cell.forward(tensor(Float64Array.of(x), [1, 1]), tensor(Float64Array.of(h), [1, 1]));
    expect(got.at(0, 0)).toBeCloseTo((1 - z) * n + z * h, 14);
  });

  it("the reverse direction is the forward direction of the reversed sequence", () => {
    const both = new history.GRU(3, 4, { bidirectional: true, dtype });
    const forth = new history.GRU(3, 4, { dtype });
    forth.loadStateDict(
      new Map(
        [...both.parameters()]
          .filter(([name]) => name.endsWith("_reverse"))
          .map(([name, t]) => [name.replace("_reverse", ""), t]),
      ),
    );
    const x = make(1, 3, 3);
    const around = nn.concat(
      [2, 1, 0].map((n) => nn.slice(x, 1, n, n + 1)),
      1,
    );
    const [back, want] = [both.forward(x), forth.forward(around)];
    expect(list(back.last[1])).toEqual(list(want.last[0]));
    for (const n of [0, 1, 2])
      expect([0, 1, 2, 3].map((i) => back.output.at(0, n, 4 + i))).toEqual(
        [0, 1, 2, 3].map((i) => want.output.at(0, 2 - n, i)),
      );
  });

  it("a padded sequence gives the same result as without padding", () => {
    const gru = new history.GRU(3, 4, { bidirectional: true, dtype });
    const long = make(1, 5, 3);
    const short = nn.slice(long, 1, 0, 3);
    const padded = gru.forward(long, { keyMask: bool([1, 5], 1, 1, 1, 0, 0) });
    const alone = gru.forward(short);
    expect(padded.last.map(list)).toEqual(alone.last.map(list));
    expect(list(nn.slice(padded.output, 1, 0, 3))).toEqual(list(alone.output));
  });

  it("NaN in the padding of a sequence does not reach the state", () => {
    const gru = new history.GRU(3, 4, { bidirectional: true, dtype });
    const long = make(1, 5, 3);
    const keyMask = bool([1, 5], 1, 1, 1, 0, 0);
    const before = gru.forward(long, { keyMask });
    long.data.fill(Number.NaN, 9);
    expect(gru.forward(long, { keyMask }).last.map(list)).toEqual(before.last.map(list));
  });

  it("gradients of the encoder and decoder, with both scores", () => {
    for (const score of ["additive", "general"] as const) {
      const model = new history.RecurrentEncoderDecoder({
        sourceWords: 5, targetWords: 4, embedDim: 2, hidden: 3, score, dtype,
      }); // biome-ignore format: one list
      const source = ids([2, 3], 0, 4, 2, 1, 1, 3);
      const target = ids([2, 2], 0, 3, 0, 1);
      const keyMask = bool([2, 3], 1, 1, 1, 1, 1, 0);
      check(model, {}, () => model.forward(source, target, { keyMask }).logits, 5);
    }
  });

  it("word by word gives the same result as all words in one call, with weights", () => {
    const model = new history.RecurrentEncoderDecoder({ sourceWords: 5, targetWords: 4, dtype });
    const source = ids([1, 3], 0, 4, 2);
    const { logits, weights } = model.forward(source, ids([1, 2], 0, 3), { returnWeights: true });
    expect([logits.shape, weights!.shape]).toEqual([
      [1, 2, 4],
      [1, 2, 3],
    ]);
    let { memory, state } = model.read(source);
    for (const [n, word] of [0, 3].entries()) {
      const written = model.write([word], state, memory, { returnWeights: true });
      expect(list(written.logits)).toEqual(list(logits).slice(4 * n, 4 * n + 4));
      expect(list(written.weights!)).toEqual(list(weights!).slice(3 * n, 3 * n + 3));
      state = written.state;
    }
  });
});

describe("attention by features", () => {
  const [q, k, v] = [make(2, 2, 5, 4), make(2, 2, 5, 4), make(2, 2, 5, 3)];
  const keyMask = bool([2, 1, 5], 1, 0, 1, 1, 0, 1, 1, 1, 1, 1);
  const kinds = {
    linearAttention: history.linearAttention,
    performerAttention: (a: Tensor, b: Tensor, c: Tensor, options: history.LinearAttentionOptions = {}) =>
      history.performerAttention(a, b, c, {
        ...options,
        features: history.orthogonalFeatures(6, 4, 1, dtype),
      }),
  };
  for (const [name, attend] of Object.entries(kinds)) {
    it(`${name}: gradients, causal or not, with keys masked`, () => {
      for (const options of [{}, { isCausal: true }, { keyMask }, { isCausal: true, keyMask }])
        gradcheck({ q, k, v }, () => attend(q, k, v, options).output, { limit: 20 });
      const few = make(2, 2, 3, 4);
      gradcheck({ few, k, v }, () => attend(few, k, v).output, { limit: 20 });
    });

    it(`${name}: the output is the weights times the values, over several chunks too`, () => {
      const N = 150;
      const [a, b, c] = [make(1, N, 4), make(1, N, 4), make(1, N, 3)];
      for (const isCausal of [false, true]) {
        const { output, weights } = attend(a, b, c, { isCausal, returnWeights: true });
        const want = list(nn.matmul(weights!, c));
        for (const [n, y] of list(output).entries()) expect(Math.abs(y - want[n])).toBeLessThan(1e-12);
        if (isCausal) expect(weights!.at(0, 3, 4)).toBe(0);
      }
      gradcheck({ a, b, c }, () => attend(a, b, c, { isCausal: true }).output, { limit: 9 });
    });

    it(`${name}: masked keys are not read, and a fully masked row returns zeros and no gradient`, () => {
      const [bad, worse] = [make(2, 2, 5, 4), make(2, 2, 5, 3)];
      bad.data.fill(Number.NaN, 40);
      worse.data.fill(Number.NaN, 30);
      const none = bool([2, 1, 5], 1, 1, 1, 1, 1, 0, 0, 0, 0, 0);
      for (const isCausal of [false, true]) {
        const { outputs, gradients } = gradientsOf(
          { q, bad, worse },
          () => [attend(q, bad, worse, { keyMask: none, isCausal }).output],
          (t) => t,
        );
        expect(list(outputs[0]).slice(30)).toEqual(new Array(30).fill(0));
        for (const gradient of Object.values(gradients)) {
          const numbers = list(gradient!);
          expect(numbers.slice(numbers.length / 2).every((x) => x === 0)).toBe(true);
          expect(numbers.every(Number.isFinite)).toBe(true);
        }
      }
    });
  }

  it("Performer approaches softmax attention as 1/√features, and large numbers do not overflow", () => {
    const N = 32;
    const r = normals(17);
    // Queries and keys of size 1/2: the error grows fast with theirs.
    const [a, b, c] = [nn.scale(r(1, N, 8), 0.5), nn.scale(r(1, N, 8), 0.5), r(1, N, 4)];
    const exact = list(nn.attention(a, b, c).output);
    const error = (m: number) => {
      let sum = 0;
      for (let seed = 0; seed < 8; seed++) {
        const features = history.orthogonalFeatures(m, 8, seed, dtype);
        const got = list(history.performerAttention(a, b, c, { features }).output);
        sum += got.reduce((s, y, n) => s + (y - exact[n]) ** 2, 0);
      }
      return Math.sqrt(sum / (8 * exact.length));
    };
    const [few, many] = [error(16), error(1024)];
    expect(many).toBeLessThan(0.02);
    // √64 = 8 times nearer, give or take.
    expect(few / many).toBeGreaterThan(4);
    const loud = nn.scale(a, 100);
    expect(list(history.performerAttention(loud, loud, c).output).every(Number.isFinite)).toBe(true);
  });

  it("features are orthogonal in blocks, and repeat with the seed", () => {
    const f = history.orthogonalFeatures(10, 4, 3, dtype);
    const gram = nn.matmul(f, f, { transposeB: true });
    for (let i = 0; i < 10; i++)
      for (let j = 0; j < i; j++)
        if (Math.floor(i / 4) === Math.floor(j / 4)) expect(Math.abs(gram.at(i, j))).toBeLessThan(1e-6);
    expect(list(history.orthogonalFeatures(10, 4, 3, dtype))).toEqual(list(f));
    expect(list(history.orthogonalFeatures(10, 4, 4, dtype))).not.toEqual(list(f));
  });

  it("layers: gradients of all projections, names, and a keyMask for all heads", () => {
    const x = make(2, 4, 6);
    const mask = bool([2, 4], 1, 1, 0, 1, 1, 1, 1, 1);
    for (const layer of [
      new history.LinearAttention(6, 2, { dtype }),
      new history.PerformerAttention(6, 2, { dtype, features: 5, bias: false }),
    ]) {
      check(layer, { x }, () => layer.forward(x).output, 8);
      check(layer, { x }, () => layer.forward(x, x, x, { isCausal: true, keyMask: mask }).output, 8);
      expect(layer.forward(x, x, x, { returnWeights: true }).weights!.shape).toEqual([2, 2, 4, 4]);
      expect([...layer.parameters().keys()].filter((name) => name.endsWith("weight"))).toEqual(
        ["q", "k", "v", "out"].map((name) => `${name}_proj.weight`),
      );
    }
  });
});

describe("errors", () => {
  const [q, k] = [make(2, 3, 4), make(2, 5, 4)];
  it("are typed and name the value passed", () => {
    expect(() => new history.LuongAttention(3, 4, { score: "dot" })).toThrow(
      /"dot" needs dq = dk, got 3 and 4/,
    );
    expect(() => new history.LuongAttention(3, 3, { score: "add" as never })).toThrow(OptionError);
    expect(() => new history.RecurrentEncoderDecoder({ sourceWords: 3, targetWords: 0 })).toThrow(
      /targetWords must be/,
    );
    expect(() => new history.GRU(3, 2, { dtype }).forward(make(3, 3))).toThrow(/expected \[B, N, inputs\]/);
    expect(() => history.linearAttention(q, k, k, { isCausal: true })).toThrow(
      /as many queries as keys; got true for 3/,
    );
    expect(() => history.linearAttention(q, make(2, 5, 3), k)).toThrow(ShapeError);
    expect(() => history.linearAttention(q, k, k, { keyMask: make(2, 5) })).toThrow(/keyMask must be bool/);
    expect(() => history.linearAttention(q, k, k, { keyMask: bool([3], 1, 1, 1) })).toThrow(
      /must broadcast to \[2, 5\]/,
    );
    expect(() => history.performerAttention(q, k, k, { features: make(3, 5) })).toThrow(
      /expected features \[m, dk\]/,
    );
    expect(() => history.additiveScores(q, make(2, 5, 3), make(4))).toThrow(/r must be \[2, 5, 4\]/);
    expect(() => new history.LinearAttention(6, 4)).toThrow(/4 heads do not divide embedDim 6/);
  });
});
