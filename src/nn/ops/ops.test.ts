/** Operations: values against their definitions, gradients against central differences, and what they refuse. */
import { DTypeError, OptionError, ShapeError, tensor } from "heed";
import * as nn from "heed/nn";
import { describe, expect, it } from "vitest";
import { normals } from "../../../tests/support/cases/tensors.ts";
import { gradcheck, gradientsOf } from "../../../tests/support/oracles/gradcheck.ts";

const list = (t: { toFloat64(): Float64Array }) => [...t.toFloat64()];

describe("gradients agree with central differences", () => {
  const make = normals(1);
  const x = make(2, 3, 4);
  const weight = make(5, 4);
  const bias = make(5);

  it("linear, with and without bias, of strided inputs too", () => {
    gradcheck({ x, weight, bias }, () => nn.linear(x, weight, bias));
    gradcheck({ x, weight }, () => nn.linear(x, weight));
    const narrow = make(5, 2);
    gradcheck({ x, narrow }, () => nn.linear(nn.transpose(x, 0, 2), narrow));
    const vector = make(4);
    gradcheck({ vector, weight, bias }, () => nn.linear(vector, weight, bias));
  });

  it("matmul: each transposition, equal leading axes, and one operand without any", () => {
    for (const transposeA of [false, true])
      for (const transposeB of [false, true])
        for (const [la, lb] of [
          [[2], [2]],
          [[], []],
          [[2], []],
          [[], [2]],
          [
            [2, 3],
            [2, 3],
          ],
        ] as const) {
          const a = make(...la, ...(transposeA ? [4, 3] : [3, 4]));
          const b = make(...lb, ...(transposeB ? [5, 4] : [4, 5]));
          const y = nn.matmul(a, b, { transposeA, transposeB });
          expect(y.shape).toEqual([...(la.length ? la : lb), 3, 5]);
          gradcheck({ a, b }, () => nn.matmul(a, b, { transposeA, transposeB }), { limit: 12 });
        }
  });

  it("add, sub and multiply, broadcast in every way", () => {
    for (const op of [nn.add, nn.sub, nn.multiply])
      for (const [p, q] of [
        [
          [2, 3, 4],
          [2, 3, 4],
        ],
        [[2, 3, 4], [4]],
        [[4], [2, 3, 4]],
        [
          [2, 1, 4],
          [3, 1],
        ],
        [[2, 3, 4], []],
        [
          [1, 1],
          [2, 3],
        ],
        [
          [2, 3, 4],
          [1, 3, 4],
        ],
        [
          [2, 1, 4],
          [2, 3, 1],
        ],
      ]) {
        const [a, b] = [make(...p), make(...q)];
        gradcheck({ a, b }, () => op(a, b));
        const c = make(...[...p].reverse());
        gradcheck({ c }, () => op(nn.transpose(c, 0, c.shape.length - 1), b), {
          limit: p.length > 1 ? 20 : 0,
        });
      }
    gradcheck({ x }, () => nn.multiply(x, x));
    gradcheck({ x }, () => nn.scale(x, -1.5));
  });

  it("sum and mean over an axis, with the axis kept, and over all", () => {
    for (const op of [nn.sum, nn.mean]) {
      for (const axis of [undefined, 0, 1, 2, -1])
        for (const keepAxis of [false, true]) gradcheck({ x }, () => op(x, axis, { keepAxis }));
    }
  });

  it("activations", () => {
    for (const name of ["relu", "gelu", "gelu-tanh", "silu", "sigmoid", "tanh", "elu1"] as const)
      gradcheck({ x }, () => nn.activate(x, name));
    const far = tensor(Float64Array.of(-40, -6.5, -3, -1.2, -0.9, -0.3, 0.3, 0.9, 1.2, 3, 6.5, 40), [12]);
    for (const approximate of ["none", "tanh"] as const)
      gradcheck({ far }, () => nn.gelu(far, { approximate }), { tolerance: 1e-6 });
  });

  it("layer norm, RMS norm and softmax, with and without weights", () => {
    const [w, b] = [make(4), make(4)];
    gradcheck({ x, w, b }, () => nn.layerNorm(x, w, b));
    gradcheck({ x, b }, () => nn.layerNorm(x, undefined, b, { eps: 0.5 }));
    gradcheck({ x }, () => nn.layerNorm(x));
    gradcheck({ x, w }, () => nn.rmsNorm(x, w));
    gradcheck({ x }, () => nn.rmsNorm(x, undefined, { eps: 0.1 }));
    gradcheck({ x }, () => nn.softmax(x));
  });

  it("shapes: reshape, transpose, slice, split, concat, heads", () => {
    gradcheck({ x }, () => nn.reshape(nn.transpose(x, 0, 1), [6, -1]));
    gradcheck({ x }, () => nn.transpose(x));
    gradcheck({ x }, () => nn.slice(x, 1, 1));
    gradcheck({ x }, () => nn.slice(x, -1, -3, -1));
    gradcheck({ x }, () => nn.split(x, [1, 0, 3]));
    gradcheck({ x }, () => nn.split(x, [1, 2], 1)[1]);
    const y = make(2, 2, 4);
    gradcheck({ x, y }, () => nn.concat([x, y, x], 1));
    gradcheck({ x }, () => nn.splitHeads(x, 2));
    gradcheck({ x }, () => nn.mergeHeads(nn.splitHeads(x, 4)));
    gradcheck({ x }, () => nn.mergeHeads(x));
  });

  it("the gradient of an embedding row that was read twice is a sum", () => {
    const table = make(6, 3);
    gradcheck({ table }, () => nn.embedding([4, 0, 4, 1], table));
    const ids = tensor(Int32Array.of(5, 5, 2, 0), [2, 2]);
    expect(nn.embedding(ids, table).shape).toEqual([2, 2, 3]);
    gradcheck({ table }, () => nn.embedding(ids, table));
  });

  it("dropout drops the same elements in the backward pass", () => {
    gradcheck({ x }, () => nn.dropout(x, 0.4, { seed: 3 }));
  });

  it("rope in both layouts, of part of the head, from an offset, on either axis", () => {
    const heads = make(2, 3, 2, 8);
    for (const layout of ["half", "interleaved"] as const)
      for (const axis of [-2, -3])
        gradcheck({ heads }, () => nn.rope(heads, { layout, axis, offset: 5, rotaryDim: 6, base: 100 }));
    gradcheck({ heads }, () => nn.rope(heads, { frequencies: [1, 0.3, 0.2, 0.1] }));
  });
});

describe("values", () => {
  it("gelu is x·Φ(x), to the last digits on both sides", () => {
    // From the definition, by an independent erf (Python's math.erf and math.erfc).
    const x = Float64Array.of(-6, -2, -0.5, 0, 0.7, 1.5, 3);
    const want = [
      -5.919525870226207e-9, -0.04550026389635844, -0.15426876936299344, 0, 0.5306254434438489, 1.399789198096713,
      2.99595030590511,
    ]; // biome-ignore format: a list
    for (const [n, y] of list(nn.gelu(tensor(x, [7]))).entries())
      expect(Math.abs(y - want[n])).toBeLessThanOrEqual(1e-14 * Math.abs(want[n]));
  });

  it("gelu of ∞ is ∞, and the tanh form stays within 5e-4 of the exact one", () => {
    const x = tensor(
      Float64Array.from({ length: 1001 }, (_, n) => (n - 500) / 100),
      [1001],
    );
    const [exact, close] = [nn.gelu(x), nn.gelu(x, { approximate: "tanh" })].map(list);
    expect(Math.max(...exact.map((y, n) => Math.abs(y - close[n])))).toBeLessThan(5e-4);
    expect(list(nn.gelu(tensor([Infinity], [1], "float64")))).toEqual([Infinity]);
  });

  it("a softmax row of −∞ is zeros, and so is its gradient", () => {
    const x = tensor(Float64Array.of(-Infinity, -Infinity, 0, -Infinity, 1e4, 1e4), [3, 2]);
    expect(list(nn.softmax(x))).toEqual([0, 0, 1, 0, 0.5, 0.5]);
    const steps: nn.Operation[] = [];
    const y = nn.withRecorder(
      (step) => steps.push(step),
      () => nn.softmax(x),
    );
    const ones = tensor(new Float64Array(6).fill(3), y.shape);
    expect(list(steps[0].backward([ones])[0]!)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("float32 operations are the float64 operations, rounded", () => {
    const [wide, short] = [normals(5), normals(5, "float32")];
    const [a, b] = [wide(3, 8), short(3, 8)];
    const near = (x: nn.FloatTensor, y: nn.FloatTensor) => {
      expect(y.dtype).toBe("float32");
      for (const [n, v] of list(x).entries())
        expect(Math.abs(v - list(y)[n])).toBeLessThan(1e-6 * (1 + Math.abs(v)));
    };
    for (const f of [nn.gelu, nn.silu, nn.layerNorm, nn.rmsNorm, nn.softmax, nn.tanh] as ((
      x: nn.FloatTensor,
    ) => nn.FloatTensor)[])
      near(f(a), f(b));
    near(nn.matmul(a, a, { transposeB: true }), nn.matmul(b, b, { transposeB: true }));
    near(nn.rope(a, { offset: 1000 }), nn.rope(b, { offset: 1000 }));
  });

  it("tensors large enough for the engine have the values and gradients of the float64 loops", () => {
    const run = (dtype: nn.Precision) => {
      const make = normals(6, dtype);
      const [x, w, b, d] = [make(50, 37), make(37), make(37), make(50, 37)];
      const works: (() => nn.FloatTensor)[] = [
        () => nn.layerNorm(x, w, b),
        () => nn.layerNorm(x),
        () => nn.rmsNorm(x, w),
        ...(["relu", "gelu", "gelu-tanh", "silu", "sigmoid", "tanh", "elu1"] as const).map(
          (name) => () => nn.activate(x, name),
        ),
      ];
      return works.map((work) => {
        const { outputs, gradients } = gradientsOf(
          { x, w, b },
          () => [work()],
          () => d,
        );
        return [outputs[0], gradients.x!, gradients.w, gradients.b].map((t) => (t ? list(t) : []));
      });
    };
    const want = run("float64");
    for (const [n, results] of run("float32").entries())
      for (const [m, numbers] of results.entries()) {
        expect(numbers.length).toBe(want[n][m].length);
        for (const [i, v] of numbers.entries())
          expect(Math.abs(v - want[n][m][i])).toBeLessThan(3e-6 * (1 + Math.abs(want[n][m][i])));
      }
  });

  it("splitHeads and slices of a projection are views; mergeHeads of a result in layout bshd is one too", () => {
    const x = normals(3)(2, 5, 12);
    const [q, k] = nn.split(x, [4, 8]);
    expect([q.data, k.data, nn.splitHeads(k, 2).data]).toEqual([x.data, x.data, x.data]);
    expect(nn.splitHeads(k, 2).data).toBe(x.data);
    const across = normals(4)(2, 5, 3, 4);
    expect(nn.mergeHeads(nn.transpose(across, 1, 2)).data).toBe(across.data);
    expect(list(nn.mergeHeads(nn.splitHeads(x, 3)))).toEqual(list(x));
  });

  it("rope with a list of positions rotates each row by its position", () => {
    const full = normals(7)(2, 12, 8);
    const places = [1, 2, 7, 11];
    const rows = (x: { toFloat64(): Float64Array }) =>
      tensor(
        Float64Array.from(
          { length: 2 * 4 * 8 },
          (_, n) => x.toFloat64()[(Math.floor(n / 32) * 12 + places[Math.floor(n / 8) % 4]) * 8 + (n % 8)],
        ),
        [2, 4, 8],
      );
    const shard = rows(full);
    expect(list(nn.rope(shard, { positions: places, base: 100 }))).toEqual(
      list(rows(nn.rope(full, { base: 100 }))),
    );
    expect(list(new nn.Rope({ base: 100 }).forward(shard, places))).toEqual(
      list(rows(nn.rope(full, { base: 100 }))),
    );
    gradcheck({ shard }, () => nn.rope(shard, { positions: places, base: 100 }));
    expect(() => nn.rope(shard, { positions: [1, 2] })).toThrow(/a list of 4 numbers/);
    expect(() => nn.rope(shard, { positions: [1, 2, 3, Number.NaN] })).toThrow(OptionError);
    expect(() => nn.rope(shard, { positions: places, offset: 1 })).toThrow(/positions and offset/);
  });

  it("rope of [B, N, H, D] along axis −3 turns each head as [B, H, N, D] does", () => {
    const heads = normals(9)(2, 5, 3, 4);
    const turned = nn.rope(nn.permute(heads, [0, 2, 1, 3]), { offset: 3, base: 100 });
    expect(list(nn.rope(heads, { axis: -3, offset: 3, base: 100 }))).toEqual(
      list(nn.permute(turned, [0, 2, 1, 3])),
    );
  });

  it("rope rotates pairs: q·k depends only on the distance between their positions", () => {
    const make = normals(8);
    const [q, k] = [make(8), make(8)];
    for (const layout of ["half", "interleaved"] as const) {
      const at = (x: nn.FloatTensor, offset: number) =>
        list(nn.rope(nn.reshape(x, [1, 8]), { layout, offset }));
      const dot = (m: number, n: number) => at(q, m).reduce((sum, v, i) => sum + v * at(k, n)[i], 0);
      expect(dot(107, 104)).toBeCloseTo(dot(3, 0), 10);
      expect(at(q, 0)).toEqual(list(q));
    }
    // Position 1: the first pair turns by 1, the last of four by 10000^(−3/4) = 1e-3.
    const x = tensor(Float64Array.of(1, 0, 0, 1, 0, 0, 0, 0), [1, 8]);
    const half = list(nn.rope(x, { offset: 1 }));
    expect([half[0], half[4], half[3], half[7]]).toEqual([
      Math.cos(1),
      Math.sin(1),
      Math.cos(1e-3),
      Math.sin(1e-3),
    ]);
    const inter = list(nn.rope(x, { offset: 1, layout: "interleaved" }));
    expect([inter[0], inter[1], inter[2], inter[3]]).toEqual([
      Math.cos(1),
      Math.sin(1),
      -Math.sin(0.1),
      Math.cos(0.1),
    ]);
  });

  it("sinusoidal positions are sines in even columns and cosines in odd ones", () => {
    const p = nn.sinusoidalPositions(50, 6, { dtype: "float64", offset: 3 });
    expect(p.at(4, 0)).toBe(Math.sin(7));
    expect(p.at(4, 1)).toBe(Math.cos(7));
    expect(p.at(4, 4)).toBeCloseTo(Math.sin(7 / 10000 ** (4 / 6)), 14);
  });

  it("dropout keeps 1 − p of the numbers and their sum, by seed", () => {
    const ones = tensor(new Float64Array(100_000).fill(1), [100_000]);
    const y = list(nn.dropout(ones, 0.3, { seed: 5 }));
    const share = y.filter((v) => v !== 0).length / y.length;
    expect(Math.abs(share - 0.7)).toBeLessThan(0.01);
    expect(new Set(y)).toEqual(new Set([0, 1 / 0.7]));
    expect(list(nn.dropout(ones, 0.3, { seed: 5 }))).toEqual(y);
    expect(list(nn.dropout(ones, 0.3, { seed: 6 }))).not.toEqual(y);
    expect(nn.dropout(ones, 0)).toBe(ones);
  });

  it("seeds inside withDropout differ from call to call, and repeat with the seed", () => {
    const seeds = (seed?: number) => nn.withDropout(seed, () => [1, 2, 3].map(() => nn.dropoutSeed()));
    expect(new Set(seeds(1)).size).toBe(3);
    expect(seeds(1)).toEqual(seeds(1));
    expect(seeds(1)).not.toEqual(seeds(2));
    expect(seeds(undefined)).toEqual([undefined, undefined, undefined]);
    expect(nn.dropoutSeed()).toBeUndefined();
  });
});

describe("withRecorder", () => {
  it("calls the innermost recorder, or none", () => {
    const [outer, inner]: string[][] = [[], []];
    const x = normals(1)(2, 2);
    nn.withRecorder(
      (s) => outer.push(s.name),
      () => {
        nn.relu(x);
        nn.withRecorder(
          (s) => inner.push(s.name),
          () => nn.tanh(x),
        );
        nn.withRecorder(undefined, () => expect([nn.silu(x).size, nn.isRecording()]).toEqual([4, false]));
        nn.scale(x, 2);
      },
    );
    expect([outer, inner, nn.isRecording()]).toEqual([["relu", "scale"], ["tanh"], false]);
    expect(() =>
      nn.withRecorder(
        () => {},
        () => nn.reshape(x, [3]),
      ),
    ).toThrow(ShapeError);
    expect(nn.isRecording()).toBe(false);
  });

  it("an operation skips gradients that are not wanted", () => {
    const [x, w] = [normals(1)(2, 4), normals(2)(3, 4)];
    const steps: nn.Operation[] = [];
    const y = nn.withRecorder(
      (s) => steps.push(s),
      () => nn.linear(x, w),
    );
    const [dx, dw] = steps[0].backward([y], [false, true]);
    expect([dx, dw?.shape]).toEqual([undefined, [3, 4]]);
  });
});

describe("errors are typed and name the value passed", () => {
  const make = normals(9);
  const x = make(2, 3, 4);
  const cases: [new (...a: never[]) => Error, RegExp, () => unknown][] = [
    [DTypeError, /relu: computes in float32 and float64, got x \[2\] float16/, () => nn.relu(tensor(new Uint16Array(2), [2], "float16"))],
    [DTypeError, /add: all tensors must have one dtype; the first is float64, got y \[1\] float32/, () => nn.add(x, tensor([1], [1]))],
    [ShapeError, /add: shapes do not broadcast.*x \[2, 3, 4\] float64, y \[5\] float64/, () => nn.add(x, make(5))],
    [ShapeError, /linear: weight must be \[out, in\].*weight \[4, 5\]/, () => nn.linear(x, make(4, 5))],
    [ShapeError, /linear: bias must be \[5\], got bias \[4\]/, () => nn.linear(x, make(5, 4), make(4))],
    [ShapeError, /a has 4 columns and b 5 rows/, () => nn.matmul(x, make(5, 2))],
    [ShapeError, /split: sizes \[1, 2\] do not make up axis -1 of length 4/, () => nn.split(x, [1, 2])],
    [ShapeError, /slice: from 3 to 9 of axis 1 of length 3/, () => nn.slice(x, 1, 3, 9)],
    [ShapeError, /transpose: axis 3 of a tensor of 3 axes/, () => nn.transpose(x, 3)],
    [ShapeError, /concat: all axes but 0 must agree/, () => nn.concat([x, make(2, 3, 5)], 0)],
    [OptionError, /concat: expected a list of one or more tensors/, () => nn.concat([])],
    [ShapeError, /splitHeads: 3 heads do not divide/, () => nn.splitHeads(x, 3)],
    [ShapeError, /mergeHeads: expected \[..., heads, N, D\]/, () => nn.mergeHeads(make(2, 2))],
    [ShapeError, /layerNorm: weight must be \[4\]/, () => nn.layerNorm(x, make(3))],
    [OptionError, /layerNorm: eps must be a number ≥ 0, got -1/, () => nn.layerNorm(x, undefined, undefined, { eps: -1 })],
    [OptionError, /embedding: id 7 at position 1; the table has rows 0 to 5/, () => nn.embedding([0, 7], make(6, 2))],
    [DTypeError, /embedding: ids must be int32, int64 or uint8/, () => nn.embedding(x, make(6, 2))],
    [ShapeError, /embedding: the table must be \[V, D\]/, () => nn.embedding([0], x)],
    [OptionError, /gelu: approximate must be "none" or "tanh", got "erf"/, () => nn.gelu(x, { approximate: "erf" as never })],
    [OptionError, /activation must be one of relu, .*got "swish"/, () => nn.activate(x, "swish" as never)],
    [OptionError, /dropout: p must be in \[0, 1\), got 1/, () => nn.dropout(x, 1)],
    [OptionError, /seed must be an integer/, () => nn.dropout(x, 0.5, { seed: 0.5 })],
    [ShapeError, /rope: rotaryDim must be even and at most the last axis, got 6/, () => nn.rope(x, { rotaryDim: 6 })],
    [OptionError, /rope: layout must be "half" or "interleaved", got "neox"/, () => nn.rope(x, { layout: "neox" as never })],
    [ShapeError, /frequencies must be one for each of 2 pairs/, () => nn.rope(x, { frequencies: [1] })],
    [ShapeError, /an even C numbers, got 4 and 5/, () => nn.sinusoidalPositions(4, 5)],
    [OptionError, /scale: factor must be a number, got NaN/, () => nn.scale(x, Number.NaN)],
  ]; // biome-ignore format: one row a case
  for (const [kind, message, call] of cases)
    it(String(message), () => {
      expect(call).toThrow(kind);
      expect(call).toThrow(message);
    });
});
