import { describe, expect, it } from "vitest";
import { type Random, random } from "../../../tests/support/cases/random.ts";
import { attentionWeights, scaledDotProductAttention } from "../../index.ts";
import { MASK_KINDS, type MaskJson, type MaskKind, maskFromJson } from "../../masks/registry.ts";
import { writeBundle } from "../formats/bundle.ts";
import { openStore } from "../formats/open.ts";
import { storeFrom } from "../layout/from.ts";
import { parseRecipe } from "../recipe/recipe.ts";
import { Visibility } from "./visibility.ts";

/** Random parameters of a registered mask over n positions: each at least its minimum, lists with one number per position. */
const randomParameters = (
  r: Random,
  n: number,
  { parameters }: MaskKind,
): Record<string, number | number[]> => {
  const value = (least: number) => Math.max(least, r.int(-1, n));
  return Object.fromEntries(
    parameters.map(({ name, type, least }) => [
      name,
      type === "integer" ? value(least) : Array.from({ length: n }, () => Math.min(value(least), 2)),
    ]),
  );
};

const randomMask = (r: Random, n: number, depth = 2): MaskJson => {
  const how = depth > 0 && r.chance(0.4) ? r.pick(["and", "or", "not"] as const) : undefined;
  if (how === "not") return { not: randomMask(r, n, depth - 1) };
  if (how) return { [how]: [randomMask(r, n, depth - 1), randomMask(r, n, depth - 1)] };
  const kind = r.pick(MASK_KINDS);
  return { [kind.name]: randomParameters(r, n, kind) };
};

describe("Visibility", () => {
  it("returns the visible keys of a row as runs with gaps in between, for any mask", () => {
    for (let seed = 0; seed < 600; seed++) {
      const r = random(seed + 5000);
      const [Nq, Nk] = [r.int(1, 20), r.int(0, 70)];
      const visibility = new Visibility(maskFromJson(randomMask(r, Math.max(1, Nk))), r.int(-3, 3));
      const runs: number[] = [];
      let right = true;
      for (let i = 0; i < Nq; i++) {
        visibility.runs(i, Nk, runs);
        const seen = new Uint8Array(Nk);
        for (let n = 0; n < runs.length; n += 2) {
          right &&= runs[n] < runs[n + 1] && (n === 0 || runs[n] > runs[n - 1]);
          seen.fill(1, runs[n], runs[n + 1]);
        }
        for (let j = 0; j < Nk; j++) right &&= (seen[j] === 1) === visibility.sees(i, j);
      }
      expect(right, `seed ${seed}`).toBe(true);
    }
  });
});

describe("a mask of the registry", () => {
  it.each(MASK_KINDS)("$name: a bundle with it shows the engine's weights", async (kind) => {
    const r = random(kind.name.length * 97);
    const n = 12;
    const parameters = randomParameters(r, n, kind);
    const mask: MaskJson = { [kind.name]: parameters };
    const numbers = () => Float32Array.from({ length: n * 4 }, () => r.normal());
    const [query, key] = [
      { data: numbers(), shape: [1, n, 4] },
      { data: numbers(), shape: [1, n, 4] },
    ];
    const input = {
      blocks: [
        {
          tokens: Array.from({ length: n }, (_, i) => `t${i}`),
          recipe: { mask: { named: mask } },
          layers: [{ query, key }],
        },
      ],
    };
    const { lse } = scaledDotProductAttention(query, key, key, { attnMask: maskFromJson(mask) });
    const want = attentionWeights(query, key, lse, { attnMask: maskFromJson(mask) }).toFloat64();
    for (const store of [storeFrom(input), await openStore(await writeBundle(input))]) {
      await store.load({ block: 0, layer: 0, head: 0 });
      for (let i = 0; i < n; i++)
        store
          .row({ block: 0, layer: 0, head: 0 }, i, "weights")
          .forEach((w, j) => expect(Math.abs(w - want[i * n + j])).toBeLessThan(2e-6));
      expect(store.report.sentences.join(" ")).toContain(kind.describe(parameters));
      store.dispose();
    }
  });

  it("with wrong parameters is refused, and the error names the parameter", () => {
    expect(parseRecipe({ mask: { dilated: 2 } })).toEqual({ mask: { named: { dilated: 2 } } });
    expect(() => parseRecipe({ mask: { dilated: 0 } })).toThrow(
      "recipe: mask: dilated: n must be an integer",
    );
    expect(() => maskFromJson({ dilated: 0 })).toThrow("dilated: n must be an integer from 1, got 0");
    expect(() => maskFromJson({ slidingWindow: { left: 1 } })).toThrow("right must be an integer from -1");
    expect(() => maskFromJson({ slidingWindow: { left: 1, right: 1, x: 2 } })).toThrow('no parameter "x"');
    expect(() => maskFromJson("every other")).toThrow(/expected one of .*causal.*documents/);
    expect(() => maskFromJson({ and: [] })).toThrow("expected a list of masks");
  });
});
