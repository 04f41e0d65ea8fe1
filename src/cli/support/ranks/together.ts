/**
 * Commands under `mpirun` or `srun`: several ranks run the same command line. Rank 0 prints and writes files. An error that all
 * ranks share is printed once; any other error ends the whole job.
 */
import { isAgreed, together as togetherOn } from "../../../cluster/communicator/agree.ts";
import { broadcast } from "../../../cluster/communicator/moves.ts";
import { type Communicator, joinCluster, launchOf } from "../../../cluster/index.ts";
import { EXIT, type Io } from "../line/command.ts";
import { exitCodeAfter } from "../output/interrupt.ts";

/** Runs a command on the ranks that a launcher started, or without a communicator in a single process. */
export async function withRanks(
  io: Io,
  run: (io: Io, comm: Communicator | undefined) => Promise<number>,
): Promise<number> {
  if (launchOf(io.env) === undefined) return run(io, undefined);
  const comm = await joinCluster();
  const isLead = comm.rank === 0;
  try {
    const code = await sharedCode(comm, await run(isLead ? io : silent(io), comm), io.signal.aborted);
    await comm.close();
    return code;
  } catch (error) {
    // Ranks that share an error end together.
    if (!isAgreed(error)) throw error;
    await comm.close();
    if (isLead || !isAgreed(error, "elsewhere")) throw error;
    // Rank 0 prints the error and ends with its status. Ending with an error here too could make the launcher kill rank 0
    // before it has printed.
    return EXIT.ok;
  }
}

/**
 * The exit code of all ranks. A launcher reports the code of one of them, and a signal may have reached only some: then all end with
 * the code of that signal, as a command alone does.
 */
async function sharedCode(comm: Communicator, code: number, isStopped: boolean): Promise<number> {
  const all = new Int32Array(comm.size);
  await comm.allGather(Int32Array.of(isStopped ? exitCodeAfter(code, true) : 0), all);
  return all.find((one) => one !== 0) ?? code;
}

/** Runs `work` on every rank, or on those that pass it, and returns after all have succeeded: `together` of heed/cluster. */
export const together = async <T>(
  comm: Communicator | undefined,
  what: string,
  work: (() => Promise<T>) | undefined,
): Promise<T | undefined> => (comm === undefined ? work?.() : togetherOn(comm, what, {}, () => work?.()));

/** Broadcasts the bytes of rank 0 to every rank. */
export async function fromLead(
  comm: Communicator | undefined,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (comm === undefined) return bytes;
  const length = Float64Array.of(bytes.length);
  await broadcast(comm, length);
  const copy = comm.rank === 0 ? bytes : new Uint8Array(length[0]);
  await broadcast(comm, copy);
  return copy;
}

/**
 * Number of micro-batches of a step of `batch` sequences on this many ranks: 8 if that divides the batch, so that 1, 2, 4 and 8 ranks
 * give the same bits, and at least one per rank. Undefined if there is no such number.
 */
export function microBatchesOf(batch: number, ranks: number): number | undefined {
  let limit = 8;
  while (limit < ranks) limit *= 2;
  for (let count = limit; count >= ranks; count /= 2) if (batch % count === 0) return count;
  for (let count = ranks; count <= batch; count++) if (batch % count === 0) return count;
  return undefined;
}

/** The environment of a rank without output. */
function silent(io: Io): Io {
  const nowhere = { write: () => true };
  return { ...io, stdout: nowhere, stderr: nowhere, isTTY: false, progress: false };
}
