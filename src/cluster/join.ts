/**
 * Joining a cluster: the ranks that `mpirun`, `mpiexec` or `srun` started, over MPI; without a launcher, one rank without MPI.
 */
import { checkThreads, configure } from "../backend/settings.ts";
import { checkArgument, checkCount, refuseGot, refuseValue, UnsupportedError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { digest } from "./communicator/agree.ts";
import { checked } from "./communicator/checked.ts";
import { type Communicator, checkFlag } from "./communicator/communicator.ts";
import { singleRank } from "./communicator/local.ts";
import { loadMpi, type MpiFamily } from "./mpi/binding.ts";
import { openMpi } from "./mpi/mpi.ts";

/** Options of `joinCluster`. @beta */
export interface JoinOptions {
  /** Seconds after which an operation that has not ended ends the job; 0: never. Default: HEED_MPI_TIMEOUT, or 60. */
  readonly timeout?: number;
  /** MPI library: `openmpi`, `mpich`, `mpi-abi`, a file name or a path. Default: HEED_MPI, or the launcher's. */
  readonly library?: string;
  /**
   * Threads of this rank. Default: HEED_THREADS, or the cores that this process may use, divided by the ranks that may
   * use the same ones.
   */
  readonly threads?: number;
  /**
   * Prints the number of ranks and the MPI library that was found, once, on rank 0, to stderr. Default: true, or false where
   * HEED_MPI_QUIET is 1.
   */
  readonly report?: boolean;
  /**
   * Checks every call, for programs under test: ranks whose calls differ get an error that names both, and messages that are lost,
   * doubled or damaged are an error. Each message costs another one of 40 bytes; all ranks must check, or none. Default: true where
   * HEED_MPI_CHECK is 1, or false.
   */
  readonly check?: boolean;
}

/** The launcher's variables in the environment of a process. @beta */
export interface Launch {
  /** What started the process: `Open MPI`, `MPICH`, `Slurm` … */
  readonly launcher: string;
  readonly rank: number;
  readonly size: number;
  /** Number of ranks on this machine, where the launcher gives it. */
  readonly localSize?: number;
  /** The implementation that the launcher belongs to, where that is certain. */
  readonly family?: MpiFamily;
  /** The implementation that is tried first, where `family` is open. */
  readonly prefers?: MpiFamily;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables by launcher; the first launcher with a rank and a size is used. */
const LAUNCHERS: readonly {
  readonly launcher: string;
  readonly rank: string;
  readonly size: string;
  readonly localSize?: string;
  readonly family?: MpiFamily;
}[] = [
  {
    launcher: "Open MPI",
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    localSize: "OMPI_COMM_WORLD_LOCAL_SIZE",
    family: "openmpi",
  },
  { launcher: "MPICH", rank: "PMI_RANK", size: "PMI_SIZE", localSize: "MPI_LOCALNRANKS", family: "mpich" },
  // A batch script has SLURM_PROCID too; only a step that srun started has SLURM_STEP_NUM_TASKS.
  { launcher: "Slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS" },
];

/** The launcher of a process, from its environment; undefined where there is none. @beta */
export function launchOf(env: Environment): Launch | undefined {
  checkCount("launchOf", arguments, 1);
  checkArgument(
    Object.prototype.toString.call(env) === "[object Object]",
    "launchOf",
    "environment variables, such as process.env",
    env,
  );
  for (const { launcher, rank, size, localSize, family } of LAUNCHERS) {
    const [r, n] = [Number(env[rank] ?? Number.NaN), Number(env[size] ?? Number.NaN)];
    if (!(Number.isInteger(r) && Number.isInteger(n) && n >= 1 && r >= 0 && r < n)) continue;
    const local = Number((localSize && env[localSize]) ?? Number.NaN);
    // Slurm sets PMI variables for its own process manager too: which library it serves is not certain then.
    const isSlurm = env.SLURM_STEP_NUM_TASKS !== undefined;
    const certain = launcher === "MPICH" && isSlurm ? undefined : family;
    // `srun --mpi=pmi2`: MPICH always knows PMI, Open MPI only where it was built with it.
    const prefersMpich = isSlurm && launcher === "MPICH" && env.PMIX_RANK === undefined;
    return {
      launcher,
      rank: r,
      size: n,
      ...(local >= 1 && { localSize: local }),
      ...(certain && { family: certain }),
      ...(prefersMpich && { prefers: "mpich" as const }),
    };
  }
  return undefined;
}

/**
 * Joins the cluster in which this process was started, and returns its communicator. A process without a launcher is a cluster
 * of one rank, without MPI, so the same program runs with and without `mpirun`.
 *
 * Rank 0 prints the MPI library that was found to stderr, once (`report: false` or HEED_MPI_QUIET=1 turns that off);
 * `comm.engine` names it.
 *
 * @example
 * const comm = await joinCluster(); // mpirun -n 4 node attend.mjs
 * console.log(`${comm.rank} of ${comm.size}, ${comm.engine}`);
 * await comm.close();
 * @throws UnsupportedError where koffi or an MPI library is missing, with the command that installs it, and where npx is
 * between MPICH's launcher and this process
 */
export async function joinCluster(options: JoinOptions = {}): Promise<Communicator> {
  checkCount("joinCluster", arguments, 1);
  const env: Environment = typeof process === "undefined" ? {} : process.env;
  checkNames("joinCluster", options, ["timeout", "library", "threads", "report", "check"]);
  checkFlag("joinCluster", options.check);
  const seconds = options.timeout ?? Number(env.HEED_MPI_TIMEOUT || 60);
  if (!(typeof seconds === "number" && seconds >= 0))
    refuseGot(
      "timeout",
      "joinCluster: timeout (HEED_MPI_TIMEOUT) must be a number of seconds ≥ 0",
      options.timeout ?? env.HEED_MPI_TIMEOUT,
    );
  const { library } = options;
  if (options.threads !== undefined) checkThreads("joinCluster: threads", options.threads);
  if (library !== undefined && typeof library !== "string")
    refuseValue("joinCluster", "library", '"openmpi", "mpich", "mpi-abi" or a path', library);
  const wanted = library ?? (env.HEED_MPI || undefined);
  const launch = launchOf(env);
  if (launch === undefined && wanted === undefined) return singleRank();
  if (launch !== undefined && launch.family !== "openmpi") await checkLauncherSocket(env);
  const binding = await loadMpi(wanted, launch?.family, env.HEED_FFI || undefined, launch?.prefers);
  const rank = openMpi(binding, {
    timeout: seconds === 0 ? Number.POSITIVE_INFINITY : seconds,
    expectedSize: launch?.size,
  });
  const { availableParallelism, hostname } = await import("node:os");
  const share = await shareOfCores(rank, availableParallelism(), await coresOf(hostname()));
  // Not a message of the program.
  Object.assign(rank.sent, { messages: 0, bytes: 0 });
  const comm = (options.check ?? isSet(env.HEED_MPI_CHECK)) ? checked(rank) : rank;
  const threads = options.threads ?? (env.HEED_THREADS ? undefined : share);
  if (threads !== undefined) configure({ threads });
  if (comm.rank === 0 && (options.report ?? !isSet(env.HEED_MPI_QUIET)))
    process.stderr.write(
      `heed/cluster: ${comm.size} rank${comm.size === 1 ? "" : "s"}, ${comm.engine}; HEED_MPI_QUIET=1 turns this line off\n`,
    );
  return comm;
}

/**
 * MPICH's launcher gives each rank an open socket, PMI_FD. npx and npm scripts start programs without it, and MPI_Init would end
 * the process with a message about PMI_FD.
 */
async function checkLauncherSocket({ PMI_FD: fd }: Environment): Promise<void> {
  if (fd === undefined) return;
  const { fstatSync } = await import("node:fs");
  try {
    if (fstatSync(Number(fd)).isSocket()) return;
  } catch {
    // Not an open file descriptor.
  }
  throw new UnsupportedError(
    "mpi-launcher",
    `joinCluster: the launcher's connection, file descriptor ${fd} (PMI_FD), was not passed on to this process; start ranks without npx and npm scripts, for example: mpirun -n 4 node_modules/.bin/heed train …`,
    { got: fd },
  );
}

/** True for a variable that is set to anything except an empty text and 0. */
const isSet = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0";

/** The cores that this process may use, as a text that is equal for processes of one machine with the same cores. */
async function coresOf(hostname: string): Promise<string> {
  const { readFileSync } = await import("node:fs");
  try {
    return `${hostname} ${/^Cpus_allowed:.*$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[0]}`;
  } catch {
    return hostname; // not Linux: processes are not bound
  }
}

/**
 * The cores of this process divided by the ranks that have the same ones: all ranks of the machine where the launcher binds none or
 * the job as a whole, this one alone where it binds each. Every rank calls it.
 */
export async function shareOfCores(comm: Communicator, available: number, cores: string): Promise<number> {
  const mine = digest(cores);
  const all = new Uint32Array(mine.length * comm.size);
  await comm.allGather(mine, all);
  const starts = Array.from({ length: comm.size }, (_, r) => r * mine.length);
  const ranks = starts.filter((start) => mine.every((word, n) => all[start + n] === word)).length;
  return Math.max(1, Math.min(16, Math.floor(available / ranks)));
}
