/**
 * The start of 4 ranks with the built package, packed and installed in an empty folder beside koffi: the time from the
 * launcher's start until all ranks have passed a barrier, for a program that joins with `heed/cluster`, for one that only
 * calls MPI_Init_thread and MPI_Barrier through koffi (the time of MPI, the launcher and Node without heed), and for `true`.
 * Medians of interleaved runs. `bench/cluster.ts --start` runs it; it needs dist/ (npm run build).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { implementations } from "../../tests/support/processes/mpi.ts";
import { at, npmPack, pinned, root } from "../../tools/setup.mjs";

const RANKS = 4;
// Not console.log of a number, which is colored on a terminal: Open MPI gives its ranks one.
const REPORT = "process.stdout.write(String(Date.now()))";
const PROGRAMS = {
  "heed.mjs": `
import { joinCluster } from "heed/cluster";
const comm = await joinCluster();
await comm.barrier();
if (comm.rank === 0) ${REPORT};
await comm.close();
`,
  "bare.mjs": `
import koffi from "koffi";
const [, , name] = process.argv;
const library = koffi.load(name, { global: true });
const isMpich = name.includes("mpich");
const handle = isMpich ? "int" : "intptr_t";
const world = isMpich ? 0x44000000 : koffi.address(library.symbol("ompi_mpi_comm_world", "char"));
const call = (symbol, ...types) => library.func(symbol, "int", types);
const out = [0];
call("MPI_Init_thread", "void *", "void *", "int", "_Out_ int *")(null, null, 3, out);
call("MPI_Barrier", handle)(world);
call("MPI_Comm_rank", handle, "_Out_ int *")(world, out);
if (out[0] === 0) ${REPORT};
call("MPI_Finalize")();
`,
};

/** Installs the built package in an empty folder. */
function install(): string {
  if (!existsSync(at("dist/cluster/index.js")))
    throw new Error("bench/cluster.ts --start: dist/ does not exist; run npm run build");
  const folder = mkdtempSync(join(tmpdir(), "heed-start-"));
  const { filename } = npmPack(root, ["--loglevel=error", "--pack-destination", folder]);
  const packed = join(folder, "node_modules/heed");
  mkdirSync(packed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, filename), "-C", packed, "--strip-components=1"]);
  for (const name of ["koffi", "@koromix"])
    cpSync(at(`node_modules/${name}`), join(folder, "node_modules", name), { recursive: true });
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Prints the times of both programs with every implementation that is installed. */
export function measureStart(turns: number): void {
  const folder = install();
  try {
    for (const { name, launcher, args, env } of implementations().filter(({ installed }) => installed)) {
      const library = name === "MPICH" ? "libmpich.so.12" : "libmpi.so.40";
      const commands: Readonly<Record<string, readonly string[]>> = {
        "heed/cluster": [pinned(), "heed.mjs"],
        "MPI_Init alone": [pinned(), "bare.mjs", library],
        true: ["true"],
      };
      const times = new Map<string, number[]>(Object.keys(commands).map((key) => [key, []]));
      // The first turn reads the files from the disk, and does not count.
      for (let turn = 0; turn <= turns; turn++)
        for (const [key, command] of Object.entries(commands)) {
          const began = Date.now();
          const done = spawnSync(launcher, [...args, "-n", String(RANKS), ...command], {
            cwd: folder,
            encoding: "utf8",
            env: { ...process.env, ...env, HEED_MPI_QUIET: "1", HEED_THREADS: "1" },
          });
          if (done.status !== 0) throw new Error(`${launcher} ${command.join(" ")}: ${done.stderr}`);
          // `true` prints nothing: the time is that of the entire job.
          const joined = key === "true" ? Date.now() : Number(done.stdout);
          if (turn > 0) times.get(key)?.push(joined - began);
        }
      const text = [...times].map(([key, list]) => {
        const sorted = [...list].sort((a, b) => a - b);
        return `${key} ${sorted[Math.floor(turns / 2)]} ms (${sorted[0]}–${sorted[turns - 1]})`;
      });
      process.stdout.write(`${name}, start of ${RANKS} ranks, built package: ${text.join(", ")}\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
