import { describe, expect, it } from "vitest";
import { randomParameters } from "../../tests/support/cases/problem/mask-json.ts";
import { type Random, random } from "../../tests/support/cases/random.ts";
import { compile } from "../masks/expression/js.ts";
import { MASK_KINDS, type MaskJson, maskFromJson } from "../masks/registry.ts";
import { runFinder } from "./runs.ts";

const randomMask = (r: Random, n: number, depth = 2): MaskJson => {
  const how = depth > 0 && r.chance(0.4) ? r.pick(["and", "or", "not"] as const) : undefined;
  if (how === "not") return { not: randomMask(r, n, depth - 1) };
  if (how) return { [how]: [randomMask(r, n, depth - 1), randomMask(r, n, depth - 1)] };
  const kind = r.pick(MASK_KINDS);
  return { [kind.name]: randomParameters(r, n, kind) };
};

describe("runFinder", () => {
  it("returns the visible keys of a row as runs with gaps in between, for any mask and offset", () => {
    for (let seed = 0; seed < 600; seed++) {
      const r = random(seed + 5000);
      const [Nq, Nk] = [r.int(1, 20), r.int(0, 70)];
      const mask = maskFromJson(randomMask(r, Math.max(1, Nk)));
      const offset = r.int(-3, 3);
      const [find, allowed] = [runFinder(mask, offset, Nk), compile(mask)];
      const runs: number[] = [];
      let right = true;
      for (let i = 0; i < Nq; i++) {
        find(i, runs);
        const visible = new Uint8Array(Nk);
        for (let n = 0; n < runs.length; n += 2) {
          right &&= runs[n] < runs[n + 1] && (n === 0 || runs[n] > runs[n - 1]);
          visible.fill(1, runs[n], runs[n + 1]);
        }
        for (let j = 0; j < Nk; j++)
          right &&= (visible[j] === 1) === (allowed({ b: 0, h: 0, i, q: i + offset, k: j, score: 0 }) !== 0);
      }
      expect(right, `seed ${seed}`).toBe(true);
    }
  });
});
