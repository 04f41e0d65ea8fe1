/**
 * The cluster engine over MPI. A short message that arrives at once is received on this thread. Everything else waits on another
 * thread, so that this one computes meanwhile: exchanges on a transfer thread, which sleeps between its polls (`transfers.ts`; a
 * blocking MPI call polls without end and takes a core from ranks that compute), every other operation as one blocking MPI call once
 * all ranks have made it.
 * Operations of a rank run one after the other, in the order of their calls (`turns.ts`).
 *
 * A job that has lost a rank must end, not hang. An operation that exceeds the time limit and an uncaught error end the job on
 * every rank (`MPI_Abort`), with a message that names rank, operation and bytes.
 *
 * No message is written past its array: MPI may do that where ranks pass other lengths (Open MPI 4.1, measured). A message is received
 * when its length is known (MPI_Improbe), and ranks compare lengths before a large collective call.
 */
import { HeedError, OptionError } from "../../core/errors.ts";
import { digest } from "../communicator/agree.ts";
import type { Communicator, Messages, Traffic } from "../communicator/communicator.ts";
import {
  bytesOf,
  checkCounts,
  checkExchange,
  checkReduce,
  checkStatus,
  gatherInRing,
  partBytes,
  startsOf,
} from "../communicator/communicator.ts";
import { splitGroup } from "../communicator/group.ts";
import { lengthError } from "../communicator/local.ts";
import { type AllToAll, allToAll, type Moves } from "../communicator/moves.ts";
import { reduceFixed } from "../communicator/reduce.ts";
import { Turns } from "../communicator/turns.ts";
import { checkCode, finalize, type MpiBinding, type MpiName } from "./binding.ts";
import type { CallEnd } from "./call-thread.ts";
import { initialize, type MpiOptions, TIMEOUT_HINT, watch } from "./time-limit.ts";
import { Transfers } from "./transfers.ts";

/** Bytes of one MPI message; MPI counts in 32-bit integers. */
const PIECE = 2 ** 30;
const TAG = 77;
/** Maximum bytes that MPI sends together with the envelope of a message (Open MPI in shared memory: 4096 with a header). */
const EAGER = 4000;
/** Milliseconds for which this thread polls for such a message; to wake the transfer thread takes twice as long. */
const POLLING = 0.03;
/** A status is at most 32 bytes in every family. */
const STATUS_BYTES = 64;

/** Milliseconds between the message of a rank that ends the job and the end: launchers read it from a pipe. */
const ABORT_DELAY = 100;

/** Arrays of running calls. */
const PINNED = new Set<readonly unknown[]>();

/** Starts MPI in this process. */
export function openMpi(binding: MpiBinding, options: MpiOptions): Communicator {
  const { functions: f, constants } = binding;
  const read = (name: MpiName, ...args: unknown[]): number => {
    const out: [number] = [0];
    checkCode(binding, name, f[name](...args, out));
    return out[0];
  };
  if (read("MPI_Finalized"))
    throw new HeedError(
      "mpi-closed",
      "joinCluster: MPI has been closed in this process and cannot start again",
    );
  if (!read("MPI_Initialized")) {
    const provided = initialize(binding, options);
    if (provided < constants.threadSerialized)
      throw new HeedError(
        "mpi-threads",
        `joinCluster: ${binding.version} gives thread level ${provided}, and calls from another thread need MPI_THREAD_SERIALIZED`,
        { provided },
      );
  }
  checkCode(
    binding,
    "MPI_Comm_set_errhandler",
    f.MPI_Comm_set_errhandler(constants.world, constants.errorsReturn),
  );
  const rank = read("MPI_Comm_rank", constants.world);
  const size = read("MPI_Comm_size", constants.world);
  const { expectedSize } = options;
  if (expectedSize !== undefined && size !== expectedSize) {
    f.MPI_Finalize();
    throw new HeedError(
      "mpi-launcher",
      `joinCluster: the launcher started ${expectedSize} ranks, but ${binding.version} (${binding.library}) sees ${size}: library and launcher are of different implementations; give the launcher's own library in HEED_MPI, for example HEED_MPI=openmpi or HEED_MPI=mpich`,
      { expected: expectedSize, size, library: binding.library },
    );
  }
  return new MpiRank(binding, rank, size, options.timeout);
}

/** A short message in both directions: what is sent to a rank, where what another sends goes, its status, and what is called at its end. */
type ShortExchange = readonly [
  out: Uint8Array,
  to: number,
  into: Uint8Array,
  from: number,
  status: Uint8Array,
  done: CallEnd,
];

class MpiRank implements Communicator, Moves {
  readonly rank: number;
  readonly size: number;
  readonly engine: string;
  readonly sent: Traffic = { messages: 0, bytes: 0 };
  readonly #binding: MpiBinding;
  readonly #transfers: Transfers;
  readonly #timeout: number;
  readonly #turns = new Turns();
  #closed = false;
  /** Messages of an operation, for the functions that consist of exchanges. */
  readonly #messages: Messages & Pick<Moves, "broadcast">;
  readonly #onExit: (code: number) => void;
  readonly #onError: (error: unknown) => void;

  constructor(binding: MpiBinding, rank: number, size: number, timeout: number) {
    this.#binding = binding;
    this.#transfers = new Transfers(binding);
    this.rank = rank;
    this.size = size;
    this.engine = `mpi (${binding.version}, ${binding.library}, ${binding.ffi})`;
    this.#timeout = timeout;
    this.#messages = {
      ...{ rank, size },
      exchange: (...args) => this.#exchangeNow(...args),
      broadcast: (...args) => this.#broadcastNow(...args),
    };
    this.#onExit = (code) => {
      if (this.#closed) return;
      // After an uncaught error, or an exit in the middle of the job, the other ranks would wait forever.
      if (code !== 0 || this.#turns.isBusy || this.size === 1) this.#abort(code || 1);
      else finalize(this.#binding);
    };
    // Node prints an uncaught error after its exit handlers have run, and ours ends the job.
    this.#onError = (error) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(`heed/cluster: rank ${rank} of ${size} ends the job: ${text}\n`);
    };
    process.on("exit", this.#onExit);
    process.on("uncaughtExceptionMonitor", this.#onError);
    checkCounts(this);
  }

  get #world() {
    return this.#binding.constants.world;
  }

  /** Ends the job on all ranks, once the launcher had time to read what this rank wrote: MPICH's drops what it has not read. */
  #abort(code: number): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ABORT_DELAY);
    this.#binding.functions.MPI_Abort(this.#world, code);
  }

  /** Runs an operation after those before it. */
  #inTurn<T>(what: string, run: () => Promise<T>): Promise<T> {
    return this.#turns.take(async () => {
      if (this.#closed) throw new HeedError("mpi-closed", `heed/cluster: ${what} after close()`);
      return run();
    });
  }

  /** Calls a function on another thread. */
  #call(what: string, name: MpiName, args: readonly unknown[], pinned: readonly unknown[]): Promise<void> {
    return this.#step(what, [...pinned, ...args], (done) => this.#binding.functions[name].async(args, done));
  }

  /** Runs a part of an operation, within the time limit. */
  #step(what: string, pinned: readonly unknown[], run: (done: CallEnd) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      // Another thread reads and writes the arrays: they must stay reachable until the call has ended.
      PINNED.add(pinned);
      const stop = watch(this.#timeout, () => this.#endLate(what));
      run((error, code) => {
        stop();
        PINNED.delete(pinned);
        try {
          if (error) throw error;
          checkCode(this.#binding, `rank ${this.rank} of ${this.size}: ${what}`, code);
          resolve();
        } catch (failure) {
          reject(failure);
        }
      });
    });
  }

  /** Ends the job because an operation exceeded the time limit. */
  #endLate(what: string): void {
    process.stderr.write(
      `heed/cluster: rank ${this.rank} of ${this.size}: ${what} has not ended within ${this.#timeout} s; a rank has stopped or is lost ${TIMEOUT_HINT}\n`,
    );
    this.abort(1);
  }

  exchange: Communicator["exchange"] = async (to, send, from, into) => {
    checkExchange(this, to, send, from, into);
    return this.#inTurn("exchange", () => this.#exchangeNow(to, send, from, into));
  };

  async #exchangeNow(...[to, send, from, into]: Parameters<Communicator["exchange"]>): Promise<void> {
    const { procNull } = this.#binding.constants;
    const [out, back] = [bytesOf(send), bytesOf(into)];
    const pieces = (n: number) => Math.max(1, Math.ceil(n / PIECE));
    const [outPieces, backPieces] = [
      to === undefined ? 0 : pieces(out.length),
      from === undefined ? 0 : pieces(back.length),
    ];
    const what = `exchange (${to === undefined ? "nothing" : `${out.length} bytes to rank ${to}`}, ${from === undefined ? "nothing" : `${back.length} bytes from rank ${from}`})`;
    if (to !== undefined) {
      this.sent.messages++;
      this.sent.bytes += out.length;
    }
    const statuses: { readonly status: Uint8Array; readonly expected: number }[] = [];
    for (let n = 0; n < Math.max(outPieces, backPieces); n++) {
      const sending = n < outPieces ? out.subarray(n * PIECE, (n + 1) * PIECE) : out.subarray(0, 0);
      const receiving = n < backPieces ? back.subarray(n * PIECE, (n + 1) * PIECE) : back.subarray(0, 0);
      const status = new Uint8Array(new SharedArrayBuffer(STATUS_BYTES));
      if (n < backPieces) statuses.push({ status, expected: receiving.length });
      const [target, source] = [
        n < outPieces ? (to as number) : procNull,
        n < backPieces ? (from as number) : procNull,
      ];
      const pinned = [send, into, sending, receiving, status];
      const isShort = Math.max(sending.length, receiving.length) <= EAGER;
      await this.#step(what, pinned, (done) => {
        if (isShort) this.#exchangeShort(sending, target, receiving, source, status, done);
        else this.#transfers.start(sending, target, receiving, source, TAG, status, done);
      });
    }
    for (const { status, expected } of statuses) {
      const count = this.#lengthOf(status);
      if (count !== expected) throw lengthError(from as number, this.rank, count, expected);
    }
  }

  #lengthOf(status: Uint8Array): number {
    const count: [number] = [0];
    this.#binding.functions.MPI_Get_count(status, this.#binding.constants.byte, count);
    return count[0];
  }

  /**
   * Sends on this thread, which does not wait, and receives on it where the message arrives at once, first its length. Otherwise the
   * transfer thread waits for it: with sleeps, so that a rank that waits leaves its core to others.
   */
  #exchangeShort(...[out, to, into, from, status, done]: ShortExchange): void {
    const { functions: f, constants, requestBytes } = this.#binding;
    const { byte } = constants;
    const [request, message, sent] = [requestBytes, requestBytes, STATUS_BYTES].map((n) => new Uint8Array(n));
    const sendCode = f.MPI_Isend(out, out.length, byte, to, TAG, this.#world, request);
    const finish: CallEnd = (error, code) => {
      const ended: [number] = [0];
      const failed = sendCode || f.MPI_Test(request, ended, sent);
      if (error || failed !== 0 || ended[0] !== 0) done(error, code || failed);
      else f.MPI_Wait.async([request, sent], (waitError, waitCode) => done(waitError, code || waitCode));
    };
    const isThere: [number] = [0];
    for (const began = performance.now(); performance.now() - began < POLLING && isThere[0] === 0; ) {
      const code = f.MPI_Improbe(from, TAG, this.#world, isThere, message, status);
      if (code !== 0) {
        finish(null, code);
        return;
      }
    }
    if (isThere[0] === 0) {
      const { procNull } = constants;
      this.#transfers.start(out.subarray(0, 0), procNull, into, from, TAG, status, finish);
      return;
    }
    const count = this.#lengthOf(status);
    const args = [count === into.length ? into : new Uint8Array(count), count, byte, message, sent] as const;
    if (count <= EAGER) finish(null, f.MPI_Mrecv(...args));
    else f.MPI_Mrecv.async(args, finish);
  }

  /**
   * Waits until all ranks make a collective call, which would wait by polling. Throws on every rank where they pass other lengths to one
   * of many bytes.
   */
  async #meet(operation: string, bytes: number, parts: readonly number[]): Promise<void> {
    if (this.size > 1) await this.#barrierNow(`${operation} of ${bytes} bytes`);
    if (bytes <= EAGER || this.size === 1) return;
    const mine = Uint32Array.of(bytes, bytes / 2 ** 32, ...digest(parts.join()));
    const all = new Uint32Array(mine.length * this.size);
    const { byte } = this.#binding.constants;
    const counts = new Int32Array(this.size).fill(mine.byteLength);
    const starts = counts.map((n, r) => n * r);
    const args = [mine, mine.byteLength, byte, all, counts, starts, byte, this.#world];
    await this.#call(`${operation} of ${bytes} bytes`, "MPI_Allgatherv", args, [mine, all, counts, starts]);
    const other = Array.from({ length: this.size }, (_, r) => r).find((r) =>
      mine.some((_, n) => all[n] !== all[r * mine.length + n]),
    );
    if (other === undefined) return;
    const lengthAt = (r: number) => all[r * mine.length] + 2 ** 32 * all[r * mine.length + 1];
    throw new OptionError(
      "message-length",
      `heed/cluster: ${operation} of ${lengthAt(0)} bytes on rank 0, but of ${lengthAt(other)} bytes or in other parts on rank ${other}; the ranks do not run the same program on the same shapes`,
      { ranks: [0, other], bytes: [lengthAt(0), lengthAt(other)] },
    );
  }

  async allGather(mine: ArrayBufferView, into: ArrayBufferView, bytes?: readonly number[]): Promise<void> {
    const parts = partBytes(this, mine, into, bytes);
    return this.#inTurn("allGather", () => this.#gatherNow(mine, into, parts));
  }

  async #gatherNow(mine: ArrayBufferView, into: ArrayBufferView, parts: readonly number[]): Promise<void> {
    const total = into.byteLength;
    const { size } = this;
    // MPI_Allgatherv counts in 32-bit integers; exchanges divide large messages.
    if (total >= 2 ** 31) return gatherInRing(this.#messages, mine, into, parts);
    await this.#meet("allGather", total, parts);
    const starts = Int32Array.from(startsOf(parts));
    const { byte } = this.#binding.constants;
    this.sent.messages += size - 1;
    this.sent.bytes += (size - 1) * mine.byteLength;
    const counts = Int32Array.from(parts);
    const args = [bytesOf(mine), mine.byteLength, byte, bytesOf(into), counts, starts, byte, this.#world];
    await this.#call(`allGather of ${total} bytes`, "MPI_Allgatherv", args, [mine, into, counts, starts]);
  }

  /** `broadcast` of communicator/moves.ts. */
  broadcast(data: ArrayBufferView, root: number): Promise<void> {
    return this.#inTurn("broadcast", () => this.#broadcastNow(data, root));
  }

  async #broadcastNow(data: ArrayBufferView, root: number): Promise<void> {
    const bytes = bytesOf(data);
    await this.#meet("broadcast", bytes.length, [root]);
    const { byte } = this.#binding.constants;
    for (let from = 0; from < bytes.length; from += PIECE) {
      const piece = bytes.subarray(from, from + PIECE);
      if (this.rank === root) {
        this.sent.messages += this.size - 1;
        this.sent.bytes += (this.size - 1) * piece.length;
      }
      const args = [piece, piece.length, byte, root, this.#world];
      await this.#call(`broadcast of ${piece.length} bytes from rank ${root}`, "MPI_Bcast", args, [data]);
    }
  }

  /** `allToAll` of communicator/moves.ts. */
  allToAll(...parts: AllToAll): Promise<void> {
    return this.#inTurn("exchange with all ranks", () => this.#allToAllNow(...parts));
  }

  async #allToAllNow(...parts: AllToAll): Promise<void> {
    const [send, sendBytes, into, intoBytes] = parts;
    const { size } = this;
    // What each rank sends to each, and what each expects of each.
    const mine = Float64Array.of(...sendBytes, ...intoBytes);
    const all = new Float64Array(mine.length * size);
    await this.#gatherNow(mine, all, new Array<number>(size).fill(mine.byteLength));
    for (let from = 0; from < size; from++)
      for (let to = 0; to < size; to++) {
        const [sent, expected] = [all[2 * size * from + to], all[2 * size * to + size + from]];
        if (sent !== expected) throw lengthError(from, to, sent, expected);
      }
    const totals = Array.from({ length: 2 * size }, (_, n) =>
      all.subarray(n * size, (n + 1) * size).reduce((sum, bytes) => sum + bytes, 0),
    );
    // MPI_Alltoallv counts in 32-bit integers; exchanges divide large messages.
    if (Math.max(...totals) >= 2 ** 31) return allToAll(this.#messages, ...parts);
    this.sent.messages += size - 1;
    this.sent.bytes += send.length;
    const lists = [sendBytes, startsOf(sendBytes), intoBytes, startsOf(intoBytes)].map((list) =>
      Int32Array.from(list),
    );
    const { byte } = this.#binding.constants;
    const args = [send, lists[0], lists[1], byte, into, lists[2], lists[3], byte, this.#world];
    await this.#call(`exchange of ${send.length} bytes with all ranks`, "MPI_Alltoallv", args, [...lists]);
  }

  async reduce(sum: Float32Array | Float64Array, order: "fixed" | "fast" = "fixed"): Promise<void> {
    checkReduce(this.rank, sum, order);
    return this.#inTurn("reduce", () =>
      order === "fixed" ? reduceFixed(this.#messages, sum) : this.#reduceFast(sum),
    );
  }

  async #reduceFast(sum: Float32Array | Float64Array): Promise<void> {
    await this.#meet("reduce", sum.byteLength, [sum.BYTES_PER_ELEMENT]);
    const { constants } = this.#binding;
    const type = sum instanceof Float64Array ? constants.double : constants.float;
    for (let from = 0; from < sum.length; from += PIECE / 8) {
      const into = sum.subarray(from, from + PIECE / 8);
      const mine = into.slice();
      this.sent.messages++;
      this.sent.bytes += mine.byteLength;
      const args = [mine, into, into.length, type, constants.sum, this.#world];
      await this.#call(`reduce of ${into.byteLength} bytes`, "MPI_Allreduce", args, [mine, sum]);
    }
  }

  barrier(): Promise<void> {
    return this.#inTurn("barrier", () => this.#barrierNow("barrier"));
  }

  /**
   * Returns when all ranks have called it: exchanges of no bytes over the distances 1, 2, 4, …. MPI_Barrier would wait by polling.
   */
  #barrierNow(what: string): Promise<void> {
    const [none, { rank, size }] = [new Uint8Array(0), this];
    const status = new Uint8Array(new SharedArrayBuffer(STATUS_BYTES));
    return this.#step(what, [none, status], (done) => {
      const exchangeOver = (distance: number): void => {
        const [to, from] = [(rank + distance) % size, (rank - distance + size) % size];
        this.#exchangeShort(none, to, none, from, status, (error, code) => {
          if (error || code !== 0 || 2 * distance >= size) done(error, code);
          else exchangeOver(2 * distance);
        });
      };
      exchangeOver(1);
    });
  }

  split(color: number, key: number = this.rank): Promise<Communicator> {
    return splitGroup(this, color, key);
  }

  abort(code: number): never {
    checkStatus(code);
    this.#closed = true;
    this.#abort(code);
    // MPI_Abort normally does not return. If it does, this rank exits and the launcher ends the others.
    return process.exit(code);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    // Waits for the other ranks, with the time limit. MPI_Finalize itself belongs to the thread that initialized MPI.
    await this.#inTurn("close", () => this.#barrierNow("close"));
    this.#closed = true;
    await this.#transfers.close();
    checkCode(this.#binding, "MPI_Finalize", finalize(this.#binding));
    process.off("exit", this.#onExit);
    process.off("uncaughtExceptionMonitor", this.#onError);
  }
}
