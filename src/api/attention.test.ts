/** The public functions of attention: shapes, dtypes, layouts, options, weights, plans, and rejected input. */
import { afterAll, describe, expect, it } from "vitest";
import {
  alibi,
  attentionWeights,
  blockSparse,
  causal,
  configure,
  DTypeError,
  documents,
  explain,
  HeedError,
  keyLengths,
  maskMod,
  OptionError,
  relativeBias,
  ShapeError,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
  type TensorLike,
  tensor,
  UnsupportedError,
  zeros,
} from "../index.ts";

/** Seeded random numbers. */
function some(seed: number, shape: readonly number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, n) => Math.sin(seed * 100 + n * n * 0.7 + n)),
    shape,
  );
}

const sdpa = scaledDotProductAttention;
const before = configure();
afterAll(() => configure(before));

/** Same numbers under other axes. */
function expectNumbers(got: Tensor, want: Tensor, tolerance = 2e-6) {
  const [a, b] = [got.toFloat64(), want.toFloat64()];
  expect(a.length).toBe(b.length);
  a.forEach((x, i) => {
    if (!(Math.abs(x - b[i]) <= tolerance || Object.is(x, b[i])))
      expect.fail(`element ${i}: ${x}, expected ${b[i]}`);
  });
}

describe("shapes", () => {
  const q = some(1, [2, 3, 4, 5, 8]);
  const k = some(2, [2, 3, 4, 7, 8]);
  const v = some(3, [2, 3, 4, 7, 6]);

  it("rank 5: leading axes, then heads; output [..., H, Nq, dv], lse [..., H, Nq], weights [..., H, Nq, Nk]", () => {
    const { output, lse, weights } = sdpa(q, k, v, { returnWeights: true });
    expect([output.shape, lse.shape, weights?.shape]).toEqual([
      [2, 3, 4, 5, 6],
      [2, 3, 4, 5],
      [2, 3, 4, 5, 7],
    ]);
  });
  it("ranks 3 and 2 give the same results as one entry or head of rank 4", () => {
    const full = sdpa(q, k, v).output;
    const at = (t: Tensor, from: number, rank: number) => {
      const shape = t.shape.slice(5 - rank);
      return new Tensor(t.data, shape, "float32", undefined, from * shape.reduce((a, b) => a * b, 1));
    };
    for (const rank of [4, 3, 2]) {
      const index = { 4: 1, 3: 5, 2: 23 }[rank] as number;
      const { output, lse } = sdpa(at(q, index, rank), at(k, index, rank), at(v, index, rank));
      expect(output.shape).toEqual([2, 3, 4, 5, 6].slice(5 - rank));
      expect(lse.shape).toEqual(output.shape.slice(0, -1));
      expectNumbers(output, at(full, index, rank));
    }
  });
  it("leading axes of length 1, and missing ones, broadcast", () => {
    const shared = sdpa(q, some(4, [1, 3, 4, 7, 8]), some(5, [4, 7, 6]).reshape([1, 1, 4, 7, 6]));
    expect(shared.output.shape).toEqual([2, 3, 4, 5, 6]);
    const wide = (t: Tensor) =>
      new Tensor(t.data, [2, ...t.shape.slice(1)], "float32", [0, ...t.strides.slice(1)]);
    const single = sdpa(
      q,
      wide(some(4, [1, 3, 4, 7, 8])),
      new Tensor(some(5, [4, 7, 6]).data, [2, 3, 4, 7, 6], "float32", [0, 0, 42, 6, 1]),
    );
    expectNumbers(shared.output, single.output, 0);
    expect(sdpa(q, some(4, [3, 4, 7, 8]), some(5, [3, 4, 7, 6])).output.shape).toEqual([2, 3, 4, 5, 6]);
    expect(sdpa(some(1, [5, 8]), some(2, [3, 7, 8]), some(3, [3, 7, 6])).output.shape).toEqual([3, 5, 6]);
  });
  it("grouped and multi-query heads: query head h reads key head ⌊h·Hkv/Hq⌋", () => {
    const [q6, k2, v2] = [some(1, [1, 6, 5, 8]), some(2, [1, 2, 7, 8]), some(3, [1, 2, 7, 4])];
    const { output } = sdpa(q6, k2, v2);
    for (let h = 0; h < 6; h++) {
      const one = (t: Tensor, head: number) =>
        new Tensor(t.data, [t.shape[2], t.shape[3]], "float32", undefined, head * t.shape[2] * t.shape[3]);
      expectNumbers(
        one(output, h),
        sdpa(one(q6, h), one(k2, Math.floor(h / 3)), one(v2, Math.floor(h / 3))).output,
      );
    }
    expect(sdpa(q6, some(2, [1, 1, 7, 8]), some(3, [1, 1, 7, 4])).output.shape).toEqual([1, 6, 5, 4]);
  });
  it("empty sizes: no queries, no keys, no batch, no heads, head size 0, value size 0", () => {
    const shapes: [number[], number[], number[]][] = [
      [
        [2, 3, 0, 8],
        [2, 3, 7, 8],
        [2, 3, 7, 4],
      ],
      [
        [0, 3, 5, 8],
        [0, 3, 7, 8],
        [0, 3, 7, 4],
      ],
      [
        [2, 0, 5, 8],
        [2, 0, 7, 8],
        [2, 0, 7, 4],
      ],
      [
        [2, 3, 5, 8],
        [2, 3, 7, 8],
        [2, 3, 7, 0],
      ],
    ];
    for (const [a, b, c] of shapes) {
      const { output, lse, weights } = sdpa(zeros(a), zeros(b), zeros(c), { returnWeights: true });
      expect([output.shape, lse.shape]).toEqual([[...a.slice(0, -1), c[3]], a.slice(0, -1)]);
      expect(weights?.shape).toEqual([...a.slice(0, -1), 7]);
    }
    const none = sdpa(some(1, [2, 5, 8]), zeros([2, 0, 8]), zeros([2, 0, 4]), { returnWeights: true });
    expect([...none.output.data]).toEqual(new Array(40).fill(0));
    expect([...none.lse.data]).toEqual(new Array(10).fill(-Infinity));
    expect(none.weights?.shape).toEqual([2, 5, 0]);
    const flat = sdpa(zeros([3, 0]), zeros([4, 0]), some(1, [4, 2]));
    expectNumbers(
      rowsOf(flat.output, 1),
      tensor(
        [0, 1].map((e) =>
          [0, 1, 2, 3].reduce((a, j) => a + (some(1, [4, 2]).data[2 * j + e] as number) / 4, 0),
        ),
        [1, 2],
      ),
    );
    expect(flat.lse.data[0]).toBeCloseTo(Math.log(4), 6);
  });
  it("layout bshd is bhsd with two axes exchanged; lse and weights stay [..., H, N]", () => {
    const [a, b, c] = [some(1, [2, 4, 5, 8]), some(2, [2, 2, 7, 8]), some(3, [2, 2, 7, 6])];
    const want = sdpa(a, b, c, { returnWeights: true, isCausal: "lower-right" });
    const turned = [a, b, c].map((t) => t.transpose(1, 2).contiguous());
    const got = sdpa(turned[0], turned[1], turned[2], {
      layout: "bshd",
      returnWeights: true,
      isCausal: "lower-right",
    });
    expect(got.output.shape).toEqual([2, 5, 4, 6]);
    expect(got.output.isContiguous()).toBe(true);
    expectNumbers(got.output.transpose(1, 2), want.output, 0);
    expectNumbers(got.lse, want.lse, 0);
    expectNumbers(got.weights as Tensor, want.weights as Tensor, 0);
    expect(
      sdpa(some(1, [5, 4, 8]), some(2, [7, 4, 8]), some(3, [7, 4, 8]), { layout: "bshd" }).output.shape,
    ).toEqual([5, 4, 8]);
  });
});

function rowsOf(t: Tensor, count: number): Tensor {
  return new Tensor(t.data, [count, t.shape[t.shape.length - 1]], t.dtype);
}

describe("tensors of other libraries", () => {
  const want = sdpa(some(1, [3, 4]), some(2, [5, 4]), some(3, [5, 4]));
  it("plain objects with shape or dims, dtype or type, strides or stride, are read without a copy", () => {
    const like = (seed: number, rows: number): TensorLike[] => {
      const { data } = some(seed, [rows, 4]);
      return [
        { data, shape: [rows, 4] },
        { data, dims: [rows, 4], type: "float32" },
        { data, shape: [rows, 4], dtype: "<f4" },
        { data, shape: [rows, 4], stride: [4, 1], offset: 0 },
        { data: Array.from(data as Float32Array), shape: [rows, 4] },
      ];
    };
    const [q, k, v] = [like(1, 3), like(2, 5), like(3, 5)];
    q.forEach((_, n) => {
      expectNumbers(sdpa(q[n], k[n], v[n]).output, want.output, 0);
    });
  });
  it("inputs are not written to", () => {
    const [q, k, v] = [some(1, [3, 4]), some(2, [5, 4]), some(3, [5, 4])];
    sdpa(q, k, v, { returnWeights: true });
    [q, k, v].forEach((t, n) => {
      expect(t.data).toEqual(some(n + 1, t.shape as number[]).data);
    });
  });
});

describe("dtypes", () => {
  const bfloat = (t: Tensor) =>
    new Tensor(
      Uint16Array.from(t.data as Float32Array, (x) => new Uint32Array(Float32Array.of(x).buffer)[0] >>> 16),
      t.shape,
      "bfloat16",
    );
  const widened = (t: Tensor) => tensor(Float32Array.from(t.toFloat64()), t.shape);
  const [q, k, v] = [some(1, [2, 3, 9, 8]), some(2, [2, 3, 11, 8]), some(3, [2, 3, 11, 5])];

  it("float64 inputs give float64 results, with more digits than float32", () => {
    const wide = (t: Tensor) => tensor(t.toFloat64(), t.shape);
    const { output, lse, weights } = sdpa(wide(q), wide(k), wide(v), { returnWeights: true });
    expect([output.dtype, lse.dtype, weights?.dtype]).toEqual(["float64", "float64", "float64"]);
    let sum = 0;
    for (let j = 0; j < 11; j++) sum += weights?.at(0, 0, 0, j) as number;
    expect(Math.abs(sum - 1)).toBeLessThan(1e-15);
    expectNumbers(output, sdpa(q, k, v).output, 1e-6);
  });
  it("bfloat16 is widened exactly, computed in float32, rounded once; lse stays float32", () => {
    const [a, b, c] = [q, k, v].map(bfloat);
    const { output, lse } = sdpa(a, b, c);
    const want = sdpa(widened(a), widened(b), widened(c));
    expect([output.dtype, output.data.constructor.name, lse.dtype]).toEqual([
      "bfloat16",
      "Uint16Array",
      "float32",
    ]);
    expectNumbers(lse, want.lse, 1e-6);
    output.toFloat64().forEach((x, i) => {
      const exact = want.output.data[i] as number;
      expect(Math.abs(x - exact)).toBeLessThanOrEqual(Math.abs(exact) * 2 ** -8);
    });
  });
  it("float16 bits, and a native Float16Array where there is one", () => {
    const ones = new Uint16Array(4).fill(0x3c00);
    const { output } = sdpa(
      tensor(ones, [2, 2], "float16"),
      tensor(ones, [2, 2], "float16"),
      tensor(Uint16Array.of(0x3c00, 0x4000, 0x4200, 0x4400), [2, 2], "float16"),
    );
    expect([...(output.data as Uint16Array)]).toEqual([0x4000, 0x4200, 0x4000, 0x4200]);
    const Float16 = (globalThis as unknown as { Float16Array?: new (list: number[]) => Float32Array })
      .Float16Array;
    if (!Float16) return;
    const native = tensor(new Float16([1, 2, 3, 4]) as never, [2, 2]);
    const got = sdpa(native, native, native);
    expect([got.output.dtype, got.output.data.constructor.name]).toEqual(["float16", "Float16Array"]);
  });
  it("float32 queries read bfloat16 and float16 keys and values", () => {
    const [b, c] = [k, v].map(bfloat);
    const { output } = sdpa(q, b, c);
    expect(output.dtype).toBe("float32");
    expectNumbers(output, sdpa(q, widened(b), widened(c)).output, 2e-6);
    expectNumbers(sdpa(q, b, v).output, sdpa(q, widened(b), v).output, 2e-6);
  });
});

describe("options", () => {
  const [q, k, v] = [some(1, [2, 4, 6, 8]), some(2, [2, 4, 9, 8]), some(3, [2, 4, 9, 5])];
  it("isCausal true with a queryOffset, per batch entry, is the mask at that position", () => {
    const got = sdpa(q, k, v, { isCausal: true, queryOffset: [0, 3] });
    const masks = [0, 3].flatMap((offset) =>
      Array.from({ length: 54 }, (_, n) => n % 9 <= Math.floor(n / 9) + offset),
    );
    expectNumbers(got.output, sdpa(q, k, v, { attnMask: tensor(masks, [2, 1, 6, 9]) }).output);
  });
  it("lower-right aligns the last query with the last key", () => {
    expectNumbers(
      sdpa(q, k, v, { isCausal: "lower-right" }).output,
      sdpa(q, k, v, { isCausal: true, queryOffset: 3 }).output,
      0,
    );
  });
  it("mask tensors broadcast right-aligned, from a scalar to the full shape", () => {
    const shapes = [
      [],
      [9],
      [1],
      [6, 9],
      [6, 1],
      [1, 9],
      [4, 6, 9],
      [4, 1, 1],
      [1, 6, 9],
      [2, 4, 6, 9],
      [2, 1, 1, 9],
      [1, 4, 6, 1],
    ];
    for (const shape of shapes) {
      const size = shape.reduce((a, b) => a * b, 1);
      const flags = Array.from({ length: size }, (_, n) => (n * 7) % 5 !== 0);
      const full = zeros([2, 4, 6, 9], "bool");
      const floats = zeros([2, 4, 6, 9]);
      let n = 0;
      for (let b = 0; b < 2; b++) for (let h = 0; h < 4; h++) for (let i = 0; i < 6; i++) for (let j = 0; j < 9; j++, n++) {
        let at = 0;
        [b, h, i, j].slice(4 - shape.length).forEach((x, axis) => {
          at = at * shape[axis] + (shape[axis] === 1 ? 0 : x);
        });
        full.data[n] = flags[at] ? 1 : 0;
        floats.data[n] = Math.fround(at / 7);
      } // biome-ignore format: four axes
      expectNumbers(
        sdpa(q, k, v, { attnMask: tensor(flags, shape) }).output,
        sdpa(q, k, v, { attnMask: full }).output,
      );
      const bias = tensor(
        Float32Array.from({ length: size }, (_, m) => m / 7),
        shape,
      );
      expectNumbers(sdpa(q, k, v, { attnMask: bias }).output, sdpa(q, k, v, { attnMask: floats }).output);
    }
  });
  it("a list of masks intersects, and its float tensors add", () => {
    const flags = tensor(
      Array.from({ length: 54 }, (_, n) => n % 4 !== 0),
      [6, 9],
    );
    const [x, y] = [some(7, [6, 9]), some(8, [4, 1, 9])];
    const sum = zeros([4, 6, 9]);
    for (let n = 0; n < 216; n++) {
      const [h, i, j] = [Math.floor(n / 54), Math.floor(n / 9) % 6, n % 9];
      sum.data[n] = j <= i && (i * 9 + j) % 4 !== 0 ? x.at(i, j) + y.at(h, 0, j) : -Infinity;
    }
    expectNumbers(
      sdpa(q, k, v, { attnMask: [flags, x, causal(), y] }).output,
      sdpa(q, k, v, { attnMask: sum }).output,
    );
  });
  it("scores change in the order scale, scoreMod, mask: the mask is not capped", () => {
    const bias = some(9, [6, 9]);
    const { output } = sdpa(q, k, v, {
      scale: 0.5,
      scoreMod: [softcap(2), alibi([1, 0.5, 0, 2])],
      attnMask: bias,
    });
    const scores = (b: number, h: number, i: number, j: number) => {
      let dot = 0;
      for (let d = 0; d < 8; d++) dot += q.at(b, h, i, d) * k.at(b, h, j, d);
      return 2 * Math.tanh((dot * 0.5) / 2) - [1, 0.5, 0, 2][h] * Math.abs(i - j) + bias.at(i, j);
    };
    const s = Array.from({ length: 9 }, (_, j) => scores(1, 3, 4, j));
    const l = s.reduce((a, x) => a + Math.exp(x), 0);
    expect(output.at(1, 3, 4, 2)).toBeCloseTo(
      s.reduce((a, x, j) => a + (Math.exp(x) / l) * v.at(1, 3, j, 2), 0),
      5,
    );
  });
  it("lists that are empty, and masks that are always true, change nothing", () => {
    const want = sdpa(q, k, v);
    for (const options of [
      { attnMask: [] },
      { scoreMod: [] },
      { attnMask: slidingWindow(-1, -1) },
      { attnMask: undefined },
    ])
      expectNumbers(sdpa(q, k, v, options).output, want.output, 0);
  });
  it("returnWeights of a few heads and rows, negative numbers from the end", () => {
    const all = sdpa(q, k, v, { returnWeights: true }).weights as Tensor;
    const few = sdpa(q, k, v, { returnWeights: { rows: [-1, 2] } }).weights as Tensor;
    expect(few.shape).toEqual([2, 4, 2, 9]);
    expect(few.at(1, 3, 0, 4)).toBe(all.at(1, 3, 5, 4));
    expect(few.at(0, 1, 1, 8)).toBe(all.at(0, 1, 2, 8));
    expect((sdpa(q, k, v, { returnWeights: { heads: [] } }).weights as Tensor).shape).toEqual([2, 0, 6, 9]);
    expect(sdpa(q, k, v, { returnWeights: false }).weights).toBeUndefined();
  });
});

describe("attentionWeights", () => {
  const [q, k, v] = [some(1, [2, 4, 6, 8]), some(2, [2, 2, 9, 8]), some(3, [2, 2, 9, 5])];
  it("rebuilds rows from lse, also for a merged lse: weights over all keys", () => {
    const half = (t: Tensor, from: number, to: number) =>
      new Tensor(t.data, [2, 2, to - from, t.shape[3]], "float32", t.strides, from * t.strides[2]);
    const full = sdpa(q, k, v, { returnWeights: true });
    const part = attentionWeights(q, half(k, 5, 9), full.lse, { queryOffset: -5, checkSums: false });
    for (let j = 0; j < 4; j++)
      expect(part.at(1, 3, 2, j)).toBeCloseTo(full.weights?.at(1, 3, 2, 5 + j) as number, 6);
  });
  it("refuses an lse of another shape or dtype", () => {
    expect(() => attentionWeights(q, k, zeros([2, 4, 5]))).toThrow(
      /lse must be \[2, 4, 6\] float32, got lse \[2, 4, 5\] float32/,
    );
    expect(() => attentionWeights(q, k, zeros([2, 4, 6], "float64"))).toThrow(ShapeError);
  });
});

describe("explain", () => {
  it("prints a plan, and lists its parts as fields", () => {
    const t = some(1, [2, 4, 64, 16]);
    const plan = explain(t, t, t, { isCausal: true });
    expect(["wasm", "reference"]).toContain(plan.backend);
    const text = String(plan);
    for (const word of ["backend", "kernel", "threads", "tasks", "splits", "memory"])
      expect(text).toContain(word);
    expect(plan.threads).toBeGreaterThanOrEqual(1);
    expect(plan.bytes).toBeGreaterThanOrEqual(0);
    expect(JSON.parse(JSON.stringify(plan)).kernel).toBe(plan.kernel);
  });
  it("names the reference backend, and the reason that a float64 call runs on it", () => {
    configure({ backend: "reference" });
    const t = some(1, [4, 8]);
    expect(explain(t, t, t).backend).toBe("reference");
    configure({ backend: before.backend });
    const wide = tensor(t.toFloat64(), [4, 8]);
    expect(explain(wide, wide, wide).backend).toBe("reference");
  });
});

describe("weights from lse", () => {
  it("are rebuilt where only the values have a batch axis", () => {
    const [q, k, v] = [some(1, [1, 2, 7, 8]), some(2, [1, 2, 9, 8]), some(3, [3, 2, 9, 4])];
    const { lse, weights } = sdpa(q, k, v, { isCausal: "upper-left", returnWeights: true });
    const again = attentionWeights(q, k, lse, { isCausal: "upper-left" });
    expect(again.shape).toEqual([3, 2, 7, 9]);
    expect(again.data).toEqual(weights?.data);
    expect(() => attentionWeights(q, k, zeros([3, 2, 6]))).toThrow(
      /lse must be \[1, 2, 7\] float32, got lse \[3, 2, 6\]/,
    );
  });
});

describe("one query", () => {
  it("uses the mask of its own head, although the heads of a group are decoded together", () => {
    const [q, k, v] = [some(1, [1, 4, 1, 16]), some(2, [1, 1, 200, 16]), some(3, [1, 1, 200, 16])];
    // Head h attends to 50 keys from 50·h on: no two heads share a key.
    const options = { attnMask: maskMod(({ h, k: at }) => at.floorDiv(50).eq(h)) };
    const together = sdpa(q, k, v, options).output.toFloat64();
    for (let h = 0; h < 4; h++) {
      const part = (t: Tensor) =>
        tensor((t.data as Float32Array).slice(50 * h * 16, 50 * (h + 1) * 16), [1, 1, 50, 16]);
      const headQuery = tensor((q.data as Float32Array).slice(16 * h, 16 * (h + 1)), [1, 1, 1, 16]);
      const alone = sdpa(headQuery, part(k), part(v)).output.toFloat64();
      alone.forEach((x, e) => expect(Math.abs(together[16 * h + e] - x)).toBeLessThan(1e-6));
    }
  });
});

describe("rejected input has an error class, a code, and a message that names the argument, the value passed and the value expected:", () => {
  const q = zeros([2, 4, 6, 8]);
  const k = zeros([2, 4, 9, 8]);
  const v = zeros([2, 4, 9, 5]);
  const call =
    (options: object, a: unknown = q, b: unknown = k, c: unknown = v) =>
    () =>
      sdpa(a as Tensor, b as Tensor, c as Tensor, options);
  const cases: [string, typeof HeedError, string, RegExp, () => unknown][] = [
    ["no tensor", ShapeError, "tensor", /query: expected a tensor \{ data, shape \} or nested arrays, got undefined; a name/, () => sdpa(undefined as never, k, v)],
    ["null", ShapeError, "tensor", /query: expected a tensor .* got null/, call({}, null)],
    ["a number", ShapeError, "tensor", /key: expected a tensor .* got 5/, call({}, q, 5)],
    ["a bare array", ShapeError, "tensor", /value: expected a tensor/, call({}, q, k, new Float32Array(4))],
    ["a shape of −1", ShapeError, "shape", /query: every axis must be an integer ≥ 0, got \[2, -1\]/, call({}, { data: new Float32Array(2), shape: [2, -1] })],
    ["a shape beyond the data", ShapeError, "extent", /query: \[2, 4\] needs 8 numbers, the array has 6/, call({}, { data: new Float32Array(6), shape: [2, 4] })],
    ["strides beyond the data", ShapeError, "extent", /reads elements 0 to 20, the array has 8/, call({}, { data: new Float32Array(8), shape: [2, 1], strides: [20, 1] })],
    ["a size beyond 2^53", ShapeError, "size", /more than 2\^53 elements/, call({}, { data: new Float32Array(1), shape: [2 ** 30, 2 ** 30], strides: [0, 0] })],
    ["data behind a function", UnsupportedError, "lazy-tensor", /query: its data is a function; pass/, call({}, { data: () => q.data, shape: [1] })],
    ["an unknown dtype", DTypeError, "dtype", /query: unknown dtype "int4"/, call({}, { data: new Float32Array(4), shape: [2, 2], dtype: "int4" })],
    ["16 bits without a dtype", DTypeError, "dtype", /Uint16Array .*does not say its dtype/, call({}, { data: new Uint16Array(4), shape: [2, 2] })],
    ["a dtype its array cannot hold", DTypeError, "dtype-array", /query: dtype float64 is stored in Float64Array, got Float32Array of 4/, call({}, { data: new Float32Array(4), shape: [2, 2], dtype: "float64" })],
    ["integers", DTypeError, "dtype", /attention computes with float32, float64, float16 and bfloat16, got query .* int32/, call({}, zeros([2, 4, 6, 8], "int32"))],
    ["float64 with float32", DTypeError, "dtype-mixed", /float64 does not mix .* key \[2, 4, 9, 8\] float64/, call({}, q, zeros([2, 4, 9, 8], "float64"))],
    ["rank 1", ShapeError, "rank", /query has 1 axis, expected \[\.\.\., N, d\]/, call({}, zeros([8]))],
    ["rank 2 in bshd", ShapeError, "rank", /expected \[\.\.\., N, H, d\]/, call({ layout: "bshd" }, zeros([6, 8]), zeros([9, 8]), zeros([9, 8]))],
    ["other head sizes", ShapeError, "head-size", /same head size dk, got 8 and 7; query \[2, 4, 6, 8\] float32, key \[2, 4, 9, 7\]/, call({}, q, zeros([2, 4, 9, 7]))],
    ["other key lengths", ShapeError, "key-length", /same length Nk, got 9 and 8/, call({}, q, k, zeros([2, 4, 8, 5]))],
    ["other value heads", ShapeError, "value-heads", /same heads, got 4 and 2/, call({}, q, k, zeros([2, 2, 9, 5]))],
    ["heads that do not divide", ShapeError, "heads", /3 key heads do not divide 4 query heads/, call({}, q, zeros([2, 3, 9, 8]), zeros([2, 3, 9, 5]))],
    ["batches that do not broadcast", ShapeError, "batch", /leading axes 2, 3, 3 do not broadcast/, call({}, q, zeros([3, 4, 9, 8]), zeros([3, 4, 9, 5]))],
    ["a misspelt option", OptionError, "option-name", /unknown option "iscausal"; did you mean isCausal\? The options are attnMask, isCausal/, call({ iscausal: true })],
    ["options that are none", OptionError, "options", /options must be an object, got \[true\]/, call([true])],
    ["an unknown layout", OptionError, "layout", /layout must be "bhsd" or "bshd", got "sbhd"/, call({ layout: "sbhd" })],
    ["isCausal true, Nq ≠ Nk", OptionError, "causal-alignment", /6 queries and 9 keys; say isCausal: "upper-left" .* or "lower-right"/, call({ isCausal: true })],
    ["lower-right with another queryOffset", OptionError, "causal-alignment", /isCausal: "lower-right" puts query 0 at key 3, queryOffset at 1; with queryOffset say isCausal: true/, call({ isCausal: "lower-right", queryOffset: [3, 1] })],
    ["isCausal misspelt", OptionError, "causal", /isCausal must be true, false, "upper-left" or "lower-right", got "left"/, call({ isCausal: "left" })],
    ["a queryOffset of another length", ShapeError, "query-offset", /one for each of 2 batch entries, got \[1, 2, 3\]/, call({ queryOffset: [1, 2, 3] })],
    ["a fractional queryOffset", OptionError, "query-offset", /queryOffset must be integers .* got 0.5/, call({ queryOffset: 0.5 })],
    ["scale NaN", OptionError, "scale", /scale must be a finite number, got NaN/, call({ scale: Number.NaN })],
    ["scale as text", OptionError, "scale", /scale must be a finite number, got "0.5"/, call({ scale: "0.5" })],
    ["dropoutP 1", OptionError, "dropout", /dropoutP must be in \[0, 1\), got 1/, call({ dropoutP: 1 })],
    ["a fractional seed", OptionError, "seed", /seed must be an integer .* got 1.5/, call({ seed: 1.5 })],
    ["a mask of another shape", ShapeError, "mask-shape", /attnMask must broadcast, right-aligned, to \[2, 4, 6, 9\], got attnMask \[6, 8\] bool/, call({ attnMask: zeros([6, 8], "bool") })],
    ["a mask of more axes", ShapeError, "mask-shape", /attnMask must broadcast/, call({ attnMask: zeros([1, 2, 4, 6, 9]) })],
    ["an integer mask", DTypeError, "mask-dtype", /attnMask must be bool or float32, got attnMask \[6, 9\] int32/, call({ attnMask: zeros([6, 9], "int32") })],
    ["a float64 mask", DTypeError, "mask-dtype", /got attnMask \[6, 9\] float64/, call({ attnMask: zeros([6, 9], "float64") })],
    ["a mask that is none", ShapeError, "tensor", /attnMask: expected a tensor .* got true/, call({ attnMask: true })],
    ["a function as scoreMod", OptionError, "score-mod", /scoreMod takes what softcap\(c\), alibi\(slopes\)/, call({ scoreMod: () => 1 })],
    ["sinks of another length", ShapeError, "sinks", /sinks must be \[Hq = 4\], got \[1, 2\]/, call({ sinks: [1, 2] })],
    ["sinks of two axes", ShapeError, "sinks", /got sinks \[2, 2\] float32/, call({ sinks: zeros([2, 2]) })],
    ["weights of no such row", OptionError, "selection", /rows holds 6, expected integers from 0 to 5/, call({ returnWeights: { rows: [6] } })],
    ["weights of no such head", OptionError, "selection", /heads holds 0.5/, call({ returnWeights: { heads: [0.5] } })],
    ["returnWeights of a misspelt name", OptionError, "weights", /returnWeights takes heads and rows, got "row"/, call({ returnWeights: { row: [1] } })],
    ["rows that are one number", OptionError, "selection", /rows must be a list of integers, got 3/, call({ returnWeights: { rows: 3 } })],
    ["sinks that are one number", ShapeError, "tensor", /sinks: expected a tensor \{ data, shape \} or nested arrays, got 1/, call({ sinks: 1 })],
    ["sinks as texts", DTypeError, "sinks", /sinks must hold numbers, got \["a", "b", "c", "d"\]/, call({ sinks: ["a", "b", "c", "d"] })],
    ["a scale beyond float32", OptionError, "scale", /scale must fit float32, in which float32 is computed, got 1e\+300/, call({ scale: 1e300 })],
    ["a mask's function that was not called", OptionError, "mask", /attnMask takes what causal\(…\) returns, got the function itself; call it: attnMask: causal\(\)$/, call({ attnMask: causal })],
    ["returnWeights as text", OptionError, "weights", /returnWeights must be true, false or \{ heads\?, rows\? \}, got "all"/, call({ returnWeights: "all" })],
    ["documents shorter than the keys", ShapeError, "table-length", /documents has 7 entries on axis 0, but k \(key position\) runs from 0 to 8/, call({ attnMask: documents(new Array(7).fill(0)) })],
    ["lengths for fewer batch entries", ShapeError, "table-length", /keyLengths has 1 entries on axis 0, but b \(batch entry\) runs from 0 to 1/, call({ attnMask: keyLengths([3]) })],
    ["slopes for fewer heads", ShapeError, "table-length", /alibi slopes has 3 entries on axis 0, but h \(query head\) runs from 0 to 3/, call({ scoreMod: alibi([1, 2, 3]) })],
    ["a bias table of fewer heads", ShapeError, "table-length", /relativeBias has 2 entries on axis 1/, call({ scoreMod: relativeBias(zeros([8, 2])) })],
    ["blocks that end before the keys", ShapeError, "table-length", /blockSparse has 2 entries on axis 1/, call({ attnMask: blockSparse([[1, 1], [1, 1]], 4) })],
    ["weights too many to hold", OptionError, "weights-size", /ask for a few rows with returnWeights/, call({ returnWeights: true }, new Tensor(new Float32Array(1), [2 ** 17, 1], "float32", [0, 0]), new Tensor(new Float32Array(1), [2 ** 17, 1], "float32", [0, 0]), new Tensor(new Float32Array(1), [2 ** 17, 0], "float32", [0, 0]))],
  ]; // biome-ignore format: a row a mistake
  for (const [name, kind, code, text, run] of cases)
    it(name, () => {
      try {
        run();
      } catch (error) {
        expect(error).toBeInstanceOf(HeedError);
        expect([(error as Error).constructor.name, (error as HeedError).code]).toEqual([kind.name, code]);
        expect((error as Error).message).toMatch(text);
        expect((error as Error).message).toMatch(/^scaledDotProductAttention: /);
        expect((error as Error).name).toBe(kind.name);
        return;
      }
      expect.fail("nothing was refused");
    });
});
