import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { readSafetensors } from "../../io/safetensors/safetensors.ts";
import type { HeadRef } from "../block.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import type { StoreInput } from "../layout/input.ts";
import { sampleBundle } from "../sample.ts";
import { writeBundle } from "./bundle.ts";
import { openStore } from "./open.ts";

const rows = async (store: HeadStore, ref: HeadRef) => {
  await store.load(ref);
  return Array.from({ length: store.blocks[ref.block].Nq }, (_, i) => [...store.row(ref, i, "weights")]);
};

describe("a bundle of some heads", () => {
  it("gives each of them the weights it had: slopes, sinks, tables, masks and keys go with it", async () => {
    for (let seed = 0; seed < 30; seed++) {
      const r = random(seed + 700);
      const store = storeFrom(randomInput(seed, { layers: 2 }));
      const { heads } = store.blocks[0];
      const chosen = Array.from({ length: r.int(1, heads) }, () => r.int(0, heads - 1)).filter(
        (h, n, all) => all.indexOf(h) === n,
      );
      const bytes = await store.bundle({ heads: chosen, layers: [1] });
      const part = await openStore(bytes);
      expect(part.report.problems.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(part.blocks[0]).toMatchObject({
        layers: [1],
        heads: chosen.length,
        headNames: chosen.map(String),
      });
      for (const [head, from] of chosen.entries())
        expect(await rows(part, { block: 0, layer: 1, head }), `seed ${seed}`).toEqual(
          await rows(store, { block: 0, layer: 1, head: from }),
        );
      part.dispose();
      store.dispose();
    }
  });
});

describe("a bundle of the first tokens", () => {
  it("of causal heads leaves their rows as they were", async () => {
    const store = storeFrom(sampleBundle("causal"));
    const part = await openStore(await store.bundle({ tokens: 10 }));
    expect(part.blocks[0].queryTokens).toEqual(store.blocks[0].queryTokens.slice(0, 10));
    const ref = { block: 0, layer: 1, head: 0 };
    const [few, all] = [await rows(part, ref), await rows(store, ref)];
    expect(few).toEqual(all.slice(0, 10).map((row) => row.slice(0, 10)));
    part.dispose();
    store.dispose();
  });

  it("cuts segments and marks with them, leaves the model's sums out, and keeps an offset", async () => {
    const f32 = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
    const store = storeFrom({
      blocks: [
        {
          queryTokens: ["d", "e", "[SEP]"],
          keyTokens: ["a", "b", "c", "d", "e", "[SEP]"],
          kind: "self",
          queryOffset: 3,
          recipe: { mask: "causal", keyLengths: 6 },
          segments: [
            { name: "A", key: [0, 4] },
            { name: "B", query: [1, 3], key: [4, 6] },
          ],
          layers: [{ query: f32(1, 3, 2), key: f32(1, 6, 2), lse: f32(1, 3) }],
        },
      ],
    });
    const part = await openStore(await store.bundle({ tokens: 5 }));
    expect(part.blocks[0]).toMatchObject({
      Nq: 2,
      Nk: 5,
      queryOffset: 3,
      queryTokens: ["d", "e"],
      recipe: { mask: "causal", keyLengths: 5 },
    });
    expect(part.blocks[0].segments).toEqual([
      { name: "A", key: [0, 4] },
      { name: "B", query: [1, 2], key: [4, 5] },
    ]);
    expect(part.blocks[0].has.lse).toBe(false);
    part.dispose();
    store.dispose();
  });
});

describe("states, results, pictures and overrides of a block", () => {
  const f32 = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
  const layer = () => ({
    query: f32(2, 4, 3),
    key: f32(2, 4, 3),
    value: f32(2, 4, 3),
    valueNorm: f32(2, 4),
  });
  const image = { data: new Uint8Array(2 * 2 * 3), shape: [2, 2, 3], dtype: "uint8" };
  const evidence = [
    {
      kind: "effects",
      command: "heed ablate",
      value: 1,
      effects: [{ part: "mlp", layer: 0, change: 1, value: 0 }],
    },
  ] as const;
  const input = {
    blocks: [
      {
        tokens: ["a", "b", "c", "d"],
        states: [0, 1, 2, 3].map(() => f32(4, 5)),
        layers: [layer(), layer(), layer()],
        pictures: [{ image, first: 1, rows: 1, columns: 2 }],
        recipe: { layerOverrides: { 1: { mask: "causal" } } },
        evidence,
      },
    ],
  } as StoreInput;
  const opened = async (options: object) => {
    const bytes = await writeBundle(input, options);
    const { tensors, metadata } = readSafetensors(bytes);
    return { tensors, metadata, block: (await openStore(bytes)).blocks[0] };
  };

  it("are all in a complete bundle", async () => {
    const { tensors, block } = await opened({});
    expect(block).toMatchObject({ states: [0, 1, 2, 3], evidence, layers: [0, 1, 2] });
    expect(block.pictures).toEqual([{ tensor: "self.picture.0", first: 1, rows: 1, columns: 2 }]);
    expect(block.recipe.layerOverrides).toEqual({ 1: { mask: "causal" } });
    expect([...tensors.keys()].filter((name) => name.includes("vnorm")).length).toBe(3);
  });

  it("of one layer are the states before and after it", async () => {
    expect((await opened({ layers: [1] })).block.states).toEqual([1, 2]);
  });

  it("of some tokens are their states; a picture whose patches are left out, and results, are left out", async () => {
    const { tensors, metadata, block } = await opened({ tokens: 2, dtype: "float64" });
    expect(tensors.get("self.state.0")).toMatchObject({ shape: [2, 5], dtype: "float64" });
    expect(tensors.get("self.vnorm.0")).toMatchObject({ shape: [2, 2], dtype: "float32" });
    expect(block.pictures).toBeUndefined();
    expect([...metadata.keys()].filter((name) => name.startsWith("evidence"))).toEqual([]);
    expect((await opened({ tokens: 3 })).block.pictures).toHaveLength(1);
    expect((await opened({ heads: [1] })).block.evidence).toEqual([]);
  });
});

describe("dtypes", () => {
  it("are what is asked for, and the size is known first", async () => {
    const store = storeFrom(sampleBundle("bidirectional"));
    for (const dtype of ["float16", "bfloat16", "float64", undefined] as const) {
      const bytes = await store.bundle({ dtype, values: dtype !== "float16" });
      const { tensors } = readSafetensors(bytes);
      expect(new Set([...tensors.values()].map((t) => t.dtype))).toEqual(new Set([dtype ?? "float32"]));
      const data = [...tensors.values()].reduce((sum, t) => sum + (t.data as Float32Array).byteLength, 0);
      expect(await store.bundleSize({ dtype, values: dtype !== "float16" })).toBe(data);
      expect(tensors.has("self.v.0")).toBe(dtype !== "float16");
    }
    store.dispose();
  });

  it("uint8 weights are off by 0.002 at most, and refuse what is no share", async () => {
    const r = random(4);
    const data = Float32Array.from({ length: 64 }, () => r.next());
    const input = { blocks: [{ layers: [{ weights: { data, shape: [1, 8, 8] } }] }] };
    const store = await openStore(await writeBundle(input, { weightDtype: "uint8" }));
    const ref = { block: 0, layer: 0, head: 0 };
    (await rows(store, ref)).flat().forEach((w, n) => expect(Math.abs(w - data[n])).toBeLessThan(0.002));
    // And back to floats.
    const floats = await openStore(await store.bundle({ weightDtype: "float32" }));
    expect((await rows(floats, ref)).flat().map((w) => Math.round(255 * w))).toEqual(
      (await rows(store, ref)).flat().map((w) => Math.round(255 * w)),
    );
    floats.dispose();
    store.dispose();
    data[3] = Number.NaN;
    await expect(writeBundle(input, { weightDtype: "uint8" })).rejects.toThrow(
      /`self.w.0` holds NaN; uint8 takes weights from 0 to 1 only/,
    );
  });
});

describe("writeBundle", () => {
  it("refuses heads, layers and options that do not exist", async () => {
    const input = sampleBundle("causal");
    const cases: [object, RegExp][] = [
      [{ heads: [4] }, /heads holds 4; `self` has heads 0 to 3/],
      [{ layers: [7] }, /nothing to write/],
      [{ blocks: ["enc"] }, /nothing to write/],
      [{ tokens: 0 }, /tokens must be an integer ≥ 1, got 0/],
      [{ dtype: "int8" }, /dtype must be one of float32, float64, float16, bfloat16, got "int8"/],
      [{ weightDtype: "int8" }, /weightDtype must be uint8 or one of/],
      [{ head: [1] }, /unknown option "head"/],
    ];
    for (const [options, message] of cases)
      await expect(writeBundle(input, options)).rejects.toThrow(message);
    await expect(
      writeBundle({ blocks: [{ layers: [{ query: { data: new Float32Array(1), shape: [1, 1, 1] } }] }] }),
    ).rejects.toThrow(/`self.k.0` is missing/);
  });

  it("writes the same bytes twice", async () => {
    const [a, b] = [await writeBundle(sampleBundle("causal")), await writeBundle(sampleBundle("causal"))];
    expect(Buffer.compare(a, b)).toBe(0);
  });
});
