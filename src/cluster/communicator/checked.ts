/**
 * A communicator that checks every call, for programs under test: before each message a rank sends what it is about to do, so that
 * ranks whose calls differ get an error that names both calls, not wrong numbers or a wait until the time limit. Messages are numbered
 * and carry a digest: one that is lost, doubled or damaged is an error too.
 */
import { OptionError } from "../../core/errors.ts";
import { digestBytes, digestElements } from "./agree.ts";
import { bytesOf, type Communicator } from "./communicator.ts";
import { type CollectiveCall, ExchangingRank } from "./group.ts";

const OPERATIONS = ["exchange", "allGather", "reduce", "barrier", "close"] as const;

/** What a rank sends before a message: operation, number of the call between two ranks, bytes, and two digests. */
const [OPERATION, NUMBER, BYTES, DETAIL, CONTENT, LENGTH] = [0, 1, 2, 3, 4, 5];

const digestOf = (view: ArrayBufferView): number => digestElements(bytesOf(view))[0];

/** `comm`, with every call checked. All ranks of a cluster must check, or none. */
export function checked(comm: Communicator): Communicator {
  return new Checked(comm);
}

class Checked extends ExchangingRank {
  readonly rank: number;
  readonly size: number;
  readonly engine: string;
  readonly #inner: Communicator;
  /** Numbers of the last calls to and from each rank. */
  readonly #to: number[];
  readonly #from: number[];

  constructor(inner: Communicator) {
    super();
    this.#inner = inner;
    this.rank = inner.rank;
    this.size = inner.size;
    this.engine = `${inner.engine}, every call checked`;
    this.#to = new Array(inner.size).fill(0);
    this.#from = new Array(inner.size).fill(0);
  }

  /** Sends the header of a call to `to`, and compares the header of `from` with what this rank expects. Returns the digest in it. */
  async #compare(
    operation: (typeof OPERATIONS)[number],
    [to, sendBytes, content]: readonly [to: number | undefined, bytes: number, content: number],
    [from, intoBytes]: readonly [from: number | undefined, bytes: number],
    detail: number,
  ): Promise<number> {
    const mine = new Float64Array(LENGTH);
    const theirs = new Float64Array(LENGTH);
    const kind = OPERATIONS.indexOf(operation);
    if (to !== undefined) mine.set([kind, ++this.#to[to], sendBytes, detail, content]);
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

  /** Those of `exchange`, and those of which other operations consist, so that every message is checked. */
  protected async move(...[to, send, from, into]: Parameters<Communicator["exchange"]>): Promise<void> {
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

  /** Compares an operation of all ranks with that of the rank before this one. */
  protected override async announce(...[operation, bytes, detail]: CollectiveCall): Promise<void> {
    const { rank, size } = this;
    const [next, previous] = [(rank + 1) % size, (rank + size - 1) % size];
    const number = digestBytes(new TextEncoder().encode(detail.join()))[0];
    if (size > 1) await this.#compare(operation, [next, bytes, 0], [previous, bytes], number);
  }

  abort(code: number): never {
    return this.#inner.abort(code);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#inner.close();
  }
}
