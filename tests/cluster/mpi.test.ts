/** heed/cluster on real processes: Open MPI and MPICH, several ranks on this machine. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { localCluster } from "../../src/cluster/communicator/local.ts";
import { at, pinned, toolchain } from "../../tools/setup.mjs";
import { implementations, runRanks } from "../support/processes/mpi.ts";

const all = implementations();
const installed = all.filter((mpi) => mpi.installed);

/** A Node that has node:ffi. */
const node26 = installed.length > 0 ? toolchain(26) : undefined;
if (installed.length > 0 && node26 === undefined)
  process.stderr.write(
    "skipped: tests of heed/cluster over node:ffi, because Node 26 could not be had from npm\n",
  );

/** Settings of a Node that finds no package koffi. */
const WITHOUT_KOFFI = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    'import { registerHooks } from "node:module"; registerHooks({ resolve(name, context, next) { if (name === "koffi") throw new Error("no koffi"); return next(name, context); } });',
  )}`,
};

/** The bits of the sum that `operations.ts` prints, from ranks in this process. */
async function localSum(size: number): Promise<number[]> {
  const sums = await localCluster(size, async (comm) => {
    const inexact = Float32Array.from({ length: 1000 }, (_, n) => Math.sin(n + 1000 * comm.rank));
    await comm.reduce(inexact);
    return [...new Uint32Array(inexact.buffer)].slice(0, 8);
  });
  return sums[0];
}

for (const mpi of all)
  describe.skipIf(!mpi.installed)(mpi.name, () => {
    it.each([3])(
      "%i ranks: every operation is right, and has the bits of ranks in one process",
      async (size) => {
        const ended = await runRanks(mpi, size, "tests/cluster/operations.ts", [], { HEED_MPI_QUIET: "0" });
        expect(ended.status, ended.stderr).toBe(0);
        const printed = JSON.parse(ended.stdout);
        expect(printed.size).toBe(size);
        expect(printed.engine).toMatch(
          mpi.name === "MPICH" ? /^mpi \(MPICH.*koffi/ : /^mpi \(Open MPI.*koffi/,
        );
        // Rank 0 prints once which library was found, and there is no other output.
        expect(ended.stderr).toBe(
          `heed/cluster: ${size} ranks, ${printed.engine}; HEED_MPI_QUIET=1 turns this line off\n`,
        );
        expect(printed.sum).toEqual(await localSum(size));
        expect(printed.sleeps).toBeGreaterThan(10);
      },
    );

    it.skipIf(node26 === undefined)("without koffi, Node 26 calls MPI through node:ffi", async () => {
      const ended = await runRanks(mpi, 2, "tests/cluster/operations.ts", [], WITHOUT_KOFFI, node26);
      expect(ended.stderr).toBe("");
      const { engine, sum } = JSON.parse(ended.stdout);
      expect(engine).toMatch(/node:ffi\)$/);
      expect(sum).toEqual(await localSum(2));
    });

    it("heed train gives the same files on 2 and 4 ranks, and one error that all ranks know", async () => {
      const folder = mkdtempSync(join(tmpdir(), "heed-train-"));
      try {
        const text = join(folder, "text.txt");
        writeFileSync(text, "the cat sat on the mat and the dog ate the hat. ".repeat(200));
        const command = (ranks: number, output: string, ...more: string[]) =>
          runRanks(mpi, ranks, "src/cli/main.ts", [
            ...["train", text, "-o", join(folder, output), "--steps", "3", "--batch", "8", "--vocab", "300"],
            ...["--layers", "1", "--width", "16", "--heads", "2", "--context", "16", ...more],
          ]);
        const [ranks2, ranks4] = [await command(2, "two"), await command(4, "four")];
        expect([ranks2.status, ranks4.status], ranks2.stderr + ranks4.stderr).toEqual([0, 0]);
        // Only rank 0 prints.
        expect(ranks2.stdout.match(/parameters, \d+ token ids/g)).toHaveLength(1);
        const bytes = (output: string) => readFileSync(join(folder, output, "checkpoint.safetensors"));
        expect(bytes("four").equals(bytes("two"))).toBe(true);
        const again = await command(2, "two");
        expect(again.status).toBe(1);
        expect(again.stderr.match(/already has a checkpoint\.safetensors/g)).toHaveLength(1);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it.skipIf(installed.length < 2)(
      "a library of another implementation than the launcher's is named in an error",
      async () => {
        const other = mpi.name === "MPICH" ? "openmpi" : "mpich";
        const ended = await runRanks(mpi, 2, "tests/cluster/operations.ts", [], { HEED_MPI: other });
        expect(ended.status).not.toBe(0);
        expect(ended.stderr).toMatch(
          /the launcher started 2 ranks, but .* sees 1: library and launcher are of different implementations/,
        );
      },
    );
  });

describe("without mpirun", () => {
  const alone = (env: Record<string, string>) =>
    spawnSync(pinned(), [at("tests/cluster/operations.ts")], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_NO_WARNINGS: "1", ...env },
    });

  it("a process started without a launcher is a cluster of one rank", () => {
    const { status, stdout } = alone({});
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ size: 1, engine: "local" });
  });

  it("a missing library is one error that says what installs it", () => {
    const { status, stderr } = alone({ HEED_MPI: "/nowhere/libmpi.so" });
    expect(status).not.toBe(0);
    expect(stderr).toContain("no MPI library was found for HEED_MPI=/nowhere/libmpi.so");
    expect(stderr).toContain("apt-get install openmpi-bin libopenmpi3 && npm install koffi");
  });

  it("a runtime with neither koffi nor node:ffi gets one error that says what installs koffi", () => {
    const { status, stderr } = alone({ HEED_MPI: "openmpi", ...WITHOUT_KOFFI });
    expect(status).not.toBe(0);
    expect(stderr).toContain("which is not installed or does not run here; install it: npm install koffi");
    const forced = alone({ HEED_MPI: "openmpi", HEED_FFI: "node:ffi" });
    expect(forced.stderr).toContain("HEED_FFI=node:ffi, but Node 24");
    expect(alone({ HEED_MPI: "openmpi", HEED_FFI: "bun" }).stderr).toContain(
      'HEED_FFI must be koffi or node:ffi, got "bun"',
    );
  });

  it("a rank that npx started, without MPICH's socket, gets one error that says how to start it", () => {
    // npx closes the launcher's file descriptor; Node then uses the number for something else, or nothing does.
    for (const fd of ["0", "977"]) {
      const { status, stderr } = alone({ PMI_RANK: "0", PMI_SIZE: "2", PMI_FD: fd });
      expect(status).not.toBe(0);
      expect(stderr).toContain(`file descriptor ${fd} (PMI_FD), was not passed on to this process`);
      expect(stderr).toContain("mpirun -n 4 node_modules/.bin/heed");
    }
  });

  it.skipIf(process.platform !== "linux")("a library that is none of MPI is named in an error", () => {
    const { status, stderr } = alone({ HEED_MPI: "libm.so.6" });
    expect(status).not.toBe(0);
    expect(stderr).toContain("libm.so.6 is not an MPI library");
  });
});
