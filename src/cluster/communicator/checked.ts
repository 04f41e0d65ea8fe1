/**
 * A communicator that checks every call, for programs under test: before each message a rank sends what it is about to do, so that
 * ranks whose calls differ get an error that names both calls, not wrong numbers or a wait until the time limit. Messages are numbered
 * and carry a digest: one that is lost, doubled or damaged is an error too.
 */
import { OptionError } from "../../core/errors.ts";
import { digestBytes, digestElements } from "./agree.ts";
import {
  bytesOf,
  type Communicator,
  checkCounts,
  checkExchange,
  checkReduce,
  gatherInRing,
  partBytes,
  type Traffic,
} from "./communicator.ts";
import { splitGroup } from "./group.ts";
import { reduceFixed } from "./reduce.ts";

const OPERATIONS = ["exchange", "allGather", "reduce", "barrier", "close"] as const;
type Operation = (typeof OPERATIONS)[number];

/** What a rank sends before a message: operation, number of the call between two ranks, bytes, and two digests. */
const [OPERATION, NUMBER, BYTES, DETAIL, CONTENT, LENGTH] = [0, 1, 2, 3, 4, 5];

const digestOf = (view: ArrayBufferView): number => digestElements(bytesOf(view))[0];

/** `comm`, with every call checked. All ranks of a cluster must check, or none. */
export function checked(comm: Communicator): Communicator {
  return new Checked(comm);
}

class Checked implements Communicator {
  readonly rank: number;
  readonly size: number;
  readonly engine: string;
  readonly #inner: Communicator;
  /** Messages of the checks, which do not count as sent. */
  #headers = 0;
  /** Numbers of the last calls to and from each rank. */
  readonly #to: number[];
  readonly #from: number[];
  /** The last operation: operations run one after the other, in the order of their calls. */
  #last: Promise<void> = Promise.resolve();

  constructor(inner: Communicator) {
    this.#inner = inner;
    this.rank = inner.rank;
    this.size = inner.size;
    this.engine = `${inner.engine}, every call checked`;
    this.#to = new Array(inner.size).fill(0);
    this.#from = new Array(inner.size).fill(0);
    checkCounts(this);
  }

  get sent(): Traffic {
    const { messages, bytes } = this.#inner.sent;
    return { messages: messages - this.#headers, bytes: bytes - this.#headers * 8 * LENGTH };
  }

  #queued(run: () => Promise<void>): Promise<void> {
    const ended = this.#last.then(run);
    this.#last = ended.catch(() => undefined);
    return ended;
  }

  /** Sends the header of a call to `to`, and compares the header of `from` with what this rank expects. Returns the digest in it. */
  async #compare(
    operation: Operation,
    [to, sendBytes, content]: readonly [to: number | undefined, bytes: number, content: number],
    [from, intoBytes]: readonly [from: number | undefined, bytes: number],
    detail: number,
  ): Promise<number> {
    const mine = new Float64Array(LENGTH);
    const theirs = new Float64Array(LENGTH);
    const kind = OPERATIONS.indexOf(operation);
    if (to !== undefined) {
      mine.set([kind, ++this.#to[to], sendBytes, detail, content]);
      this.#headers++;
    }
    await this.#inner.exchange(to, mine, from, theirs);
    if (from === undefined) return 0;
    const number = ++this.#from[from];
    const textOf = (name: string, bytes: number, n: number) =>
      `${name}${bytes > 0 ? ` of ${bytes} bytes` : ""} (call ${n} between the two)`;
    const differs = theirs[OPERATION] !== kind || theirs[BYTES] !== intoBytes || theirs[NUMBER] !== number;
    if (differs || theirs[DETAIL] !== detail) {
      const other = textOf(OPERATIONS[theirs[OPERATION]] ?? "an unknown call", theirs[BYTES], theirs[NUMBER]);
      throw new OptionError(
        "cluster-call",
        `heed/cluster: rank ${from} calls ${other}, but rank ${this.rank} calls ${textOf(operation, intoBytes, number)}${differs ? "" : ", with other arguments"}; every rank must make the same calls in the same order`,
        { rank: this.rank, from },
      );
    }
    return theirs[CONTENT];
  }

  exchange: Communicator["exchange"] = (to, send, from, into) =>
    this.#queued(() => this.#exchangeNow(to, send, from, into));

  /** Exchanges at once: those of `exchange`, and those of which other operations consist, so that every message is checked. */
  async #exchangeNow(...[to, send, from, into]: Parameters<Communicator["exchange"]>): Promise<void> {
    checkExchange(this, to, send, from, into);
    const content = to === undefined ? 0 : digestOf(send);
    const [toCall, fromCall] = [[to, send.byteLength, content] as const, [from, into.byteLength] as const];
    const expected = await this.#compare("exchange", toCall, fromCall, 0);
    await this.#inner.exchange(to, send, from, into);
    if (from !== undefined && digestOf(into) !== expected)
      throw new OptionError(
        "message-damaged",
        `heed/cluster: ${into.byteLength} bytes from rank ${from} did not arrive at rank ${this.rank} as they were sent, or were changed before the operation ended`,
        { rank: this.rank, from },
      );
  }

  get #messages(): Pick<Communicator, "rank" | "size" | "exchange"> {
    const { rank, size } = this;
    return { rank, size, exchange: (...args) => this.#exchangeNow(...args) };
  }

  /** A call that all ranks make: each compares its own with that of the rank before it. */
  #collective(
    operation: Operation,
    bytes: number,
    detail: readonly (string | number)[],
    run: () => Promise<void>,
  ): Promise<void> {
    const { rank, size } = this;
    return this.#queued(async () => {
      const [next, previous] = [(rank + 1) % size, (rank + size - 1) % size];
      const number = digestBytes(new TextEncoder().encode(detail.join()))[0];
      if (size > 1) await this.#compare(operation, [next, bytes, 0], [previous, bytes], number);
      await run();
    });
  }

  async allGather(mine: ArrayBufferView, into: ArrayBufferView, bytes?: readonly number[]): Promise<void> {
    const parts = partBytes(this, mine, into, bytes);
    return this.#collective("allGather", into.byteLength, parts, () =>
      gatherInRing(this.#messages, mine, into, parts),
    );
  }

  async reduce(sum: Float32Array | Float64Array, order: "fixed" | "fast" = "fixed"): Promise<void> {
    checkReduce(this.rank, sum, order);
    return this.#collective("reduce", sum.byteLength, [order, sum.BYTES_PER_ELEMENT], () =>
      order === "fast" ? this.#inner.reduce(sum, order) : reduceFixed(this.#messages, sum),
    );
  }

  barrier(): Promise<void> {
    return this.#collective("barrier", 0, [], () => this.#inner.barrier());
  }

  split(color: number, key: number = this.rank): Promise<Communicator> {
    return splitGroup(this, color, key);
  }

  abort(code: number): never {
    return this.#inner.abort(code);
  }

  close(): Promise<void> {
    return this.#collective("close", 0, [], () => this.#inner.close());
  }
}
