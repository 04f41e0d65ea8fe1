/**
 * heed/cluster on real processes: Open MPI and MPICH, several ranks on this machine. What takes long takes turns: for each commit one
 * signal on each implementation, training on one of them, and checks of every call on the other.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { localCluster } from "../../src/cluster/communicator/local.ts";
import { at, pinned, toolchain } from "../../tools/setup.mjs";
import { isItsTurn } from "../support/cases/count.ts";
import { implementations, runRanks, startRanks } from "../support/processes/mpi.ts";

const all = implementations();
const installed = all.filter((mpi) => mpi.installed);
/** One implementation runs everything, two take turns. */
const isAlone = installed.length < 2;

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

/** Process numbers of the ranks whose command line has this text; the launcher has it too. */
const ranksOf = (text: string): number[] =>
  readdirSync("/proc").flatMap((name) => {
    try {
      const [program, ...args] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return /node$/.test(program) && args.includes(text) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });

for (const [number, mpi] of all.entries())
  describe.skipIf(!mpi.installed)(mpi.name, () => {
    const runs = [
      ["", "0"],
      [", every call checked", "1"],
    ] as const;
    it.each(runs.slice(0, isAlone || isItsTurn(number + 1, 2) ? 2 : 1))(
      "3 ranks%s: every operation is right, and has the bits of ranks in one process",
      async (_, check) => {
        const size = 3;
        const env = { HEED_MPI_QUIET: "0", HEED_MPI_CHECK: check };
        const ended = await runRanks(mpi, size, "tests/cluster/operations.ts", [], env);
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
        expect(printed.shareOfWait, "processor time of a rank that waits").toBeLessThan(0.6);
      },
    );

    it.skipIf(node26 === undefined)("without koffi, Node 26 calls MPI through node:ffi", async () => {
      const ended = await runRanks(mpi, 2, "tests/cluster/operations.ts", [], WITHOUT_KOFFI, node26);
      expect(ended.stderr).toBe("");
      const { engine, sum } = JSON.parse(ended.stdout);
      expect(engine).toMatch(/node:ffi\)$/);
      expect(sum).toEqual(await localSum(2));
    });

    it("a message of another length is an error on the rank that expects it, and nothing is written past its array", async ({
      skip,
    }) => {
      // Open MPI copies a large message past the end of an array where it copies in one step, which other tests turn off.
      const oneStep = { ...mpi, env: mpi.name === "Open MPI" ? {} : mpi.env };
      const run = (cases: readonly (readonly [string, number, number])[]) =>
        runRanks(oneStep, 2, "tests/cluster/lengths.ts", [JSON.stringify(cases)]);
      const equal = await run([["exchange", 2 ** 20, 2 ** 20]]);
      if (equal.stdout !== '[{"failure":"no error","isWhole":true}]\n' && mpi.name === "Open MPI")
        skip("this machine refuses copies from process to process");
      const other = [
        ["exchange", 2 ** 20, 2 ** 19, "rank 0 sent 1048576 bytes, but rank 1 expected 524288"],
        ["exchange", 2 ** 20, 2 ** 10, "rank 0 sent 1048576 bytes, but rank 1 expected 1024"],
        ["exchange", 2 ** 10, 2 ** 13, "rank 0 sent 1024 bytes, but rank 1 expected 8192"],
        ["allGather", 2 ** 20, 2 ** 19, "allGather of 2097152 bytes on rank 0, but of 1048576 bytes"],
        ["broadcast", 2 ** 20, 2 ** 19, "broadcast of 1048576 bytes on rank 0, but of 524288 bytes"],
        ["allToAll", 2 ** 20, 2 ** 19, "rank 0 sent 1048576 bytes, but rank 1 expected 524288"],
        ["reduce", 2 ** 20, 2 ** 19, "reduce of 1048576 bytes on rank 0, but of 524288 bytes"],
      ] as const;
      const { status, stdout, stderr } = await run(other.map(([operation, n, m]) => [operation, n, m]));
      expect(status, stderr).toBe(0);
      expect(JSON.parse(stdout)).toEqual(
        other.map(([, , , message]) => ({ failure: expect.stringContaining(message), isWhole: true })),
      );
    });

    const SIGNALS = [
      ["SIGTERM", 143],
      ["SIGHUP", 129],
    ] as const;
    const signals = isAlone ? SIGNALS : SIGNALS.filter((_, at) => isItsTurn(number + at, 2));
    it.each(signals)(
      "%s to one rank: all save one checkpoint, and the job ends with %i, as alone",
      async (signal, code) => {
        const folder = mkdtempSync(join(tmpdir(), "heed-signal-"));
        try {
          const [text, output] = [join(folder, "text.txt"), join(folder, "model")];
          writeFileSync(text, "the cat sat on the mat and the dog ate the hat. ".repeat(200));
          const job = startRanks(
            mpi,
            2,
            "src/cli/main.ts",
            [
              ...["train", text, "-o", output, "--steps", "1000", "--batch", "8", "--vocab", "300"],
              ...["--layers", "1", "--width", "16", "--heads", "2", "--context", "16"],
            ],
            { HEED_MPI_CHECK: "1" },
          );
          let isOver = false;
          void job.ended.then(() => {
            isOver = true;
          });
          // Before the first step there is nothing to save.
          while (!isOver && !/^step \d+ of/m.test(job.text())) await wait(50);
          if (!isOver) process.kill(ranksOf(output).at(-1) as number, signal);
          const ended = await job.ended;
          expect(ended.status, ended.stdout + ended.stderr).toBe(code);
          expect(ended.stderr).toMatch(/stopped after step \d+ of 1000; the checkpoint is saved/);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      },
    );

    const trains = isAlone || isItsTurn(number, 2);
    if (trains)
      it("heed train gives the same files on 2 and 4 ranks, and one error that all ranks know", async () => {
        const folder = mkdtempSync(join(tmpdir(), "heed-train-"));
        try {
          const text = join(folder, "text.txt");
          writeFileSync(text, "the cat sat on the mat and the dog ate the hat. ".repeat(200));
          const command = (ranks: number, output: string, ...more: string[]) =>
            runRanks(mpi, ranks, "src/cli/main.ts", [
              ...[
                "train",
                text,
                "-o",
                join(folder, output),
                "--steps",
                "3",
                "--batch",
                "8",
                "--vocab",
                "300",
              ],
              ...["--layers", "1", "--width", "16", "--heads", "2", "--context", "16", ...more],
            ]);
          const [ranks2, ranks4] = [await command(2, "two"), await command(4, "four")];
          expect([ranks2.status, ranks4.status], ranks2.stderr + ranks4.stderr).toEqual([0, 0]);
          // Only rank 0 prints.
          expect(ranks2.stdout.match(/parameters, \d+ token ids/g)).toHaveLength(1);
          const bytes = (output: string) => readFileSync(join(folder, output, "checkpoint.safetensors"));
          expect(bytes("four").equals(bytes("two"))).toBe(true);
          // Pairs of ranks share each sequence: the losses are those of one process, up to rounding.
          const pairs = await command(4, "pairs", "--sequence-ranks", "2", "--shard-optimizer");
          expect(pairs.status, pairs.stderr).toBe(0);
          const lossOf = (output: string) =>
            JSON.parse(readFileSync(join(folder, output, "training.json"), "utf8")).loss;
          expect(Math.abs(lossOf("pairs") - lossOf("two"))).toBeLessThan(1e-5);
          // The optimizer's state and the checkpoint in four parts, from which two ranks continue.
          const divided = await command(4, "divided", "--shard-optimizer");
          expect(divided.status, divided.stderr).toBe(0);
          const parts = readdirSync(join(folder, "divided")).filter((name) => /\d-of-4/.test(name));
          expect(parts).toHaveLength(4);
          for (const output of ["two", "divided"]) {
            const line = ["train", text, "-o", join(folder, output), "--resume", "--steps", "4"];
            const ended = await runRanks(mpi, 2, "src/cli/main.ts", line);
            expect(ended.status, ended.stderr).toBe(0);
          }
          const model = (output: string) => readFileSync(join(folder, output, "model.safetensors"));
          expect(model("divided").equals(model("two"))).toBe(true);
          expect(readdirSync(join(folder, "divided")).filter((name) => /\d-of-[24]/.test(name))).toHaveLength(
            6,
          );
          // An encoder with dropout drops the same elements in pairs; one pair and two have the same bits.
          const options = ["--kind", "encoder", "--dropout", "0.2"];
          const inPairs = [...options, "--sequence-ranks", "2"];
          for (const ended of [
            await command(2, "encoder", ...options),
            await command(2, "pair", ...inPairs, "--accumulate", "8"),
            await command(4, "two-pairs", ...inPairs, "--accumulate", "8"),
          ])
            expect(ended.status, ended.stderr).toBe(0);
          expect(bytes("two-pairs").equals(bytes("pair"))).toBe(true);
          expect(Math.abs(lossOf("pair") - lossOf("encoder"))).toBeLessThan(1e-5);
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
