import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import {
  combineRows,
  edgesOf,
  hideKeys,
  keptKeys,
  largestKeys,
  overWords,
  rankKeys,
  wordRow,
} from "./aggregate.ts";

describe("rows taken together", () => {
  it("are their mean, sum or largest value, and NaN stays", () => {
    const rows = [Float64Array.of(0.5, 0.5, 0), Float64Array.of(0.1, 0.2, Number.NaN)];
    expect([...combineRows(rows)].slice(0, 2)).toEqual([0.3, 0.35]);
    expect([...combineRows(rows, "sum")]).toEqual([0.6, 0.7, Number.NaN]);
    expect([...combineRows(rows, "max")]).toEqual([0.5, 0.5, Number.NaN]);
    expect(() => combineRows([])).toThrow(/one or more rows of one length, got \[\]/);
    expect(() => combineRows([[1], [1, 2]])).toThrow(/got \[1, 2\]/);
  });
});

describe("hideKeys", () => {
  it("leaves a gap of the mass that is hidden, or shares it out", () => {
    const row = [0.5, 0.25, 0.25];
    const first = (j: number) => j === 0;
    expect(hideKeys(row, first)).toEqual({ row: Float64Array.of(0, 0.25, 0.25), missing: 0.5 });
    expect(hideKeys(row, first, "renormalize")).toEqual({ row: Float64Array.of(0, 0.5, 0.5), missing: 0.5 });
    expect(hideKeys(row, () => true, "renormalize")).toEqual({ row: new Float64Array(3), missing: 1 });
  });
});

describe("edges", () => {
  it("are the largest keys of each row, of equals the earlier", () => {
    expect(rankKeys([0.1, 0.4, 0, 0.4, 0.1])).toEqual([1, 3, 0, 4]);
    expect(largestKeys([0.1, 0.4, 0, 0.4, 0.1], 3)).toEqual([1, 3, 0]);
    expect(largestKeys([1], 0)).toEqual([]);
    for (let seed = 0; seed < 200; seed++) {
      const r = random(seed);
      const row = Array.from({ length: r.int(0, 40) }, () => r.int(0, 9) / 10);
      const count = r.int(0, 12);
      expect(largestKeys(row, count)).toEqual(rankKeys(row).slice(0, count));
    }
  });

  it("by mass are as few as hold the share asked for", () => {
    const ten = Array(10).fill(0.1);
    expect(keptKeys(ten, { mass: 0.9 }).length).toBe(9);
    // Whatever the rounding of their sums, k of n equal keys have the share k/n.
    for (let n = 1; n < 40; n++)
      for (let k = 1; k <= n; k++)
        expect(keptKeys(Array(n).fill(1 / n), { mass: k / n }).length, `${k} of ${n}`).toBe(k);
    expect(keptKeys([0.6, 0.3, 0.1], { mass: 0.5 })).toEqual([0]);
    expect(keptKeys([0.6, 0.3, 0.1], { mass: 0.61 })).toEqual([0, 1]);
    expect(keptKeys([0, 0], { mass: 0.9 })).toEqual([]);
  });

  it("say what they leave out", () => {
    const rows = [
      [1, 0, 0],
      [0.5, 0.5, 0],
      [0.25, 0.25, 0.5],
    ];
    const { edges, shown, mass, of } = edgesOf((i) => rows[i], [0, 1, 2], { top: 1 });
    expect(edges).toEqual([
      { query: 0, key: 0, weight: 1 },
      { query: 1, key: 0, weight: 0.5 },
      { query: 2, key: 2, weight: 0.5 },
    ]);
    expect([shown, mass, of]).toEqual([2, 3, 6]);
  });
});

describe("words", () => {
  const words = [
    { start: 0, end: 1 },
    { start: 1, end: 3 },
  ];

  it("get what their pieces get, and give what their pieces give on average", () => {
    const rows = [
      [0.2, 0.3, 0.5],
      [0, 0.5, 0.5],
      [1, 0, 0],
    ];
    expect([...overWords(rows[0], words)]).toEqual([0.2, 0.8]);
    expect([...wordRow((i) => rows[i], words[1], words)]).toEqual([0.5, 0.5]);
  });
});
