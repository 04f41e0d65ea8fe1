/**
 * Positions of queries and keys: a call over a shard of a sequence, with its offsets or lists of positions, computes the
 * same as the full call at these positions, with every mask and score mod and with dropout, forward and backward, on every level.
 */
import {
  type AttentionOptions,
  alibi,
  alibiSlopes,
  and,
  attentionBackward,
  attentionWeights,
  blockSparse,
  cast,
  causal,
  dilated,
  documents,
  explain,
  globalTokens,
  keyLengths,
  maskMod,
  mergeStates,
  OptionError,
  or,
  prefixLm,
  relativeBias,
  ShapeError,
  scaledDotProductAttention,
  scoreMod,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import { afterEach, describe, expect, it } from "vitest";
import { has, LEVELS, restore, use } from "../support/backends/levels.ts";
import { random } from "../support/cases/random.ts";

afterEach(restore);

const [B, Hq, Hkv, D] = [2, 4, 2, 8];
type Precision = "float32" | "float64";

function normal(shape: number[], seed: number, dtype: Precision): Tensor {
  const { normal } = random(seed);
  const numbers = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => normal());
  const data = dtype === "float64" ? numbers : Float32Array.from(numbers);
  return new Tensor(data, shape, dtype);
}

/** Rows `places` of axis −2. */
function rows(t: Tensor, places: readonly number[]): Tensor {
  const [D, N] = [t.shape[t.shape.length - 1], t.shape[t.shape.length - 2]];
  const source = t.contiguous().data as Float64Array;
  const heads = t.size / (N * D);
  const data = new (source.constructor as Float64ArrayConstructor)(heads * places.length * D);
  for (let h = 0; h < heads; h++)
    places.forEach((place, n) => {
      data.set(source.subarray((h * N + place) * D, (h * N + place + 1) * D), (h * places.length + n) * D);
    });
  return new Tensor(data, [...t.shape.slice(0, -2), places.length, D], t.dtype);
}

/** Values [..., N] of chosen rows. */
const values = (t: Tensor, places: readonly number[]): Tensor => {
  const wide = rows(t.contiguous().reshape([...t.shape, 1]), places);
  return wide.reshape([...t.shape.slice(0, -1), places.length]);
};

function close(got: Tensor, want: Tensor, tolerance: number, what: string): void {
  expect(got.shape, what).toEqual(want.shape);
  const [a, b] = [got.toFloat64(), want.toFloat64()];
  const size = b.reduce((m, x) => Math.max(m, Number.isFinite(x) ? Math.abs(x) : 0), 1e-30);
  for (let n = 0; n < b.length; n++)
    if (a[n] !== b[n] && !(Math.abs(a[n] - b[n]) <= tolerance * size))
      expect.fail(`${what}: ${a[n]} instead of ${b[n]} at ${n}`);
}

const sum = (a: Tensor, b: Tensor): Tensor => {
  const [x, y] = [a.toFloat64(), b.toFloat64()];
  return new Tensor(
    x.map((v, n) => v + y[n]),
    a.shape,
    "float64",
  );
};

/** Options of a call over N positions. */
const CASES: Record<string, (N: number, dtype: Precision) => AttentionOptions> = {
  "no mask": () => ({}),
  causal: () => ({ isCausal: true }),
  "sliding window": () => ({ attnMask: slidingWindow(9, 3) }),
  "dilated window": () => ({ attnMask: and(slidingWindow(20, 20), dilated(3)) }),
  documents: (N) => ({
    attnMask: and(causal(), documents(Int32Array.from({ length: N }, (_, n) => Math.floor(n / 17)))),
  }),
  "documents of each batch entry": (N) => ({
    attnMask: documents(
      new Tensor(
        Int32Array.from({ length: B * N }, (_, n) => Math.floor((n % N) / (n < N ? 17 : 30))),
        [B, N],
        "int32",
      ),
    ),
  }),
  "prefix, one for each batch entry": () => ({ attnMask: prefixLm([5, 20]) }),
  "global tokens": () => ({ attnMask: or(slidingWindow(4, 4), globalTokens([0, 13, 40])) }),
  "key lengths": (N) => ({ attnMask: keyLengths([N - 7, 11]) }),
  "block sparse": (N) => ({
    attnMask: blockSparse(
      Array.from({ length: Math.ceil(N / 16) }, (_, i) =>
        Array.from({ length: Math.ceil(N / 16) }, (_, j) => (i * 3 + j) % 2 === 0),
      ),
      16,
    ),
  }),
  "a custom mask": () => ({ attnMask: maskMod(({ q, k, h }) => q.add(k).add(h).mod(3).ne(0)) }),
  ALiBi: (_, dtype) => ({
    isCausal: true,
    scoreMod: alibi(dtype === "float64" ? Float64Array.from(alibiSlopes(Hq)) : alibiSlopes(Hq)),
  }),
  "relative bias": (_, dtype) => ({
    scoreMod: relativeBias(normal([8, Hq], 5, dtype), { maxDistance: 20, bidirectional: true }),
  }),
  "soft cap and a custom score mod": () => ({
    scoreMod: [softcap(3), scoreMod(({ score, q, k }) => score.add(q.sub(k).abs().mul(-0.05)))],
  }),
  dropout: () => ({ isCausal: true, dropoutP: 0.3, seed: 11 }),
  "dropout without a mask": () => ({ dropoutP: 0.5, seed: 12 }),
};

/** Two shards with gaps, as in a zigzag, and one without. */
const cut = (N: number): number[][] => {
  const edges = [0, 0.2, 0.55, 0.7, 1].map((x) => Math.round(x * N));
  const range = (n: number) => Array.from({ length: edges[n + 1] - edges[n] }, (_, i) => edges[n] + i);
  return [[...range(0), ...range(3)], range(1), range(2)];
};

for (const level of LEVELS)
  describe.skipIf(!has(level))(`positions, level ${level}`, () => {
    const dtype: Precision = level === "reference" ? "float64" : "float32";
    const tolerance = level === "reference" ? 1e-13 : 3e-6;
    // One length takes the forward kernel, with rows and keys that cross tiles; 3 queries take the decode kernel.
    const N = level === "reference" ? 61 : 157;

    for (const [name, optionsOf] of Object.entries(CASES))
      it(`${name}: states of shards merge to the whole, gradients of shards add up to the gradient of the whole`, () => {
        use(level, 1);
        const options = optionsOf(N, dtype);
        const [q, k, v] = [
          normal([B, Hq, N, D], 1, dtype),
          normal([B, Hkv, N, D], 2, dtype),
          normal([B, Hkv, N, D], 3, dtype),
        ];
        const dOut = normal([B, Hq, N, D], 4, dtype);
        const full = scaledDotProductAttention(q, k, v, options);
        const gradients = attentionBackward(dOut, q, k, v, full, options);
        const shards = cut(N);
        const [few] = [[1, N - 20, N - 1]];
        for (const mine of [...shards, few]) {
          const states = shards.map((theirs) =>
            scaledDotProductAttention(rows(q, mine), rows(k, theirs), rows(v, theirs), {
              ...options,
              queryPositions: mine,
              keyPositions: theirs,
            }),
          );
          const merged = mergeStates(states);
          close(merged.output, rows(full.output, mine), tolerance, "output");
          close(merged.lse, values(full.lse, mine), tolerance, "lse");
        }
        let [dQuery, dTable]: (Tensor | undefined)[] = [];
        for (const theirs of shards) {
          const part = attentionBackward(dOut, q, rows(k, theirs), rows(v, theirs), full, {
            ...options,
            keyPositions: theirs,
            checkSums: false,
          });
          close(part.dKey, rows(gradients.dKey, theirs), 4 * tolerance, "dKey");
          close(part.dValue, rows(gradients.dValue, theirs), 4 * tolerance, "dValue");
          dQuery = dQuery ? sum(dQuery, part.dQuery) : part.dQuery;
          const table = part.dTables?.[0];
          if (table) dTable = dTable ? sum(dTable, table) : table;
        }
        close(dQuery as Tensor, gradients.dQuery, 4 * tolerance, "dQuery");
        if (dTable) close(dTable, gradients.dTables?.[0] as Tensor, 16 * tolerance, "dTable");
      });

    it("keyOffset moves the keys as queryOffset moves the queries, one for each batch entry", () => {
      use(level, 1);
      const [q, k, v] = [1, 2, 3].map((seed) => normal([B, Hkv, 40, D], seed, dtype));
      const options = { isCausal: true, scoreMod: alibi(alibiSlopes(Hkv)), dropoutP: 0.2, seed: 3 };
      const at = (b: number) => ({
        ...options,
        queryOffset: [7, 30][b],
        keyOffset: [3, 25][b],
      });
      const both = scaledDotProductAttention(q, k, v, {
        ...options,
        queryOffset: [7, 30],
        keyOffset: [3, 25],
      });
      const lists = {
        ...options,
        queryPositions: Array.from({ length: 40 }, (_, n) => 7 + n),
        keyPositions: Array.from({ length: 40 }, (_, n) => 3 + n),
      };
      const listed = scaledDotProductAttention(q, k, v, lists);
      const plain = scaledDotProductAttention(q, k, v, at(0));
      // Lists without gaps are offsets: the same bits.
      expect(listed.output.data).toEqual(plain.output.data);
      const half = both.output.size / B;
      expect(both.output.toFloat64().slice(0, half)).toEqual(plain.output.toFloat64().slice(0, half));
      if (level !== "reference") return;
      const causalBy = (b: number, i: number, j: number) => [3, 25][b] + j <= [7, 30][b] + i;
      const mask = Uint8Array.from({ length: B * 40 * 40 }, (_, n) =>
        causalBy(Math.floor(n / 1600), Math.floor((n % 1600) / 40), n % 40) ? 1 : 0,
      );
      const want = scaledDotProductAttention(q, k, v, { attnMask: new Tensor(mask, [B, 1, 40, 40], "bool") });
      const got = scaledDotProductAttention(q, k, v, {
        isCausal: true,
        queryOffset: [7, 30],
        keyOffset: [3, 25],
      });
      close(got.output, want.output, tolerance, "output");
    });

    it("the gradient of a sink counts rows that see no key of a shard, and is that of the whole for every shard", () => {
      use(level, 1);
      // Queries below half see only keys of the upper half, the others only keys of the lower half; nothing sees the last two keys.
      const [n, half] = [100, 50];
      const options = {
        attnMask: maskMod(({ q, k }) =>
          or(and(q.lt(half), k.ge(half), k.lt(n - 2)), and(q.ge(half), k.lt(half))),
        ),
        sinks: [0.5, -1, 0, 2],
      };
      for (const stored of level === "reference" ? [dtype] : (["float32", "float16", "bfloat16"] as const))
        for (const layout of ["bhsd", "bshd"] as const) {
          const [q, k, v, dOut] = [Hq, Hkv, Hkv, Hq].map((H, seed) => {
            const t = normal([B, H, n, D], seed + 1, dtype);
            return stored === dtype ? t : cast(t, stored);
          });
          const turned = (t: Tensor) => (layout === "bshd" ? t.transpose(1, 2) : t);
          const state = scaledDotProductAttention(turned(q), turned(k), turned(v), { ...options, layout });
          const gradient = (places: readonly number[]) => {
            const [keys, values] = [k, v].map((t) => turned(rows(t, places)));
            const shard = { ...options, layout, keyPositions: places, checkSums: false };
            return attentionBackward(turned(dOut), turned(q), keys, values, state, shard).dSinks as Tensor;
          };
          const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
          const want = gradient(range(0, n));
          // δ of a row is a sum over the keys of its state, so every shard has the sinks' gradient of all rows.
          for (const places of [range(0, half), range(half, n), [0], [n - 3], [n - 2, n - 1], []])
            close(
              gradient(places),
              want,
              stored === dtype ? 3e-6 : 1e-2,
              `${places.length} keys, ${stored}, ${layout}`,
            );
        }
    });

    it("weights of a shard are those of the whole", () => {
      use(level, 1);
      const [q, k] = [normal([Hkv, N, D], 1, dtype), normal([Hkv, N, D], 2, dtype)];
      const options = { attnMask: slidingWindow(12, 2), dropoutP: 0.25, seed: 2 };
      const { lse, weights } = scaledDotProductAttention(q, k, k, { ...options, returnWeights: true });
      const [mine] = cut(N);
      const got = attentionWeights(rows(q, mine), k, values(lse, mine), { ...options, queryPositions: mine });
      close(got, rows(weights as Tensor, mine), 4 * tolerance, "weights");
    });
  });

describe("positions", () => {
  it("the tile classifier skips tiles that are masked for a shard", () => {
    const N = 4096;
    const q = new Tensor(new Float32Array(1024 * 8), [1024, 8], "float32");
    const k = new Tensor(new Float32Array(N * 8), [N, 8], "float32");
    const zigzag = Array.from({ length: 1024 }, (_, n) => (n < 512 ? n : N - 1024 + n));
    const { tiles } = explain(q, k, k, { isCausal: true, queryPositions: zigzag });
    const all = (tiles?.skipped ?? 0) + (tiles?.full ?? 0) + (tiles?.partial ?? 0);
    // Rows 0–511 see 1/16 of the keys on average, the last 512 see 15/16: half of all together, less the tiles on the
    // diagonal and the one block of rows that holds both ends.
    expect((tiles?.skipped ?? 0) / all).toBeGreaterThan(0.44);
    expect((tiles?.partial ?? 0) / all).toBeLessThan(0.1);
  });

  it("positions that contradict each other or do not fit are errors before any work", () => {
    const q = normal([3, 4], 1, "float32");
    const call = (options: AttentionOptions) => () => scaledDotProductAttention(q, q, q, options);
    expect(call({ queryPositions: [0, 1] })).toThrow(ShapeError);
    expect(call({ queryPositions: [0, 2, 2] })).toThrow(
      /increasing integers below 2\^30, got 2 after 2 at index 2/,
    );
    expect(call({ keyPositions: [0, 1.5, 2] })).toThrow(OptionError);
    expect(call({ keyPositions: [0, 1, 2 ** 30] })).toThrow(OptionError);
    expect(call({ keyPositions: [0, 1, 3], keyOffset: 2 })).toThrow(/keyPositions and keyOffset/);
    expect(call({ queryPositions: [0, 1, 3], queryOffset: 2 })).toThrow(/queryPositions and queryOffset/);
    expect(call({ keyOffset: [1, 2] })).toThrow(/one for each of 1 batch entries/);
    expect(call({ keyOffset: 0.5 })).toThrow(OptionError);
    expect(call({ isCausal: "lower-right", keyPositions: [0, 1, 3] })).toThrow(/say isCausal: true/);
    expect(call({ attnMask: documents([0, 0, 1]), keyPositions: [0, 2, 3] })).toThrow(
      /documents has 3 entries on axis 0, but k \(key position\) runs from 0 to 3/,
    );
  });

  it("isCausal aligns by positions: lower-right and upper-left follow keyOffset", () => {
    const [q, k] = [normal([3, 4], 1, "float64"), normal([5, 4], 2, "float64")];
    for (const isCausal of ["lower-right", "upper-left"] as const)
      expect(scaledDotProductAttention(q, k, k, { isCausal, keyOffset: 100 }).output.data).toEqual(
        scaledDotProductAttention(q, k, k, { isCausal }).output.data,
      );
    expect(
      scaledDotProductAttention(q, k, k, { isCausal: true, keyOffset: 2, queryOffset: 4 }).output.data,
    ).toEqual(scaledDotProductAttention(q, k, k, { isCausal: "lower-right" }).output.data);
  });
});
