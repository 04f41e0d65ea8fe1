/** One limit for all readers: every function that reads a file checks `maxBytes` in the same way. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  openNpz,
  openSafetensors,
  readNpy,
  readNpz,
  readSafetensors,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from "../../src/io/index.ts";
import { modelFromFiles, readModel, readTokenizer } from "../../src/models/index.ts";
import { openStore } from "../../src/store/formats/open.ts";

/** 4,000 bytes of numbers. */
const array = { data: new Float32Array(1000), shape: [10, 100] };
const npy = writeNpy(array);
const npz = await writeNpz({ q: array, k: array });
const packed = await writeNpz({ q: array, k: array }, { compress: true });
const tensors = writeSafetensors({ q: array, k: array });
const index = new TextEncoder().encode('{"weight_map":{"q":"a","k":"a"}}');
const json = new TextEncoder().encode('{"attention":[[[1,0],[0.5,0.5]]]}');
const shipped = join(import.meta.dirname, "../../models/encoder");
const names = ["config.json", "tokenizer.json", "model.safetensors"];
const files = new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(shipped, name)))]));
const tokenizer = files.get("tokenizer.json")!;

/** A reader, what it reads, and the least `maxBytes` that lets it. */
const READERS: [name: string, least: number, read: (maxBytes: number) => unknown][] = [
  ["readNpy", 4000, (maxBytes) => readNpy(npy, { maxBytes })],
  ["readNpz", 2 * npy.length, (maxBytes) => readNpz(npz, { maxBytes })],
  ["readNpz, deflated", 2 * npy.length, (maxBytes) => readNpz(packed, { maxBytes })],
  ["openNpz, one array", npy.length, async (maxBytes) => openNpz(packed, { maxBytes }).read("q")],
  ["readSafetensors", 8000, (maxBytes) => readSafetensors(tensors, { maxBytes })],
  ["openSafetensors", 4000, async (maxBytes) => (await openSafetensors(tensors, { maxBytes })).read("q")],
  [
    "openSafetensors, rows",
    1200,
    async (maxBytes) => (await openSafetensors(tensors, { maxBytes })).read("q", { rows: [2, 5] }),
  ],
  [
    "openSafetensors, the index of shards",
    index.length,
    (maxBytes) => openSafetensors(index, { shard: () => tensors, maxBytes }),
  ],
  ["openStore, npy", npy.length, (maxBytes) => openStore(npy, { maxBytes })],
  ["openStore, npz", npz.length, (maxBytes) => openStore(npz, { maxBytes })],
  ["openStore, safetensors", 4000, (maxBytes) => openStore(tensors, { maxBytes })],
  ["openStore, JSON", json.length, (maxBytes) => openStore(json, { maxBytes })],
  ["readTokenizer", tokenizer.length, (maxBytes) => readTokenizer(tokenizer, { maxBytes })],
  ["modelFromFiles", 4_000_000, (maxBytes) => modelFromFiles(files, { maxBytes })],
  ["readModel", 4_000_000, (maxBytes) => readModel(shipped, { maxBytes })],
];

describe.each(READERS)("%s", (name, least, read) => {
  const refusal = async (maxBytes: number) => {
    try {
      await read(maxBytes);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test("a file larger than maxBytes is rejected by one error with both sizes", async () => {
    const below = name.includes("Model") || name.includes("model") ? 1000 : least - 1;
    const error = await refusal(below);
    expect(error).toMatchObject({ name: "UnsupportedError", code: "max-bytes", fields: { maxBytes: below } });
    const { fields, message } = error as { fields: { bytes: number }; message: string };
    expect(fields.bytes).toBeGreaterThan(below);
    expect(message).toContain(`: ${fields.bytes} bytes in memory; the limit is ${below} (maxBytes)`);
  });

  test("a file within the limit is read, and Infinity is no limit", async () => {
    // A model's limit is that of its parameters: those of the shipped one take some megabytes.
    const enough = name.includes("odel") ? 2 ** 26 : least;
    expect(await refusal(enough)).toBeUndefined();
    expect(await refusal(Number.POSITIVE_INFINITY)).toBeUndefined();
  });

  test("a limit that is not a size is rejected by the function's name", async () => {
    for (const wrong of [-1, 1.5, Number.NaN, "4G" as unknown as number])
      expect(await refusal(wrong)).toMatchObject({ name: "OptionError", code: "maxBytes" });
  });
});
