/**
 * examples/cluster/train.sbatch under Slurm, on two hosts of which one fails: the run ends with the bits of an unbroken one.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { at, pinned } from "../../tools/setup.mjs";
import { implementations } from "../support/processes/mpi.ts";
import { makeHosts } from "../support/processes/namespaces.ts";
import { startSlurm } from "../support/processes/slurm.ts";

const root = mkdtempSync(join(tmpdir(), "heed-recipes-"));
const newFolder = (name: string): string => {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
};
/** A host that fails is noticed after 20 s, and the run that takes over its lock waits up to 30 s for a sign of life. */
const TIMEOUT = 600_000;

const openMpi = implementations().find(({ name, installed }) => name === "Open MPI" && installed);
const hosts = openMpi ? makeHosts(newFolder("hosts")) : "Open MPI is missing";
const slurm = typeof hosts === "string" ? hosts : await startSlurm(hosts, newFolder("slurm"));
if (typeof slurm === "string") process.stderr.write(`skipped: the recipe for Slurm, because ${slurm}\n`);
afterAll(async () => {
  if (typeof slurm !== "string") slurm.stop();
  if (typeof hosts !== "string") hosts.remove();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

const OPTIONS = [
  ...["--steps", "160", "--checkpoint-every", "5", "--batch", "8", "--vocab", "300"],
  ...["--layers", "1", "--heads", "2", "--width", "16", "--inner", "24", "--context", "16"],
];
const FILES = ["checkpoint.safetensors", "config.json", "model.safetensors", "tokenizer.json"];
const TEXT = Array.from(
  { length: 150 },
  (_, i) => `The ${"abcdefg"[i % 7]} said "${"hijklmnopqr"[(i * i) % 11]}" to ${i % 13}.`,
).join("\n");

/** A folder as the recipe expects it: the scripts with this text and these options, and heed. */
function makeWork(name: string): string {
  const folder = newFolder(name);
  const line = "moby-dick.txt --checkpoint-every 100";
  const job = readFileSync(at("examples/cluster/train.sbatch"), "utf8");
  expect(job).toContain(line);
  writeFileSync(join(folder, "train.sbatch"), job.replace(line, ["text.txt", ...OPTIONS].join(" ")));
  copyFileSync(at("examples/cluster/train.sh"), join(folder, "train.sh"));
  const heed = join(folder, "heed");
  writeFileSync(heed, `#!/bin/sh\nexec ${pinned()} ${at("src/cli/main.ts")} "$@"\n`);
  chmodSync(heed, 0o755);
  writeFileSync(join(folder, "text.txt"), TEXT);
  return folder;
}

const env = { ...process.env, HEED_THREADS: "1", HEED_MPI_QUIET: "1", NODE_NO_WARNINGS: "1" };
let wanted: Buffer[] = [];
const filesOf = (folder: string) => FILES.map((name) => readFileSync(join(folder, "whale", name)));

beforeAll(() => {
  if (typeof slurm === "string") return;
  const folder = makeWork("unbroken");
  const args = ["train", "text.txt", "-o", "whale", "--accumulate", "8", ...OPTIONS];
  const done = spawnSync(join(folder, "heed"), args, {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  expect(done.status, done.stderr).toBe(0);
  wanted = filesOf(folder);
}, TIMEOUT);

/** Waits until a text contains a match. */
async function until(text: () => string, pattern: RegExp): Promise<void> {
  for (const start = performance.now(); !pattern.test(text()); await wait(50))
    if (performance.now() - start > 240_000) expect.fail(`no ${pattern} in: ${text()}`);
}

const RESUMED = /waiting up to 30 s for a sign of life[\s\S]*resuming at step \d+ of 160/;

it.skipIf(typeof slurm === "string")(
  "Slurm: a run whose host fails is queued again and takes over its own lock; SIGTERM saves a checkpoint and queues it again",
  async () => {
    if (typeof slurm === "string") throw new Error(slurm);
    const folder = makeWork("slurm-work");
    const output = () => {
      try {
        return readFileSync(join(folder, "out.txt"), "utf8");
      } catch {
        return "";
      }
    };
    const path = `${folder}:${process.env.PATH}`;
    const run = (...command: string[]) => slurm.run(folder, command, { ...env, PATH: path });
    const submitted = run("sbatch", "--ntasks-per-node=1", "-o", "out.txt", "train.sbatch");
    const id = /Submitted batch job (\d+)/.exec(submitted)?.[1];
    if (id === undefined) expect.fail(submitted);
    await until(output, /step 40 of/);
    // The host of rank 0, of the lock and of the script.
    await slurm.failHost(0);
    await slurm.startQueued(id);
    await until(output, RESUMED);
    await until(output, /resuming[\s\S]*step 80 of/);
    run("scancel", "--signal=TERM", id);
    await until(output, /stopped after step \d+ of 160; the checkpoint is saved/);
    await slurm.startQueued(id);
    await until(output, /wrote whale/);
    expect(filesOf(folder)).toEqual(wanted);
  },
  TIMEOUT,
);
