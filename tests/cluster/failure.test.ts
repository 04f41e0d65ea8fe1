/**
 * A job whose rank is lost ends on all ranks within seconds, leaves no process and no partial file, and continues from its
 * checkpoint with the bits of an uninterrupted run.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inTurn } from "../support/cases/count.ts";
import { type Ended, implementations, runRanks } from "../support/processes/mpi.ts";

const RANKS = 3;
const PROGRAM = "tests/cluster/victim.ts";
/** Seconds that a process may take to end after its job, on a machine of any load. */
const LEAVE = 120;
const TIMEOUT = 300_000;
const all = implementations();
/** The implementations of this machine take turns: launchers differ, ranks do not. */
const installed = all.filter((mpi) => mpi.installed);
const jobs = installed.length > 1 ? inTurn(installed, 2) : all;
const root = mkdtempSync(join(tmpdir(), "heed-cluster-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Running processes of a job. */
const processesOf = (folder: string): string[] =>
  readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(folder);
    } catch {
      return false;
    }
  });

async function expectNoneRunning(folder: string): Promise<void> {
  const began = performance.now();
  while (processesOf(folder).length > 0) {
    if (performance.now() - began > 1000 * LEAVE)
      expect.fail(`still running ${LEAVE} s after the job: ${processesOf(folder).join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * The job ended by itself with an error, and no process is left. Prints how soon after the failure; jobs of which a rank was
 * killed have no time limit, so that they end only if the loss was noticed.
 */
async function expectEnded(ended: Ended, folder: string): Promise<void> {
  expect(ended.status, `${ended.signal}: ${ended.stdout}${ended.stderr}`).not.toBeNull();
  expect(ended.status, `${ended.stdout}${ended.stderr}`).not.toBe(0);
  const failed = `${folder}-failed-at`;
  expect(existsSync(failed), `no rank has failed: ${ended.stdout}${ended.stderr}`).toBe(true);
  const failedAt = Number(readFileSync(failed, "utf8"));
  const seconds = ((ended.at - failedAt) / 1000).toFixed(1);
  process.stderr.write(`the job in ${basename(dirname(folder))} ended ${seconds} s after the failure\n`);
  await expectNoneRunning(folder);
}

const newFolder = (name: string): string => {
  const folder = join(mkdtempSync(join(root, `${name}-`)), "run");
  mkdirSync(folder);
  return folder;
};

const PHASES = [
  ["start", "before it joins"],
  ["computing", "while it computes and the others wait for it"],
  ["exchange", "while all wait for a message"],
  ["checkpoint", "while a checkpoint is written"],
] as const;

for (const mpi of jobs)
  describe.skipIf(!mpi.installed)(`a job of ${mpi.name}`, () => {
    const run = (folder: string, phase: string, victim: number, env: Record<string, string> = {}) =>
      runRanks(mpi, RANKS, PROGRAM, [folder, phase, String(victim)], env);
    let undisturbed = "";
    let checkpointBytes = 0;
    beforeAll(async () => {
      const folder = newFolder("undisturbed");
      const ended = await run(folder, "none", 0);
      expect(ended.stderr).toBe("");
      undisturbed = ended.stdout;
      checkpointBytes = statSync(join(folder, "checkpoint")).size;
    }, TIMEOUT);

    it.each(PHASES)(
      "SIGKILL of a rank (%s: %s) ends the job on all ranks, and the resumed run has the bits of an uninterrupted one",
      async (phase) => {
        const folders = await Promise.all(
          [0, 1, 2].map(async (victim) => {
            const folder = newFolder(`${phase}-${victim}`);
            await expectEnded(await run(folder, phase, victim, { HEED_MPI_TIMEOUT: "0" }), folder);
            return folder;
          }),
        );
        // On another number of ranks; one job resumes all folders.
        const again = await runRanks(mpi, 2, PROGRAM, [folders.join(), "none", "0"]);
        expect(again.stderr).toBe("");
        expect(again.stdout).toBe(undisturbed.repeat(folders.length));
      },
      TIMEOUT,
    );

    it(
      "a rank that never starts: the others say so and end the job",
      async () => {
        await Promise.all(
          [0, 2].map(async (victim) => {
            const folder = newFolder(`never-${victim}`);
            const ended = await run(folder, "never", victim, { HEED_MPI_TIMEOUT: "2" });
            expect(ended.stderr).toContain(
              "heed/cluster: MPI_Init has not ended within 2 s: a rank of 3 has not started",
            );
            await expectEnded(ended, folder);
          }),
        );
      },
      TIMEOUT,
    );

    it(
      "an error on one rank ends the job with its message",
      async () => {
        const folder = newFolder("throw");
        const ended = await run(folder, "throw", 1);
        expect(ended.stderr).toContain("rank 1 of 3 ends the job: Error: a mistake on one rank");
        await expectEnded(ended, folder);
        expect(readdirSync(folder)).toEqual(["checkpoint"]);
      },
      TIMEOUT,
    );

    it(
      "a full disk at the checkpoint ends the job with its message; the checkpoint before it is whole",
      async () => {
        const folder = newFolder("disk");
        const disk = mountSmallDisk(folder, checkpointBytes);
        try {
          const ended = await run(folder, "disk", 0, disk ? {} : { HEED_TEST_ENOSPC: "1" });
          expect(ended.stderr).toMatch(/rank 0 of 3 ends the job: .*no space left on device/);
          await expectEnded(ended, folder);
          expect(readdirSync(folder)).toEqual(["checkpoint"]);
        } finally {
          disk?.unmount();
        }
      },
      TIMEOUT,
    );

    it(
      "a rank that has stopped: the others say rank, operation and bytes, and end the job",
      async () => {
        const folder = newFolder("stopped");
        const ended = await run(folder, "stopped", 1, { HEED_MPI_TIMEOUT: "4" });
        expect(ended.stderr).toMatch(
          /heed\/cluster: rank [02] of 3: allGather of 12000 bytes has not ended within 4 s; a rank has stopped or is lost/,
        );
        await expectEnded(ended, folder);
      },
      TIMEOUT,
    );
  });

/**
 * A file system in `folder` that holds one checkpoint and not a second one beside it. Undefined where this process may not
 * mount one; the full disk is an error of the test's own then.
 */
function mountSmallDisk(folder: string, checkpointBytes: number): { unmount(): void } | undefined {
  const kib = Math.ceil((1.5 * checkpointBytes) / 1024);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${kib}k`, "tmpfs", folder], {
    encoding: "utf8",
  });
  if (mounted.status !== 0) {
    process.stderr.write("left out: a real full disk, because a tmpfs cannot be mounted; ENOSPC is thrown\n");
    return undefined;
  }
  return { unmount: () => void spawnSync("umount", ["-l", folder]) };
}
