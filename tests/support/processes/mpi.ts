/**
 * MPI for the tests that run real processes: Debian's Open MPI and MPICH. `npm test` installs them if they are missing
 * (debian.mjs). If one is not available, its tests are counted as skipped.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, pinned } from "../../../tools/setup.mjs";
import { installPackages } from "./debian.mjs";

/** An implementation: its launcher, what installs it, and the arguments that tests start ranks with. */
interface Implementation {
  readonly name: string;
  readonly launcher: string;
  readonly packages: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const IMPLEMENTATIONS: readonly Implementation[] = [
  {
    name: "Open MPI",
    launcher: "/usr/bin/mpirun.openmpi",
    packages: ["openmpi-bin", "libopenmpi3"],
    args: [
      ...["--oversubscribe", "--bind-to", "none", "--allow-run-as-root"],
      ...["--mca", "mpi_yield_when_idle", "1"],
    ],
    // No copy from process to process in one step, which a container may refuse.
    env: { OMPI_MCA_btl_vader_single_copy_mechanism: "none" },
  },
  {
    name: "MPICH",
    launcher: "/usr/bin/mpirun.mpich",
    packages: ["mpich", "libmpich12"],
    args: [],
    // More ranks than cores: a rank that waits must yield to the others.
    env: { MPIR_CVAR_POLLS_BEFORE_YIELD: "1" },
  },
];

/** The implementations, and whether this machine has them. Prints what installs one that is missing. */
export function implementations(): readonly (Implementation & { readonly installed: boolean })[] {
  installPackages(
    IMPLEMENTATIONS.flatMap(({ packages }) => packages),
    IMPLEMENTATIONS.map(({ launcher }) => launcher),
  );
  for (const { name, launcher, packages } of IMPLEMENTATIONS)
    if (!existsSync(launcher))
      process.stderr.write(
        `skipped: tests of heed/cluster with ${name}, because ${launcher} is missing (apt-get install ${packages.join(" ")})\n`,
      );
  return IMPLEMENTATIONS.map((one) => ({ ...one, installed: existsSync(one.launcher) }));
}

/** How a job ended. */
export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A job that runs. */
export interface Job {
  readonly ended: Promise<Ended>;
  /** Its output so far. */
  text(): string;
}

/** Starts a TypeScript program of the repository on `ranks` ranks, one thread each. */
export function startRanks(
  implementation: Implementation,
  ranks: number,
  program: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  node: string = pinned(),
): Job {
  // Open MPI's files of a job, in a folder of its own: jobs that end at the same moment share one otherwise. Twice a job of several at once did
  // not start; whether the folder was the cause is not known.
  const files = mkdtempSync(join(tmpdir(), "mpi-"));
  const child = spawn(
    implementation.launcher,
    [...implementation.args, "-n", String(ranks), node, at(program), ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        HEED_THREADS: "1",
        HEED_MPI_QUIET: "1",
        NODE_NO_WARNINGS: "1",
        OMPI_MCA_orte_tmpdir_base: files,
        ...implementation.env,
        ...env,
      },
    },
  );
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), 170_000);
    child.on("close", (status, signal) => {
      clearTimeout(timer);
      rmSync(files, { recursive: true, force: true });
      resolve({ status, signal, stdout, stderr, at: Date.now() });
    });
  });
  return { ended, text: () => stdout + stderr };
}

/** Runs such a program until it ends. */
export const runRanks = (...args: Parameters<typeof startRanks>): Promise<Ended> => startRanks(...args).ended;
