/**
 * A program that ranks run until one of them is lost: `victim.ts FOLDER PHASE RANK`. It trains a small model with checkpoints
 * in FOLDER; in PHASE the given rank kills itself, throws, or stops. With PHASE `none` it runs to its end, from the
 * checkpoint where there is one.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Communicator, joinCluster } from "../../src/cluster/index.ts";
import { saveFile } from "../../src/io/index.ts";
import { languageModel, nextTokenBatch, readCheckpoint, train } from "../../src/train/index.ts";

const [folder, phase, victim] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const rankOf = () => Number(process.env.OMPI_COMM_WORLD_RANK ?? process.env.PMI_RANK);
const die = (signal: NodeJS.Signals = "SIGKILL") => process.kill(process.pid, signal);

if (phase === "start" && rankOf() === victim) die();
const comm: Communicator = await joinCluster();
const isVictim = comm.rank === victim;
if (phase === "exchange") {
  // Everybody waits for a message that never comes; then one dies.
  if (isVictim) setTimeout(die, 200);
  await comm.exchange(undefined, new Uint8Array(0), (comm.rank + 1) % comm.size, new Uint8Array(1 << 20));
}
if (phase === "stopped") {
  if (isVictim) die("SIGSTOP");
  else await comm.allGather(new Float32Array(1000), new Float32Array(1000 * comm.size));
}

const path = join(folder, "checkpoint");
const step = (n: number) =>
  Array.from({ length: 6 }, (_, m) =>
    nextTokenBatch([Int32Array.from({ length: 9 }, (_, i) => (n * 31 + m * 7 + i * i) % 13)]),
  );
const resume = existsSync(path) ? readCheckpoint(readFileSync(path)) : undefined;
const { losses } = await train({
  model: languageModel("decoder", { vocabulary: 13, context: 8, layers: 1, heads: 2, width: 8, seed: 1 }),
  data: step,
  steps: 6,
  comm,
  ...(resume && { resume }),
  checkpoint: {
    path,
    every: 2,
    save: async (to, bytes) => {
      if (phase === "disk" && resume === undefined && existsSync(path))
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      const saved = saveFile(to, bytes);
      // While the second checkpoint is being written.
      if (phase === "checkpoint" && existsSync(path)) die();
      await saved;
    },
  },
  onStep: ({ step }) => {
    if (phase === "computing" && isVictim && step === 3) die();
    if (phase === "throw" && isVictim && step === 3) throw new Error("a mistake on one rank");
  },
});
if (comm.rank === 0) process.stdout.write(`${JSON.stringify(losses)}\n`);
await comm.close();
