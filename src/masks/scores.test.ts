/** Every score mod against its formula, and the input that its builder rejects. */
import { describe, expect, it } from "vitest";
import { tensor } from "../core/create/construct.ts";
import { OptionError, ShapeError } from "../core/errors.ts";
import { asFloat, tablesOf, textOf, VARS, withScore } from "./expression/expr.ts";
import { compile } from "./expression/js.ts";
import { alibi, alibiSlopes, relativeBias, type ScoreMod, scoreMod, softcap, table } from "./index.ts";
import { relativeBucket } from "./relative.ts";

/** The change and the formula agree on scores, heads and positions. */
function same(change: ScoreMod, formula: (s: number, h: number, q: number, k: number, b: number) => number) {
  const value = compile(change.expr);
  for (const score of [-20, -0.3, 0, 1.5, 60])
    for (let b = 0; b < 2; b++)
      for (let h = 0; h < 3; h++)
        for (let q = 0; q < 9; q++)
          for (let k = 0; k < 9; k++)
            expect(value({ b, h, i: q, q, k, score })).toBeCloseTo(formula(score, h, q, k, b), 12);
}

describe("softcap", () => {
  it("is c·tanh(score / c): small scores hardly change, large ones approach c", () => {
    same(softcap(30), (s) => 30 * Math.tanh(s / 30));
    same(softcap(0.5), (s) => 0.5 * Math.tanh(s / 0.5));
  });
  it("refuses 0, negative, NaN and ∞", () => {
    for (const c of [0, -1, Number.NaN, Infinity, "30" as never])
      expect(() => softcap(c)).toThrow(OptionError);
    expect(() => softcap(-1)).toThrow(/softcap: c must be > 0, got -1/);
  });
});

describe("alibi", () => {
  it("subtracts slope times distance, with slopes by head or by batch entry and head", () => {
    same(alibi([0.5, 0.25, 2]), (s, h, q, k) => s - [0.5, 0.25, 2][h] * Math.abs(q - k));
    const slopes = Float32Array.of(1, 2, 3, 4, 5, 6);
    same(alibi(tensor(slopes, [2, 3])), (s, h, q, k, b) => s - slopes[3 * b + h] * Math.abs(q - k));
    same(alibi(Float64Array.of(1, 2, 3)), (s, h, q, k) => s - (h + 1) * Math.abs(q - k));
  });
  it("has the paper's slopes: a geometric sequence for a power of two, otherwise completed from that of twice as many heads", () => {
    expect([...alibiSlopes(8)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => 2 ** -n));
    expect([...alibiSlopes(1)]).toEqual([2 ** -8]);
    expect([...alibiSlopes(6)]).toEqual(
      [2 ** -2, 2 ** -4, 2 ** -6, 2 ** -8, 2 ** -1, 2 ** -3].map(Math.fround),
    );
    expect(alibiSlopes(12)).toHaveLength(12);
  });
  it("rejects slopes with three axes and values that are not lists", () => {
    expect(() => alibi(tensor(new Float32Array(8), [2, 2, 2]))).toThrow(ShapeError);
    expect(() => alibi(tensor(new Float32Array(8), [2, 2, 2]))).toThrow(
      /\[Hq\] or \[B, Hq\], got \[2, 2, 2\]/,
    );
    expect(() => alibi(3 as never)).toThrow(OptionError);
  });
});

describe("relativeBias", () => {
  it("is T5's bucket, as in the published code: bidirectional, 32 buckets, maximum distance 128", () => {
    // mesh-tensorflow's _relative_position_bucket for distances (key − query).
    const pairs: [number, number][] = [
      [0, 0], [-1, 1], [-7, 7], [-8, 8], [-11, 8], [-12, 9], [-16, 10], [-64, 14], [-128, 15], [-9999, 15],
      [1, 17], [7, 23], [8, 24], [128, 31], [9999, 31],
    ]; // biome-ignore format: pairs
    for (const [distance, bucket] of pairs)
      expect([distance, relativeBucket(distance, 32, 128, true)]).toEqual([distance, bucket]);
  });
  it("unidirectional: keys after the query share bucket 0", () => {
    expect([5, 1, 0, -1, -15, -16, -31, -128, -500].map((d) => relativeBucket(d, 32, 128, false))).toEqual([
      0, 0, 0, 1, 15, 16, 21, 31, 31,
    ]);
  });
  it("adds table[bucket, head]", () => {
    const values = Float32Array.from({ length: 24 }, (_, n) => n);
    same(
      relativeBias(tensor(values, [8, 3]), { maxDistance: 6 }),
      (s, h, q, k) => s + 3 * relativeBucket(k - q, 8, 6, true) + h,
    );
    same(
      relativeBias(tensor(values, [8, 3]), { maxDistance: 5, bidirectional: false }),
      (s, h, q, k) => s + 3 * relativeBucket(k - q, 8, 5, false) + h,
    );
  });
  it("positions farther than maxDistance read the last bucket", () => {
    const at = compile(
      relativeBias(
        tensor(
          Float32Array.from({ length: 8 }, (_, n) => n),
          [8, 1],
        ),
      ).expr,
    );
    expect(at({ b: 0, h: 0, i: 0, q: 100_000, k: 0, score: 0 })).toBe(3);
    expect(at({ b: 0, h: 0, i: 0, q: 0, k: 100_000, score: 0 })).toBe(7);
  });
  it("rejects tables with other bucket counts, odd counts and short distances", () => {
    const of = (n: number, ...rest: number[]) => tensor(new Float32Array(n), rest);
    expect(() => relativeBias(of(8, 8))).toThrow(ShapeError);
    expect(() => relativeBias(of(8, 4, 2), { numBuckets: 8 })).toThrow(
      /\[numBuckets = 8, Hq\], got \[4, 2\]/,
    );
    expect(() => relativeBias(of(8, 8, 1), { buckets: 8 } as never)).toThrow(/unknown option "buckets"/);
    expect(() => relativeBias(of(7, 7, 1))).toThrow(/even and ≥ 4, got 7/);
    expect(() => relativeBias(of(1, 1, 1), { bidirectional: false })).toThrow(/≥ 2, got 1/);
    expect(() => relativeBias(of(8, 8, 1), { maxDistance: 2 })).toThrow(
      /maxDistance must be an integer above 2, got 2/,
    );
  });
});

describe("scoreMod", () => {
  it("is any expression of the score and the positions", () => {
    same(
      scoreMod(({ score, q, k }) => score.sub(q.sub(k).abs().mul(0.1))),
      (s, _, q, k) => s - Math.abs(q - k) * 0.1,
    );
    same(
      scoreMod(({ score, h, q, k }) => q.lt(k).select(score.mul(2), score.abs().sqrt().neg()).add(h)),
      (s, h, q, k) => (q < k ? 2 * s : -Math.sqrt(Math.abs(s))) + h,
    );
    same(
      scoreMod(({ score }) => score.max(0).add(1).log().min(3)),
      (s) => Math.min(3, Math.log(Math.max(s, 0) + 1)),
    );
    same(
      scoreMod(({ score, b, h, k }) =>
        table(tensor(Float64Array.of(1, 2, 3, 4, 5, 6), [2, 3]))
          .at(b, h)
          .add(k)
          .add(score.mul(0)),
      ),
      (_, h, __, k, b) => 3 * b + h + 1 + k,
    );
  });
  it("an integer expression becomes a float", () =>
    expect(scoreMod(({ score, q, k }) => score.gt(0).select(q, k)).expr.type).toBe("float"));
  it("rejects an expression without the score", () =>
    expect(() => scoreMod(({ q, k }) => q.sub(k).abs().mul(-0.1))).toThrow(
      "scoreMod: the expression does not have score",
    ));
  it("rejects a function that does not return a number expression", () => {
    expect(() => scoreMod(() => 1 as never)).toThrow(
      /scoreMod: the function must return a number expression, got 1/,
    );
    expect(() => scoreMod(({ q, k }) => q.lt(k) as never)).toThrow(OptionError);
  });
  it("score mods compose: the second reads the score of the first", () => {
    const joined = withScore(scoreMod(({ score }) => score.add(1)).expr, softcap(2).expr);
    expect(compile(joined)({ b: 0, h: 0, i: 0, q: 0, k: 0, score: 3 })).toBeCloseTo(
      2 * Math.tanh(1.5) + 1,
      14,
    );
  });
});

describe("expressions as data", () => {
  it("print with constants shown or hidden, so that windows of two sizes share a kernel key", () => {
    const [a, b] = [1, 2].map((n) => scoreMod(({ score, q }) => score.mul(0.5 * n).add(q.add(n))).expr);
    expect(textOf(a)).toBe("add(mul(score,0.5),float(add(q,1)))");
    expect(textOf(a, "hidden")).toBe("add(mul(score,cf),float(add(q,ci)))");
    expect(textOf(b, "hidden")).toBe(textOf(a, "hidden"));
  });
  it("list each table once", () => {
    const t = table([1.5, 2.5]);
    const expr = t
      .at(VARS.h)
      .add(t.at(VARS.b))
      .add(asFloat(table([4, 5]).at(VARS.h)));
    expect(tablesOf(expr)).toHaveLength(2);
    expect(tablesOf(expr)[0]).toBe(t.table);
  });
  it("a list of integers is a table of integers; a list with fractions, or a float array, is one of floats", () => {
    expect(table([1, 2]).table.type).toBe("int");
    expect(table([1, 2.5]).table.type).toBe("float");
    expect(table(Float32Array.of(1, 2)).table.type).toBe("float");
  });
});
