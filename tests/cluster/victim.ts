/**
 * A program that ranks run until one of them is lost: `victim.ts FOLDER PHASE RANK`. It trains a small model with checkpoints
 * in FOLDER; in PHASE the given rank kills itself, throws, stops, never joins, or finds the disk full. With PHASE `none` it
 * runs to its end, from the checkpoint where there is one; FOLDER may then be several, separated by commas, one run each.
 * The file FOLDER-failed-at has the time of the failure, in milliseconds since 1970. Where a rank never joins, that is the time
 * when another one does: it cannot notice earlier.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Communicator, joinCluster } from "../../src/cluster/index.ts";
import { saveFile } from "../../src/io/index.ts";
import { languageModel, nextTokenBatch, readCheckpoint, train } from "../../src/train/index.ts";

const [folders, phase, victim] = [process.argv[2].split(","), process.argv[3], Number(process.argv[4])];
const { OMPI_COMM_WORLD_RANK, PMI_RANK, OMPI_COMM_WORLD_SIZE, PMI_SIZE } = process.env;
const rank = Number(OMPI_COMM_WORLD_RANK ?? PMI_RANK);
const size = Number(OMPI_COMM_WORLD_SIZE ?? PMI_SIZE);
const mark = () => writeFileSync(`${folders[0]}-failed-at`, String(Date.now()));
const die = (signal: NodeJS.Signals = "SIGKILL") => {
  mark();
  process.kill(process.pid, signal);
};

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
if (phase === "start" && rank === victim) die();
if (phase === "never") {
  // Alive, but it does not join; the launcher ends it with the job.
  if (rank === victim) await sleep(600_000);
  mark();
}
if (phase === "stopped") {
  // The time limit of this phase is for MPI_Init too, and processes of a busy machine start seconds apart.
  const started = (one: number) => `${folders[0]}-started-${one}`;
  writeFileSync(started(rank), "");
  for (let one = 0; one < size; one++) while (!existsSync(started(one))) await sleep(20);
}
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

const step = (n: number) =>
  Array.from({ length: 6 }, (_, m) =>
    nextTokenBatch([Int32Array.from({ length: 9 }, (_, i) => (n * 31 + m * 7 + i * i) % 13)]),
  );

async function run(folder: string): Promise<readonly number[]> {
  const path = join(folder, "checkpoint");
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
        const isSecond = existsSync(path) && resume === undefined;
        if (phase === "disk" && isSecond) mark();
        // Where no small disk can be mounted.
        if (phase === "disk" && isSecond && process.env.HEED_TEST_ENOSPC)
          throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        const saved = saveFile(to, bytes);
        // While the second checkpoint is being written.
        if (phase === "checkpoint" && isVictim && isSecond) die();
        await saved;
      },
    },
    onStep: ({ step }) => {
      if (phase === "computing" && isVictim && step === 3) die();
      // Rank 0 writes the checkpoint; any other rank is lost meanwhile.
      if (phase === "checkpoint" && isVictim && comm.rank !== 0 && step === 4) die();
      if (phase === "throw" && isVictim && step === 3) {
        mark();
        throw new Error("a mistake on one rank");
      }
    },
  });
  return losses;
}

for (const folder of folders) {
  const losses = await run(folder);
  if (comm.rank === 0) process.stdout.write(`${JSON.stringify(losses)}\n`);
}
await comm.close();
