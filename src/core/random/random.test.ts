/** Bits by key: the published mixer, no pattern along any axis, and dependence on every part of the key. */
import { expect, it } from "vitest";
import * as checked from "./keys.ts";
import { cellBits, dropoutThreshold, headKey, mix, rowKey } from "./random.ts";

it("mix is MurmurHash3's finalizer", () => {
  // fmix32 of the reference implementation (smhasher, MurmurHash3.cpp).
  expect([0, 1, 2, 0xdeadbeef].map((x) => mix(x) >>> 0)).toEqual([0, 0x514e28b7, 0x30f4c306, 0x0de5c6a9]);
});

it("the keys for other backends are the same, of integers only", () => {
  expect(checked.headKey(5, 1, 2)).toBe(headKey(5, 1, 2));
  expect(checked.rowKey(77, 3)).toBe(rowKey(77, 3));
  expect(checked.cellBits(77, 3)).toBe(cellBits(77, 3));
  expect(checked.dropoutThreshold(0.5)).toBe(dropoutThreshold(0.5));
  expect(() => checked.headKey(5, 1, 0.5)).toThrow("headKey: expected integers, got [5, 1, 0.5]");
});

it("each of seed, b, h, q and k changes the bits", () => {
  const bits = (seed: number, b: number, h: number, q: number, k: number) =>
    cellBits(rowKey(headKey(seed, b, h), q), k);
  const base = bits(1, 0, 0, 0, 0);
  for (const other of [
    bits(2, 0, 0, 0, 0),
    bits(1 + 2 ** 32, 0, 0, 0, 0),
    bits(1, 1, 0, 0, 0),
    bits(1, 0, 1, 0, 0),
    bits(1, 0, 0, 1, 0),
    bits(1, 0, 0, 0, 1),
    bits(-1, 0, 0, 0, 0),
  ])
    expect(other).not.toBe(base);
  expect(bits(1, 0, 0, 0, 0)).toBe(base);
});

it("the share of bits below a threshold is p, along rows, columns and diagonals", () => {
  const n = 200;
  for (const p of [0.1, 0.5, 0.9]) {
    const threshold = dropoutThreshold(p);
    const head = headKey(7, 1, 2);
    const cell = (q: number, k: number) => cellBits(rowKey(head, q), k) < threshold;
    let total = 0;
    for (let a = 0; a < n; a++) {
      let [row, column, diagonal] = [0, 0, 0];
      for (let c = 0; c < n; c++) {
        row += Number(cell(a, c));
        column += Number(cell(c, a));
        diagonal += Number(cell((a + c) % n, c));
      }
      // Five standard deviations of a binomial.
      const tolerance = 5 * Math.sqrt(n * p * (1 - p));
      for (const count of [row, column, diagonal]) expect(Math.abs(count - n * p)).toBeLessThan(tolerance);
      total += row;
    }
    expect(Math.abs(total / n ** 2 - p)).toBeLessThan(0.01);
  }
});

it("thresholds: p = 0 drops no cell, p close to 1 all but the largest", () => {
  expect([dropoutThreshold(0), dropoutThreshold(0.5), dropoutThreshold(1 - 2 ** -40)]).toEqual([
    0,
    2 ** 31,
    2 ** 32 - 1,
  ]);
});
