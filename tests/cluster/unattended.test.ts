/**
 * The recipes of docs/09-cluster.md for runs that nobody watches: examples/cluster/train.sh on two hosts and as the first process of a
 * container, killed and started again by the same line. The hosts are network namespaces and the container a process namespace;
 * Slurm and Kubernetes themselves are not here.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { at, pinned } from "../../tools/setup.mjs";
import { implementations } from "../support/processes/mpi.ts";
import { makeHosts } from "../support/processes/namespaces.ts";

const openMpi = implementations().find(({ name, installed }) => name === "Open MPI" && installed);
const folder = mkdtempSync(join(tmpdir(), "heed-unattended-"));
const hosts = openMpi ? makeHosts(folder) : "Open MPI is missing";
const CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"];
const contained = spawnSync(CONTAINER[0], [...CONTAINER.slice(1), "true"]);
const noContainer =
  contained.status === 0
    ? undefined
    : `no process namespace: ${contained.error?.message ?? contained.stderr}`;
for (const reason of [typeof hosts === "string" ? hosts : undefined, noContainer])
  if (reason) process.stderr.write(`skipped: unattended runs, because ${reason}\n`);

const OPTIONS =
  "--layers 1 --heads 2 --width 16 --inner 24 --vocab 300 --context 16 --batch 4 --accumulate 2 --steps 60 --checkpoint-every 5 --evaluate-every 5 --simd strict --threads 1";

beforeAll(async () => {
  const lines = Array.from(
    { length: 400 },
    (_, n) => `The dog ${n} saw the cat and went to tree ${(n * 7) % 13}.`,
  );
  writeFileSync(join(folder, "text.txt"), lines.join("\n"));
  writeFileSync(join(folder, "heed"), `#!/bin/sh\nexec ${pinned()} ${at("src/cli/main.ts")} "$@"\n`);
  chmodSync(join(folder, "heed"), 0o755);
  expect((await ended(start("unbroken"))).code).toBe(0);
}, 60_000);
afterAll(() => {
  if (typeof hosts !== "string") hosts.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** The line of the recipes. It is the same at each start. */
function start(model: string, launch = "", before: readonly string[] = []): ChildProcess {
  const [command, ...args] = [...before, "sh", at("examples/cluster/train.sh"), model, "text.txt"];
  return spawn(command, [...args, ...OPTIONS.split(" ")], {
    cwd: folder,
    env: {
      ...process.env,
      ...openMpi?.env,
      PATH: `${folder}:${process.env.PATH}`,
      LAUNCH: launch,
      HEED_MPI_QUIET: "1",
      NODE_NO_WARNINGS: "1",
    },
  });
}

interface Run {
  readonly code: number | null;
  readonly text: string;
}

function ended(run: ChildProcess): Promise<Run> {
  let text = "";
  run.stdout?.setEncoding("utf8").on("data", (part) => (text += part));
  run.stderr?.setEncoding("utf8").on("data", (part) => (text += part));
  return new Promise((resolve) => run.on("close", (code) => resolve({ code, text })));
}

/** Resolves when the run has saved a checkpoint. */
async function saved(model: string): Promise<void> {
  while (!existsSync(join(folder, model, "checkpoint.safetensors")))
    await new Promise((resolve) => setTimeout(resolve, 20));
}

const weights = (model: string) => readFileSync(join(folder, model, "model.safetensors"));

/** The process of a rank of the run that writes `model`. */
function rankOf(model: string, rank: number): number {
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8");
    } catch {
      return "";
    }
  };
  const pid = readdirSync("/proc").find(
    (one) =>
      read(one, "cmdline").includes(`main.ts\0train\0`) &&
      read(one, "cmdline").includes(`\0-o\0${model}\0`) &&
      read(one, "environ").includes(`OMPI_COMM_WORLD_RANK=${rank}\0`),
  );
  if (pid === undefined) throw new Error(`no rank ${rank} of ${model}`);
  return Number(pid);
}

describe.skipIf(typeof hosts === "string")("on two hosts", () => {
  const launch = () => {
    if (typeof hosts === "string" || !openMpi) throw new Error("no hosts");
    const [first, second] = hosts.addresses;
    return [
      ...[
        ...hosts.onFirst([]),
        openMpi.launcher,
        ...openMpi.args,
        "-n",
        "2",
        "--host",
        `${first}:1,${second}:1`,
      ],
      ...["--mca", "plm_rsh_agent", hosts.agent, "--mca", "btl", "tcp,self"],
      ...["--mca", "btl_tcp_if_include", `${first}/24`, "--mca", "oob_tcp_if_include", `${first}/24`],
    ].join(" ");
  };

  // The host of rank 0: slurm.test.ts.
  it("rank 1 is killed: the job ends, the same line resumes it, and the weights have the bits of a run that nothing stopped", async () => {
    const model = "killed";
    const run = ended(start(model, launch()));
    await Promise.race([saved(model), run.then(({ text }) => Promise.reject(new Error(text)))]);
    process.kill(rankOf(model, 1), "SIGKILL");
    expect((await run).code).not.toBe(0);
    const again = await ended(start(model, launch()));
    expect(again, again.text).toMatchObject({ code: 0 });
    expect(again.text).toMatch(/resuming at step [1-9]/);
    expect(weights(model).equals(weights("unbroken"))).toBe(true);
  }, 120_000);
});

describe.skipIf(noContainer)("as the first process of a container", () => {
  const inside = [...CONTAINER, "sh", "-c", 'hostname pod-0; exec "$@"', "pod"];

  it("killed and started again, it takes over the lock of its dead namesake and ends with the same bits", async () => {
    const first = start("pod", "", inside);
    const killed = ended(first);
    await Promise.race([saved("pod"), killed.then(({ text }) => Promise.reject(new Error(text)))]);
    first.kill("SIGKILL"); // the kernel then kills every process of the namespace
    await killed;
    expect(JSON.parse(readFileSync(join(folder, "pod", ".heed-lock"), "utf8"))).toMatchObject({ pid: 1 });
    const again = await ended(start("pod", "", inside));
    expect(again, again.text).toMatchObject({ code: 0 });
    expect(again.text).toMatch(/resuming at step [1-9]/);
    expect(weights("pod").equals(weights("unbroken"))).toBe(true);
  }, 120_000);

  it("SIGTERM saves a checkpoint and ends the container with 143", async () => {
    const run = start("stopped", "", inside);
    const stopped = ended(run);
    await Promise.race([saved("stopped"), stopped.then(({ text }) => Promise.reject(new Error(text)))]);
    const children = readFileSync(`/proc/${run.pid}/task/${run.pid}/children`, "utf8");
    process.kill(Number(children.trim().split(" ")[0]), "SIGTERM");
    expect(await stopped).toMatchObject({
      code: 143,
      text: expect.stringMatching(/the checkpoint is saved/),
    });
    const again = await ended(start("stopped", "", inside));
    expect(again, again.text).toMatchObject({ code: 0 });
    expect(weights("stopped").equals(weights("unbroken"))).toBe(true);
  }, 120_000);
});
