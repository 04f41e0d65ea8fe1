/**
 * Several ranks inside one process, for tests and for learning: each rank is an asynchronous function, and messages are
 * copies. The results have the same bits as with the same number of processes. One CPU core runs all ranks, so nothing is faster.
 */
import { checkCount, HeedError, isFunction, messageOf, OptionError, refuseGot } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { checked } from "./checked.ts";
import { bytesOf, type Communicator, checkFlag, checkStatus } from "./communicator.ts";
import { ExchangingRank } from "./group.ts";

/** Options of `localCluster`. @beta */
export interface LocalOptions {
  /** Called before a message is delivered: tests delay messages with it. Default: no delay. */
  readonly deliver?: (from: number, to: number) => Promise<void> | void;
  /** Checks every call: `check` of `joinCluster`. Default: false. */
  readonly check?: boolean;
}

/**
 * Runs `body` once for each of `size` ranks, all in this process, and resolves to their results.
 *
 * @example
 * const sums = await localCluster(4, async (comm) => {
 *   const sum = Float32Array.of(comm.rank);
 *   await comm.reduce(sum);
 *   return sum[0]; // 6 on every rank
 * });
 * @throws the error of the first failing rank; the other ranks' operations fail with code `cluster-aborted`
 */
export async function localCluster<T>(
  size: number,
  body: (comm: Communicator) => Promise<T> | T,
  options: LocalOptions = {},
): Promise<T[]> {
  checkCount("localCluster", arguments, 3);
  if (!(Number.isInteger(size) && size >= 1 && size <= 1024))
    refuseGot("ranks", "localCluster: size must be an integer from 1 to 1024", size);
  if (!isFunction(body)) refuseGot("body", "localCluster: body must be a function of a rank", body);
  checkNames("localCluster", options, ["deliver", "check"]);
  checkFlag("localCluster", options.check);
  const hub = new Hub(options);
  const ranks = Array.from({ length: size }, (_, rank) => new LocalRank(hub, rank, size));
  let first: { error: unknown } | undefined;
  const results = await Promise.all(
    ranks.map(async (rank) => {
      try {
        const result = await body(options.check ? checked(rank) : rank);
        hub.end(rank.rank);
        return result;
      } catch (error) {
        first ??= { error };
        hub.fail(rank.rank, error);
        return undefined;
      }
    }),
  );
  if (first) throw first.error;
  return results as T[];
}

/** A message without a receiver, or a receiver without a message. */
interface Waiting {
  readonly bytes: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The mailboxes of the ranks of one process, by sender and receiver. */
class Hub {
  readonly #options: LocalOptions;
  readonly #sends = new Map<string, Waiting[]>();
  readonly #receives = new Map<string, Waiting[]>();
  readonly #ended = new Set<number>();
  #failure: { readonly rank: number; readonly error: unknown } | undefined;

  constructor(options: LocalOptions) {
    this.#options = options;
  }

  /** Rejects every pending and every later operation. */
  fail(rank: number, error: unknown): void {
    this.#failure ??= { rank, error };
    for (const boxes of [this.#sends, this.#receives]) {
      for (const list of boxes.values()) for (const waiting of list) waiting.reject(this.#aborted());
      boxes.clear();
    }
  }

  /** A rank has returned: who waits for it, then or later, would wait for ever. */
  end(rank: number): void {
    this.#ended.add(rank);
    for (const [kind, boxes] of [
      ["receive", this.#receives],
      ["send", this.#sends],
    ] as const)
      for (const [key, list] of boxes) {
        const [from, to] = key.split(" ").map(Number);
        if ((kind === "receive" ? from : to) === rank)
          for (const waiting of list.splice(0))
            waiting.reject(endedError(kind === "receive" ? to : from, rank));
      }
  }

  #aborted(): HeedError {
    const { rank, error } = this.#failure as { rank: number; error: unknown };
    const text = messageOf(error);
    return new HeedError("cluster-aborted", `heed/cluster: rank ${rank} ended the job: ${text}`, { rank });
  }

  async move(kind: "send" | "receive", from: number, to: number, bytes: Uint8Array): Promise<void> {
    if (this.#failure) throw this.#aborted();
    if (kind === "send") await this.#options.deliver?.(from, to);
    if (this.#failure) throw this.#aborted();
    const key = `${from} ${to}`;
    const queue = kind === "send" ? this.#sends : this.#receives;
    const other = kind === "send" ? this.#receives : this.#sends;
    const peer = other.get(key)?.shift();
    if (!peer) {
      const [waiter, other] = kind === "send" ? [from, to] : [to, from];
      if (this.#ended.has(other)) throw endedError(waiter, other);
      const box = queue.get(key) ?? [];
      queue.set(key, box);
      await new Promise<void>((resolve, reject) => box.push({ bytes, resolve, reject }));
      return;
    }
    const [sent, into] = kind === "send" ? [bytes, peer.bytes] : [peer.bytes, bytes];
    if (sent.length !== into.length) {
      const error = lengthError(from, to, sent.length, into.length);
      peer.reject(error);
      throw error;
    }
    into.set(sent);
    peer.resolve();
  }
}

const endedError = (rank: number, ended: number) =>
  new OptionError(
    "cluster-ended",
    `heed/cluster: rank ${rank} waits for rank ${ended}, whose function has returned; every rank must make the same calls, and await each of them`,
    { rank, ended },
  );

/** The error of a message with another length than the receiver expects. */
export function lengthError(from: number, to: number, sent: number, expected: number): OptionError {
  return new OptionError(
    "message-length",
    `heed/cluster: rank ${from} sent ${sent} bytes, but rank ${to} expected ${expected}; the ranks do not run the same program on the same shapes`,
    { from, to, sent, expected },
  );
}

/** One rank of `localCluster`. */
class LocalRank extends ExchangingRank {
  readonly rank: number;
  readonly size: number;
  readonly engine = "local";
  readonly #hub: Hub;

  constructor(hub: Hub, rank: number, size: number) {
    super();
    this.#hub = hub;
    this.rank = rank;
    this.size = size;
  }

  protected async move(...[to, send, from, into]: Parameters<Communicator["exchange"]>): Promise<void> {
    await Promise.all([
      to !== undefined && this.#hub.move("send", this.rank, to, bytesOf(send)),
      from !== undefined && this.#hub.move("receive", from, this.rank, bytesOf(into)),
    ]);
  }

  abort(code: number): never {
    checkStatus(code);
    const text = `heed/cluster: rank ${this.rank} ended the job with status ${code}`;
    throw new HeedError("cluster-aborted", text, { rank: this.rank, status: code });
  }
}

/** A cluster of one rank: the result of `joinCluster` in a process without a launcher. */
export function singleRank(): Communicator {
  return new LocalRank(new Hub({}), 0, 1);
}
