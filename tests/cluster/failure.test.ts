/**
 * What happens to a job when a rank is lost: it ends on all ranks within seconds, leaves no process and no partial file, and
 * goes on from its checkpoint with the bits of a run that was never disturbed.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { implementations, runRanks } from "../support/mpi.ts";

const RANKS = 3;
const found = implementations();
const root = mkdtempSync(join(tmpdir(), "heed-cluster-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Processes of a job that are still there. */
const left = (folder: string): string[] =>
  readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(folder);
    } catch {
      return false;
    }
  });

async function noneLeft(folder: string): Promise<void> {
  const began = performance.now();
  while (left(folder).length > 0) {
    if (performance.now() - began > 15_000) expect.fail(`processes are left: ${left(folder).join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

it.skipIf(found.length > 0)("is left out where neither Open MPI nor MPICH is installed", () => {
  expect(found).toEqual([]);
});

const KILLED = [
  ["before it joins", "start", 1],
  ["while it computes and the others wait for it", "computing", 2],
  ["while all wait for a message", "exchange", 0],
  ["while it writes a checkpoint", "checkpoint", 0],
] as const;

for (const [at, mpi] of found.entries())
  describe(`a job of ${mpi.name}`, () => {
    let undisturbed = "";
    beforeAll(async () => {
      const ended = await runRanks(mpi, RANKS, "tests/cluster/victim.ts", [
        mkdtempSync(join(root, "whole-")),
        "none",
        "0",
      ]);
      expect(ended.stderr).toBe("");
      undisturbed = ended.stdout;
    }, 60_000);

    // The first runs every phase; launchers differ in how they notice a rank that is gone.
    const killed = at === 0 ? KILLED : KILLED.slice(1, 2);
    it.each(killed)("a rank that is killed %s ends the job on all ranks", async (_, phase, victim) => {
      const folder = mkdtempSync(join(root, `${phase}-`));
      const ended = await runRanks(mpi, RANKS, "tests/cluster/victim.ts", [folder, phase, String(victim)]);
      expect(ended.status === 0, `${ended.stdout}${ended.stderr}`).toBe(false);
      expect(ended.seconds).toBeLessThan(20);
      await noneLeft(folder);
      // What is there is whole: the run goes on from it, with the bits of the undisturbed one.
      const again = await runRanks(mpi, 2, "tests/cluster/victim.ts", [folder, "none", "0"]);
      expect(again.stderr).toBe("");
      expect(again.stdout).toBe(undisturbed);
    });

    it("an error on one rank, and a full disk at the checkpoint, end the job with their message", async () => {
      const phases = [
        ["throw", "rank 1 of 3 ends the job: Error: a mistake on one rank"],
        ["disk", "rank 0 of 3 ends the job: Error: ENOSPC: no space left on device"],
      ];
      for (const [phase, message] of at === 0 ? phases : phases.slice(0, 1)) {
        const folder = mkdtempSync(join(root, `${phase}-`));
        const ended = await runRanks(mpi, RANKS, "tests/cluster/victim.ts", [folder, phase, "1"]);
        expect(ended.status).not.toBe(0);
        expect(ended.stderr).toContain(message);
        expect(ended.seconds).toBeLessThan(20);
        await noneLeft(folder);
        expect(readdirSync(folder)).toEqual(["checkpoint"]);
      }
    });

    it("a rank that has stopped is noticed: the others say rank, operation and bytes, and end the job", async () => {
      const folder = mkdtempSync(join(root, "stopped-"));
      const ended = await runRanks(mpi, RANKS, "tests/cluster/victim.ts", [folder, "stopped", "1"], {
        HEED_MPI_TIMEOUT: "2",
      });
      expect(ended.status).not.toBe(0);
      expect(ended.stderr).toMatch(
        /heed\/cluster: rank [02] of 3: allGather of 12000 bytes has not ended within 2 s; a rank has stopped or is lost/,
      );
      await noneLeft(folder);
    });
  });
