/**
 * Tensors in files: write them, save them atomically, inspect a file without reading all of it, read a few rows, and write them
 * for NumPy. Run: `node examples/files.ts` (Node ≥ 22.18, in a clone after
 * `npm run build`).
 *
 * Prints:
 *   key [2, 128, 64] float32, bytes 272 to 65808
 *   query [2, 128, 64] float32, bytes 65808 to 131344
 *   value [2, 128, 64] float32, bytes 131344 to 196880
 *   query[1:2] is [1, 128, 64], its first number -0.9561731815338135
 *   the same number from the npz: -0.9561731815338135
 *   FormatError: readSafetensors: tensor "value": ends at byte 196880 of a file of 196879 (byte 196879)
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSafetensors, readNpz, readSafetensors, saveFile, writeNpz, writeSafetensors } from "heed/io";

const folder = await mkdtemp(join(tmpdir(), "heed-files-"));

// query [2, 128, 64], key and value [2, 128, 64], as plain { data, shape }.
const shape = [2, 128, 64];
const make = (phase: number) => ({
  data: Float32Array.from({ length: 2 * 128 * 64 }, (_, i) => Math.sin(i + phase)),
  shape,
});
const path = join(folder, "qkv.safetensors");
const bytes = writeSafetensors(
  { query: make(0), key: make(1), value: make(2) },
  { metadata: { writer: "examples/files.ts" } },
);
await saveFile(path, bytes);

// Only the header is read here, then only the bytes of the requested rows.
const file = await openSafetensors(path);
for (const [name, { dtype, shape, start, end }] of file.tensors)
  console.log(`${name} [${shape.join(", ")}] ${dtype}, bytes ${start} to ${end}`);
const second = await file.read("query", { rows: [1, 2] });
console.log(`query[1:2] is [${second.shape.join(", ")}], its first number ${second.data[0]}`);

// numpy.load("qkv.npz")["query"] reads this.
await saveFile(
  join(folder, "qkv.npz"),
  await writeNpz({ query: await file.read("query") }, { compress: true }),
);
await file.close();
const { data } = (await readNpz(await readFile(join(folder, "qkv.npz")))).get("query")!;
console.log(`the same number from the npz: ${data[128 * 64]}`);

// A corrupted file is rejected; the error names the tensor and the byte.
try {
  readSafetensors(bytes.subarray(0, bytes.length - 1));
} catch (error) {
  console.log(`${(error as Error).name}: ${(error as Error).message}`);
}
await rm(folder, { recursive: true });
