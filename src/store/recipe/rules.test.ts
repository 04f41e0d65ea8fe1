import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/random.ts";
import { randomRecipe } from "../../../tests/support/store.ts";
import { type Cell, compile } from "../../masks/expression/js.ts";
import { maskOf, modsOf } from "../compute/engine.ts";
import { type HeadRecipe, rulesOf } from "./rules.ts";

/** A random recipe of one head; tensors' masks are left to `head.test.ts`. */
function headRecipe(seed: number, Nq: number, Nk: number): HeadRecipe {
  const r = random(seed);
  const { mask = "none", bias, keyLengths, softcap, queryOffset = 0 } = randomRecipe(r, Nq, Nk, 1);
  return {
    scale: 1,
    mask: typeof mask === "object" && "tensor" in mask ? "none" : mask,
    queryOffset,
    keyLength: typeof keyLengths === "object" ? keyLengths[0] : keyLengths,
    softcap,
    slope: bias && "alibi" in bias ? bias.alibi[0] : undefined,
    relative:
      bias && "relative" in bias
        ? {
            table: Float64Array.from({ length: 8 }, () => r.normal()),
            maxDistance: bias.maxDistance,
            bidirectional: bias.bidirectional,
          }
        : undefined,
  };
}

describe("rulesOf", () => {
  it("lets the same cells through as heed's masks, and changes scores as heed's score changes do", () => {
    for (let seed = 0; seed < 400; seed++) {
      const r = random(seed + 1000);
      const [Nq, Nk] = [r.int(1, 20), r.int(1, 30)];
      const recipe = headRecipe(seed, Nq, Nk);
      const rules = rulesOf(recipe);
      const mask = maskOf(recipe);
      const sees = mask ? compile(mask) : () => 1;
      const mods = modsOf(recipe).map((mod) => compile(mod.expr));
      expect(mods.length).toBe(rules.changes.length);
      const cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
      const wrong: number[][] = [];
      for (let i = 0; i < Nq; i++)
        for (let j = 0; j < Nk; j++) {
          Object.assign(cell, { i, q: i + recipe.queryOffset, k: j, score: 3 * r.normal() });
          if (rules.allows(i, j) !== (sees(cell) === 1)) wrong.push([i, j]);
          mods.forEach((mod, n) => {
            if (rules.changes[n].apply(cell.score, i, j) !== mod(cell)) wrong.push([i, j, n]);
          });
        }
      expect(wrong, JSON.stringify(recipe)).toEqual([]);
    }
  });

  it("gives the visible keys of a row as runs that neither touch nor overlap", () => {
    for (let seed = 0; seed < 400; seed++) {
      const r = random(seed + 5000);
      const [Nq, Nk] = [r.int(1, 20), r.int(0, 40)];
      const rules = rulesOf(headRecipe(seed, Nq, Math.max(1, Nk)));
      const runs: number[] = [];
      let apart = true;
      for (let i = 0; i < Nq; i++) {
        rules.runs(i, Nk, runs);
        const seen = new Uint8Array(Nk);
        for (let n = 0; n < runs.length; n += 2) {
          apart &&= runs[n] < runs[n + 1] && (n === 0 || runs[n] > runs[n - 1]);
          seen.fill(1, runs[n], runs[n + 1]);
        }
        for (let j = 0; j < Nk; j++) apart &&= (seen[j] === 1) === rules.allows(i, j);
      }
      expect(apart, `seed ${seed}`).toBe(true);
    }
  });

  it("a bucket beyond the greatest distance is that of the greatest distance", () => {
    const table = Float64Array.from({ length: 8 }, (_, n) => n);
    const [change] = rulesOf({
      scale: 1,
      mask: "none",
      queryOffset: 0,
      relative: { table, maxDistance: 16, bidirectional: false },
    }).changes;
    expect(change.apply(0, 1000, 0)).toBe(7);
    expect(change.apply(0, 0, 1000)).toBe(0);
  });
});
