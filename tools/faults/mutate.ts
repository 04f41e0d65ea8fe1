/**
 * Reads many corrupted files: `node tools/faults/mutate.ts [--count 1000000] [--seed N] [--format npy]` (Node ≥ 24). Prints how many
 * were valid and the error codes of the others. At the first file that gives neither tensors nor a FormatError, it ends with an
 * error that names the seed and the file.
 */
import { parseArgs } from "node:util";
import { FORMATS, type Format, readMutants } from "../../tests/files/mutants.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string" },
    seed: { type: "string" },
    format: { type: "string", multiple: true },
  },
});
const count = Number(values.count ?? 1_000_000);
const first = Number(values.seed ?? Date.now() % 2 ** 32);
const BATCH = 100_000;

for (const format of (values.format as Format[] | undefined) ?? FORMATS) {
  if (!FORMATS.includes(format)) throw new Error(`--format is one of ${FORMATS.join(", ")}, not ${format}`);
  for (let done = 0; done < count; done += BATCH) {
    const seed = (first + done) % 2 ** 32;
    const { mutants, accepted, refused, slowest } = await readMutants(
      format,
      Math.min(BATCH, count - done),
      seed,
    );
    const heap = Math.round(process.memoryUsage().rss / 2 ** 20);
    const codes = Object.entries(refused).sort(([, a], [, b]) => b - a);
    console.log(
      `${format} seed ${seed}: ${mutants} files, ${accepted} valid, slowest ${slowest.toFixed(1)} ms, ${heap} MiB; ` +
        codes.map(([code, n]) => `${code} ${n}`).join(", "),
    );
  }
}
