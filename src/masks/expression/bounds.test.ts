/** Interval bounds against every cell: a tile classified as empty or full is so. */
import { describe, expect, it } from "vitest";
import { tensor } from "../../core/create/construct.ts";
import {
  alibi,
  and,
  blockSparse,
  causal,
  dilated,
  documents,
  globalTokens,
  keyLengths,
  longformer,
  maskMod,
  not,
  or,
  prefixLm,
  queryLengths,
  relativeBias,
  scoreMod,
  slidingWindow,
  softcap,
  table,
} from "../index.ts";
import { type Box, compileBounds, compileTileClassifier } from "./bounds.ts";
import { type BoolExpression, type Expression, type NumberExpression, VARS } from "./expr.ts";
import { compile } from "./js.ts";

/** A small seeded generator (mulberry32). */
function random(seed: number) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    int: (low: number, high: number) => low + Math.floor(next() * (high - low + 1)),
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)],
  };
}
type Random = ReturnType<typeof random>;

const N = 96;
const HEADS = 3;

function randomBox(r: Random): Box {
  const range = (n: number, limit: number): [number, number] => {
    const from = r.int(0, n - 1);
    return [from, Math.min(n - 1, from + r.int(0, limit))];
  };
  const [b0, b1] = range(2, 1);
  const [h0, h1] = range(HEADS, 2);
  const [i0, i1] = range(N, r.pick([0, 3, 15]));
  const [k0, k1] = range(N, r.pick([0, 3, 31]));
  const offset0 = r.pick([0, 0, 7, -40]);
  return { b0, b1, h0, h1, i0, i1, k0, k1, offset0, offset1: offset0 + r.pick([0, 0, 5]) };
}

/** Calls `visit` for every cell of a box, offsets included. */
function cells(box: Box, visit: (cell: Parameters<ReturnType<typeof compile>>[0]) => void) {
  for (let offset = box.offset0; offset <= box.offset1; offset++)
    for (let b = box.b0; b <= box.b1; b++)
      for (let h = box.h0; h <= box.h1; h++)
        for (let i = box.i0; i <= box.i1; i++)
          for (let k = box.k0; k <= box.k1; k++) visit({ b, h, i, q: i + offset, k, score: 0 });
}

/** The number of boxes of each class, after checking each class against every cell of `count` boxes. */
function checkMask(mask: BoolExpression, count: number, seed: number) {
  const classOf = compileTileClassifier(mask);
  const at = compile(mask);
  const r = random(seed);
  const counts = { skip: 0, full: 0, partial: 0 };
  for (let n = 0; n < count; n++) {
    const box = randomBox(r);
    const tile = classOf(box);
    counts[tile]++;
    if (tile === "partial") continue;
    cells(box, (cell) => {
      if (at(cell) !== (tile === "full" ? 1 : 0))
        expect.fail(`${tile} tile ${JSON.stringify(box)} holds ${JSON.stringify(cell)} with ${at(cell)}`);
    });
  }
  return counts;
}

const ids = (n: number, length: number) =>
  Int32Array.from({ length }, (_, i) => Math.floor((i * n) / length));
const perBatch = tensor(Int32Array.from([...ids(3, 200), ...ids(7, 200)]), [2, 200]);
const positions = maskMod(({ q }) => q.ge(0));

const masks: Record<string, BoolExpression> = {
  "causal()": causal(),
  "slidingWindow(5, 0)": slidingWindow(5, 0),
  "slidingWindow(20, 3)": slidingWindow(20, 3),
  "slidingWindow(-1, 4)": slidingWindow(-1, 4),
  "slidingWindow(0, -1)": slidingWindow(0, -1),
  "dilated(3)": dilated(3),
  "dilated(40)": dilated(40),
  "keyLengths(50)": keyLengths(50),
  "keyLengths([10, 80])": keyLengths([10, 80]),
  "queryLengths([0, 33])": queryLengths([0, 33]),
  "prefixLm(20)": prefixLm(20),
  "prefixLm([0, 70])": prefixLm([0, 70]),
  "documents(ids)": and(positions, documents(ids(5, 200))),
  "documents([B, N])": documents(perBatch),
  "documents(query ids, key ids)": documents(ids(4, N), ids(6, N)),
  "globalTokens([0, 30, 90])": globalTokens([0, 30, 90]),
  "longformer(8, [0])": longformer(8, [0]),
  blockSparse: blockSparse(
    Array.from({ length: 16 }, (_, i) => Array.from({ length: 16 }, (_, j) => (i * j) % 3 === 0)),
    8,
  ),
  "blockSparse a head": blockSparse(
    tensor(
      Uint8Array.from({ length: HEADS * 100 }, (_, i) => ((i * 7) % 4 === 0 ? 1 : 0)),
      [HEADS, 10, 10],
      "bool",
    ),
    16,
  ),
  "and(causal, window, lengths)": and(causal(), slidingWindow(30, 0), keyLengths([40, 90])),
  "or(not(causal), dilated)": or(not(causal()), dilated(7)),
  "one head causal, the others not": maskMod(({ h, q, k }) => h.eq(1).not().or(k.le(q))),
  checkerboard: maskMod(({ q, k }) => q.add(k).mod(2).eq(0)),
  "by distance table": maskMod(({ q, k }) =>
    table(Int32Array.from({ length: 64 }, (_, d) => (d < 5 || d % 16 === 0 ? 1 : 0)))
      .at(q.sub(k).abs())
      .ne(0),
  ),
  "ring of a float distance": maskMod(({ q, k }) => {
    const d = q
      .sub(20)
      .toFloat()
      .mul(q.sub(20))
      .add(k.sub(40).mul(k.sub(40)))
      .sqrt();
    return d.gt(5.5).and(d.le(30.25));
  }),
  "select by head": maskMod(({ h, q, k }) =>
    q
      .sub(k)
      .abs()
      .le(h.lt(1).select(4, h.mul(10))),
  ),
};

describe("over 400 random boxes, classes agree with all cells:", () => {
  for (const [name, mask] of Object.entries(masks)) {
    it(name, () => {
      const counts = checkMask(mask, 400, 17);
      expect(counts.skip + counts.full + counts.partial).toBe(400);
    });
  }
});

it("common masks have skipped and full tiles, not only partial ones", () => {
  for (const name of [
    "causal()",
    "slidingWindow(5, 0)",
    "keyLengths(50)",
    "documents([B, N])",
    "prefixLm(20)",
  ]) {
    const { skip, full } = checkMask(masks[name], 400, 5);
    expect([name, skip > 40]).toEqual([name, true]);
    expect([name, full > 0]).toEqual([name, true]);
  }
});

it("causal tiles of 16 × 16 are empty above the diagonal, partial on it, full below", () => {
  const classOf = compileTileClassifier(causal());
  const box = { b0: 0, b1: 0, h0: 0, h1: 0, offset0: 0, offset1: 0 };
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++)
      expect(classOf({ ...box, i0: 16 * i, i1: 16 * i + 15, k0: 16 * j, k1: 16 * j + 15 })).toBe(
        j > i ? "skip" : j === i ? "partial" : "full",
      );
});

/** A random number or boolean expression; integers are always below 2^31. */
function randomNumber(r: Random, depth: number): NumberExpression {
  const { b, h, i, q, k } = VARS;
  if (depth === 0 || r.next() < 0.2)
    return r.pick([
      b,
      h,
      i,
      q,
      k,
      q,
      k,
      q.sub(k),
      q.mul(0).add(r.int(-9, 99)),
      q.mul(0).add(r.next() * 4 - 2),
    ]);
  const a = randomNumber(r, depth - 1);
  const c = () => randomNumber(r, depth - 1);
  const small = (x: NumberExpression) => (x.type === "int" ? x.mod(100) : x.min(100).max(-100));
  const fullBox = () => {
    const x = c();
    return x.type === "int" ? x : q.sub(k);
  };
  switch (r.int(0, 16)) {
    case 0:
      return a.add(c());
    case 1:
      return a.sub(c());
    case 2:
      return small(a).mul(small(c()));
    case 3:
      return a.min(c());
    case 4:
      return a.max(c());
    case 5:
      return a.abs();
    case 6:
      return a.neg();
    case 7:
      return fullBox().mod(r.int(1, 20));
    case 8:
      return fullBox().floorDiv(r.int(1, 20));
    case 9:
      return a.tanh();
    case 10:
      return a.min(50).exp();
    case 11:
      return a.log();
    case 12:
      return a.sqrt();
    case 13:
      return a.div(c());
    case 14:
      return a.toFloat();
    case 15:
      return randomMask(r, depth - 1).select(a, c());
    default:
      return table(
        r.next() < 0.5
          ? Int32Array.from({ length: 40 }, () => r.int(-5, 50))
          : Float64Array.from({ length: 300 }, () => r.next() * 10),
      ).at(fullBox());
  }
}

function randomMask(r: Random, depth: number): BoolExpression {
  const a = () => randomNumber(r, depth);
  switch (depth === 0 ? r.int(0, 4) : r.int(0, 7)) {
    case 0:
      return a().lt(a());
    case 1:
      return a().le(a());
    case 2:
      return a().eq(a());
    case 3:
      return a().ge(a());
    case 4:
      return a().ne(a());
    case 5:
      return randomMask(r, depth - 1).and(randomMask(r, depth - 1));
    case 6:
      return randomMask(r, depth - 1).or(randomMask(r, depth - 1));
    default:
      return randomMask(r, depth - 1).not();
  }
}

it("1,500 random boolean expressions: classes agree with all cells, NaN and ∞ included", () => {
  const r = random(20261121);
  for (let n = 0; n < 1500; n++) checkMask(randomMask(r, r.int(1, 4)), 6, r.int(1, 2 ** 30));
});

it("1,500 random number expressions are within their bounds", () => {
  const r = random(7);
  for (let n = 0; n < 1500; n++) {
    const x = randomNumber(r, r.int(1, 4));
    const bound = compileBounds(x);
    const at = compile(x);
    const box = randomBox(r);
    const { low, high, last } = bound(box);
    const [least, greatest] = [low[last], high[last]];
    cells(box, (cell) => {
      const value = at(cell);
      if (value < least || value > greatest) expect.fail(`${value} is outside ${least} … ${greatest}`);
    });
  }
});

it("a score mod of a visible score is unbounded, and its position part is bounded", () => {
  const box = { b0: 0, b1: 0, h0: 0, h1: 1, i0: 0, i1: 9, k0: 0, k1: 9, offset0: 0, offset1: 0 };
  const of = (x: Expression) => {
    const { low, high, last } = compileBounds(x)(box);
    return [low[last], high[last]];
  };
  expect(of(alibi([0.5, 0.25]).expr)).toEqual([-Infinity, Infinity]);
  const [low, high] = of(softcap(30).expr);
  expect(low).toBeLessThanOrEqual(-30);
  expect(low).toBeGreaterThan(-30.001);
  expect(high).toBeLessThan(30.001);
  expect(of(relativeBias(tensor(new Float32Array(16), [8, 2])).expr)).toEqual([-Infinity, Infinity]);
  const position = of(scoreMod(({ score, q, k }) => score.min(0).max(0).add(q.sub(k))).expr);
  expect(position[0]).toBeCloseTo(-9, 3);
  expect(position[1]).toBeCloseTo(9, 3);
});

it("a long table is classified by its runs of 64: a single 0 in 50,000 ones is found", () => {
  const flags = new Int32Array(50_000).fill(1);
  flags[37_777] = 0;
  const classOf = compileTileClassifier(maskMod(({ k }) => table(flags).at(k).ne(0)));
  const box = { b0: 0, b1: 0, h0: 0, h1: 0, i0: 0, i1: 0, offset0: 0, offset1: 0 };
  expect(classOf({ ...box, k0: 0, k1: 37_776 })).toBe("full");
  expect(classOf({ ...box, k0: 0, k1: 37_777 })).toBe("partial");
  expect(classOf({ ...box, k0: 37_777, k1: 37_777 })).toBe("skip");
  expect(classOf({ ...box, k0: 37_778, k1: 49_999 })).toBe("full");
});

it("a table too long to scan is bounded by its extremes: a 0 in its last run is found", () => {
  const flags = new Int32Array(200_001).fill(1);
  flags[200_000] = 0;
  const classOf = compileTileClassifier(maskMod(({ k }) => table(flags).at(k).ne(0)));
  const box = { b0: 0, b1: 0, h0: 0, h1: 0, i0: 0, i1: 0, offset0: 0, offset1: 0 };
  expect(classOf({ ...box, k0: 0, k1: 200_000 })).toBe("partial");
  expect(classOf({ ...box, k0: 150_000, k1: 199_999 })).toBe("full");
});
