import { describe, expect, it } from "vitest";
import { MASKS } from "../../tests/support/cases/problem/masks.ts";
import { CHANGES } from "../../tests/support/cases/problem/scores.ts";
import { type Random, random } from "../../tests/support/cases/random.ts";
import { causal, randn, scaledDotProductAttention, type Tensor } from "../index.ts";
import { compile } from "../masks/expression/js.ts";
import { forward } from "../reference/index.ts";
import type { HeadInputs, Keys, MaskElements } from "./head-rows.ts";
import { floatProducts } from "./products.ts";
import { runFinder } from "./runs.ts";
import { weightOf } from "./softmax.ts";
import { RowSteps } from "./steps.ts";

/** What a head uses of the engine, single and together: the order of the steps matters. */
const OPTIONS = [
  "mask", "offset", "mods", "two mods", "keep", "drop", "add", "sink", "strides", "mods and add", "mask and keep", "sink and add", "mods and sink",
] as const; // biome-ignore format: one list

/** A head for the engine, and the weights of the formula in plain loops, [Nq, Nk]. */
function drawHead(r: Random): { head: HeadInputs; Nq: number; names: Set<string>; weights: Float64Array } {
  const lengths = { B: 2, Hq: 3, Hkv: 3, Nq: r.int(1, 20), Nk: r.int(1, 40), dk: r.int(1, 9), dv: 1 };
  const { Nq, Nk, dk } = lengths;
  const [b, h] = [r.int(0, 1), r.int(0, 2)];
  const offset = r.chance(0.5) ? 0 : r.int(-2, 9);
  const names = new Set<string>(offset === 0 ? [] : ["offset"]);
  const normals = (count: number) => Float64Array.from({ length: count }, () => 1.5 * r.normal());
  const [q, k] = [normals(Nq * dk), normals(Nk * dk)];
  /** The rows as the engine reads them: dense floats, or apart in a longer array. */
  const vectors = (rows: Float64Array): Keys => {
    if (r.chance(0.5))
      return {
        ...(r.chance(0.7) ? { products: floatProducts(rows) } : {}),
        read: (at) => rows[at],
        start: 0,
        rowStride: dk,
        columnStride: 1,
      };
    names.add("strides");
    const sparse = new Float64Array(3 + 2 * rows.length).fill(Number.NaN);
    rows.forEach((x, n) => (sparse[3 + 2 * n] = x));
    return { read: (at) => sparse[at], start: 3, rowStride: 2 * dk, columnStride: 2 };
  };
  const drawnMask = r.chance(0.6)
    ? MASKS[r.pick(Object.keys(MASKS))](r, lengths, [offset, offset])
    : undefined;
  const changes = Array.from({ length: r.int(0, 2) }, () =>
    CHANGES[r.pick(Object.keys(CHANGES))](r, lengths),
  );
  const scale = r.pick([0.3, 1, -0.5, 1 / Math.sqrt(dk)]);
  const sink = r.chance(0.4) ? 2 * r.normal() : undefined;
  const tensors: (MaskElements & { numbers: Float64Array })[] = [];
  for (const kind of ["keep", "drop", "add"] as const)
    if (r.chance(0.35)) {
      const numbers = Float64Array.from({ length: Nq * Nk }, () =>
        kind === "add"
          ? r.chance(0.2)
            ? -Infinity
            : r.normal()
          : Number(r.chance(kind === "keep" ? 0.7 : 0.3)),
      );
      tensors.push({ kind, numbers, read: (at) => numbers[at], start: 0, rowStride: Nk, columnStride: 1 });
      names.add(kind);
    }
  if (drawnMask) names.add("mask");
  if (changes.length > 0) names.add("mods");
  if (changes.length > 1) names.add("two mods");
  if (sink !== undefined) names.add("sink");
  const number = (kind: string, i: number, j: number) =>
    tensors.find((one) => one.kind === kind)?.numbers[i * Nk + j];
  const plain = forward(
    q,
    k,
    new Float64Array(Nk),
    { Nq, Nk, dk, dv: 1 },
    {
      scale,
      allowed: (i, j) =>
        (drawnMask?.rule(b, h, i, j) ?? true) && number("keep", i, j) !== 0 && number("drop", i, j) !== 1,
      score: (s, i, j) =>
        changes.reduce((x, change) => change.apply(x, b, h, i + offset, j), s) + (number("add", i, j) ?? 0),
    },
  );
  // A sink is one more exponential in the sum of a row.
  const weights = plain.weights.map(
    (w, at) => w / (1 + Math.exp((sink ?? -Infinity) - plain.lse[Math.floor(at / Nk)])),
  );
  const head: HeadInputs = {
    b, h, offset, Nk, d: dk, scale, sink, tensors,
    query: vectors(q),
    key: vectors(k),
    mask: drawnMask && compile(drawnMask.mask),
    ...(drawnMask && b === 0 && h === 0 && r.chance(0.7) ? { findRuns: runFinder(drawnMask.mask, offset, Nk) } : {}),
    mods: changes.map(({ mod }) => compile(mod.expr)),
  }; // biome-ignore format: sizes in one line
  return { head, Nq, names, weights: weights.map((w) => (w === w ? w : 0)) };
}

describe("RowSteps", () => {
  it("gives the weights of the formula in plain loops, for any mask, score mods, mask tensors and sink", () => {
    const counts = new Map<string, number>();
    let [empty, masked] = [0, 0];
    for (let seed = 0; seed < 400; seed++) {
      const { head, Nq, names, weights } = drawHead(random(seed + 40_000));
      const { Nk } = head;
      const rows = new RowSteps(head);
      for (const name of OPTIONS)
        if (name.split(" and ").every((part) => names.has(part)))
          counts.set(name, (counts.get(name) ?? 0) + 1);
      const row = new Float64Array(Nk);
      for (let i = 0; i < Nq; i++) {
        const { lse, l } = rows.softmax(i, row);
        const wrong = row.findIndex((w, j) => !(Math.abs(w - weights[i * Nk + j]) <= 1e-12));
        expect(wrong, `seed ${seed}, row ${i}: ${row[wrong]} and ${weights[i * Nk + wrong]}`).toBe(-1);
        const runs = rows.runs(i);
        const scores = new Float64Array(Nk);
        rows.scores(i, scores);
        for (let j = 0; j < Nk; j++) {
          const inRuns = runs.some((from, n) => n % 2 === 0 && from <= j && j < runs[n + 1]);
          expect(inRuns).toBe(rows.sees(i, j));
          if (!inRuns) expect(scores[j]).toBe(-Infinity);
          expect(Math.abs(weightOf(scores[j], lse) - row[j])).toBeLessThanOrEqual(1e-12);
          if (!inRuns) masked++;
        }
        if (l === 0) empty++;
      }
    }
    expect([empty > 50, masked > 1000]).toEqual([true, true]);
    for (const name of OPTIONS) expect([name, (counts.get(name) ?? 0) > 3]).toEqual([name, true]);
  });

  it("gives the same bits for a range of keys, one cell and the steps of its weight as for the row", () => {
    for (let seed = 0; seed < 100; seed++) {
      const r = random(seed + 50_000);
      const { head, Nq } = drawHead(r);
      const { Nk, scale } = head;
      const rows = new RowSteps(head);
      const i = r.int(0, Nq - 1);
      const [row, scores, before, products] = Array.from({ length: 4 }, () => new Float64Array(Nk));
      rows.softmax(i, row);
      rows.scores(i, scores, 0, Nk, before);
      rows.products(rows.query(i), scale, products, 0, 0, Nk);
      const from = r.int(0, Nk);
      const to = r.int(from, Nk);
      // What follows the range in a longer array stays.
      const part = new Float64Array(to - from + 2).fill(7);
      rows.scores(i, part, from, to);
      expect([...part]).toEqual([...scores.slice(from, to), 7, 7]);
      for (let j = 0; j < Nk; j++) {
        const steps = rows.weight(i, j);
        expect(Object.is(steps.weight, row[j]), `seed ${seed}, cell ${i}, ${j}`).toBe(true);
        expect([steps.scaled, steps.score, steps.visible]).toEqual([products[j], scores[j], rows.sees(i, j)]);
        if (steps.visible) expect(before[j]).toBe(steps.scaled);
      }
    }
  });
});

it("gives the same bits for keys in any order of memory, batch entry and group", () => {
  const draw = (heads: number, seed: number) => randn([2, heads, 11, 7], { seed, dtype: "float64" });
  const [query, key, value] = [draw(4, 1), draw(2, 2), draw(2, 3)];
  const run = (k: Tensor) =>
    scaledDotProductAttention(query, k, value, { attnMask: causal() }).output.toFloat64();
  const byColumns = key.transpose().contiguous().transpose();
  expect([key.isContiguous(), byColumns.isContiguous()]).toEqual([true, false]);
  expect(run(key)).toEqual(run(byColumns));
});
