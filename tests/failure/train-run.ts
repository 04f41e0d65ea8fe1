/** A small training run that saves checkpoints and continues from an existing one; train.test.ts kills it. */
import { existsSync, readFileSync } from "node:fs";
import { configure } from "../../src/index.ts";
import { languageModel, nextTokenBatch, readCheckpoint, train, Windows } from "../../src/train/index.ts";

export const STEPS = 4;
export const EVERY = 2;

/** Trains to step STEPS, with a checkpoint at `path` every EVERY steps. */
export async function run(path: string): Promise<void> {
  configure({ simd: "strict", threads: 1 });
  const ids = Int32Array.from({ length: 400 }, (_, i) => (i * i + (i >> 3)) % 17);
  const windows = new Windows(ids, [{ start: 0, end: 400 }], { window: 9, overlap: 1, seed: 1 });
  const sizes = { vocabulary: 17, context: 8, layers: 1, heads: 2, width: 8, dropout: 0.1 };
  await train({
    model: languageModel("decoder", sizes),
    data: (step) => [nextTokenBatch([0, 1].map((row) => windows.sequence(2 * step + row)))],
    steps: STEPS,
    checkpoint: { path, every: EVERY },
    resume: existsSync(path) ? readCheckpoint(readFileSync(path)) : undefined,
  });
}
