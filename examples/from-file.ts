/**
 * Attention over the tensors of a safetensors file: opening it reads only the header, then the requested tensors are read.
 * The keys are padded to one length; `keyLengths` gives the number of real keys. Run: `node examples/from-file.ts FILE`
 * (Node ≥ 22.18, in a clone after `npm run build`); without FILE it creates one.
 *
 * Prints:
 *   key [2, 4, 40, 16] float32
 *   query [2, 4, 33, 16] float32
 *   value [2, 4, 40, 16] float32
 *   output [2, 4, 33, 16], no NaN from the padding: true
 *   saved and read again, bit for bit: true
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyLengths, scaledDotProductAttention } from "heed";
import { openSafetensors, readNpy, saveFile, writeNpy, writeSafetensors } from "heed/io";

const folder = await mkdtemp(join(tmpdir(), "heed-example-"));
const lengths = [40, 22];

/** A file of another program: the padding after the 22 keys of the second entry is NaN. */
async function dump(): Promise<string> {
  const make = (N: number, phase: number) => {
    const data = Float32Array.from({ length: 2 * 4 * N * 16 }, (_, i) => Math.sin(i * 0.7 + phase));
    if (N === 40) for (let h = 4; h < 8; h++) data.fill(Number.NaN, (h * 40 + 22) * 16, (h + 1) * 40 * 16);
    return { data, shape: [2, 4, N, 16] };
  };
  const path = join(folder, "qkv.safetensors");
  await saveFile(path, writeSafetensors({ query: make(33, 0), key: make(40, 1), value: make(40, 2) }));
  return path;
}

const file = await openSafetensors(
  process.argv[2]?.endsWith(".safetensors") ? process.argv[2] : await dump(),
);
for (const [name, { shape, dtype }] of file.tensors) console.log(`${name} [${shape.join(", ")}] ${dtype}`);
const [q, k, v] = await Promise.all(["query", "key", "value"].map((name) => file.read(name)));
await file.close();

const { output } = scaledDotProductAttention(q, k, v, { attnMask: keyLengths(lengths) });
const clean = output.toFloat64().every(Number.isFinite);
console.log(`output [${output.shape.join(", ")}], no NaN from the padding: ${clean}`);

const target = join(folder, "output.npy");
await saveFile(target, writeNpy(output)); // whole or not at all
const again = readNpy(await readFile(target)).data as Float32Array;
console.log(`saved and read again, bit for bit: ${again.every((x, i) => Object.is(x, output.data[i]))}`);
await rm(folder, { recursive: true });
