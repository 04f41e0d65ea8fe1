import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openStore } from "../formats/open.ts";
import { storeFrom } from "../layout/from.ts";
import { sampleBundle } from "../sample.ts";
import { tellingLink } from "./telling.ts";

const captures = fileURLToPath(new URL("../../../models/captures/", import.meta.url));

describe("tellingLink", () => {
  const wanted: Record<string, [query: string, key: string]> = {
    "time-flies": ["flies", "time"],
    "fruit-flies": ["flies", "fruit"],
    "river-bank": ["bank", "river"],
    "bank-of-the-river": ["bank", "river"],
    "savings-bank": ["bank", "savings"],
  };
  for (const file of readdirSync(captures).filter((name) => name.endsWith(".safetensors")))
    it(`${file}: a link between two whole words that its head gives to no other query and at no other offset`, async () => {
      const store = await openStore(`${captures}${file}`);
      const [block] = store.blocks;
      const link = (await tellingLink(store))!;
      expect(link.verdict).toBe("link");
      expect(link.contrast).toBeGreaterThan(0.45);
      // The pictures of the two "flies" and of "bank" show one head.
      if (wanted[file.replace(".safetensors", "")]) expect(link).toMatchObject({ layer: 0, head: 4 });
      const pair = [block.queryTokens[link.query], block.keyTokens[link.key]];
      for (const token of pair) expect(token).toMatch(/^[a-z]{2,}$/);
      const names = wanted[file.replace(".safetensors", "")];
      if (names) expect(pair).toEqual(names);
      store.dispose();
    });

  it("the time for one row of 200,000 keys is linear in them", { timeout: 15_000 }, async () => {
    // Quadratic, it took minutes, and the page did not answer meanwhile.
    const N = 200_000;
    const vectors = (step: number) => ({
      data: Float32Array.from({ length: 2 * N }, (_, n) => Math.sin(n * step)),
      shape: [1, N, 2],
    });
    const layers = [{ query: vectors(0.7), key: vectors(1.3) }];
    const tokens = Array.from({ length: N }, (_, n) => `w${n}`);
    const store = storeFrom({ blocks: [{ tokens, recipe: { mask: "causal" }, layers }] });
    // Not the first row, whose one key has all of its attention.
    expect((await tellingLink(store))!.query).toBe(N - 1);
  });

  it("the folder of captures is there", () => expect(existsSync(captures)).toBe(true));

  it("takes what there is where no link meets the conditions, and nothing where there is no weight", async () => {
    const one = storeFrom(sampleBundle("causal", { tokens: ["<s>"] }));
    expect(await tellingLink(one)).toMatchObject({ query: 0, key: 0, weight: 1, verdict: "spread" });
    const zero = { data: new Float32Array(4), shape: [1, 2, 2] };
    const none = storeFrom({ blocks: [{ tokens: ["a", "b"], layers: [{ weights: zero }] }] });
    expect(await tellingLink(none)).toBeUndefined();
  });

  it("prefers whole words to the parts of a contraction", async () => {
    const tokens = ["[CLS]", "dogs", "didn", "'", "t", "chase", "cats", "[SEP]"];
    const data = new Float32Array(64).fill(1 / 8);
    const give = (query: number, key: number, weight: number) => {
      data.fill((1 - weight) / 7, 8 * query, 8 * query + 8);
      data[8 * query + key] = weight;
    };
    give(4, 2, 0.75);
    give(6, 1, 0.7);
    const store = storeFrom({ blocks: [{ tokens, layers: [{ weights: { data, shape: [1, 8, 8] } }] }] });
    expect(await tellingLink(store)).toMatchObject({ query: 6, key: 1 });
  });

  it("considers only the given heads", async () => {
    const store = storeFrom(sampleBundle("causal"));
    expect(await tellingLink(store, { layer: 1, head: 2 })).toMatchObject({ layer: 1, head: 2 });
  });

  it("considers only the given query", async () => {
    const store = storeFrom(sampleBundle("causal"));
    for (const query of [2, 5])
      expect(await tellingLink(store, { layer: 1, head: 2, query })).toMatchObject({ head: 2, query });
    await expect(tellingLink(store, { query: 10_000 })).rejects.toThrow(
      "tellingLink: query must be an integer",
    );
  });
});
