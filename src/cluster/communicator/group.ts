/**
 * A group of ranks of a communicator, which is a communicator itself: context × data parallel programs have one for each axis. Every
 * operation of a group consists of exchanges of the communicator that it was split from. So it has the same bits in every engine, runs
 * in the same order of calls, and is checked where that communicator is.
 */
import { formatValue, OptionError } from "../../core/errors.ts";
import { agree } from "./agree.ts";
import {
  type Communicator,
  checkCounts,
  checkExchange,
  checkReduce,
  gatherInRing,
  type Messages,
  NOTHING,
  partBytes,
  type Traffic,
} from "./communicator.ts";
import { reduceFixed } from "./reduce.ts";
import { Turns } from "./turns.ts";

/** `split` of `comm`: all ranks with this color, in the order of their keys; ranks of one key in the order of `comm`. */
export async function splitGroup(comm: Communicator, color: number, key: number): Promise<Communicator> {
  const mine = await agree(comm, "split", () => {
    for (const [name, value] of Object.entries({ color, key }))
      if (!Number.isSafeInteger(value) || (name === "color" && value < 0))
        throw new OptionError(
          name,
          `split: ${name} must be an integer${name === "color" ? " ≥ 0, the same for all ranks of a group" : ""}, got ${formatValue(value)}`,
          { rank: comm.rank, got: value },
        );
    return { terms: {}, value: Float64Array.of(color, key) };
  });
  const all = new Float64Array(2 * comm.size);
  await comm.allGather(mine, all);
  const members = Array.from({ length: comm.size }, (_, r) => r)
    .filter((r) => all[2 * r] === color)
    .sort((a, b) => all[2 * a + 1] - all[2 * b + 1] || a - b);
  return new Group(comm, members);
}

/** A call that all ranks make: its bytes and its other arguments. */
export type CollectiveCall = readonly [
  operation: "allGather" | "reduce" | "barrier" | "close",
  bytes: number,
  detail: readonly (string | number)[],
];

/** A rank whose operations consist of exchanges. */
export abstract class ExchangingRank implements Communicator {
  abstract readonly rank: number;
  abstract readonly size: number;
  abstract readonly engine: string;
  readonly sent: Traffic = { messages: 0, bytes: 0 };
  readonly #turns = new Turns();

  constructor() {
    checkCounts(this);
  }

  abstract abort(code: number): never;

  /** Exchanges at once; the arguments are checked. */
  protected abstract move(...args: Parameters<Communicator["exchange"]>): Promise<void>;

  /** Called before an operation of all ranks. */
  protected announce?(...call: CollectiveCall): Promise<void>;

  exchange: Communicator["exchange"] = async (to, send, from, into) => {
    checkExchange(this, to, send, from, into);
    return this.#turns.take(() => this.#exchangeNow(to, send, from, into));
  };

  async #exchangeNow(...[to, send, from, into]: Parameters<Communicator["exchange"]>): Promise<void> {
    if (to !== undefined) {
      this.sent.messages++;
      this.sent.bytes += send.byteLength;
    }
    await this.move(to, send, from, into);
  }

  /** Runs an operation of all ranks in its turn, with `exchange` for its parts. */
  #collective(call: CollectiveCall, run: (messages: Messages) => Promise<void>): Promise<void> {
    const { rank, size } = this;
    return this.#turns.take(async () => {
      await this.announce?.(...call);
      await run({ rank, size, exchange: (...args) => this.#exchangeNow(...args) });
    });
  }

  async allGather(mine: ArrayBufferView, into: ArrayBufferView, bytes?: readonly number[]): Promise<void> {
    const parts = partBytes(this, mine, into, bytes);
    return this.#collective(["allGather", into.byteLength, parts], (messages) =>
      gatherInRing(messages, mine, into, parts),
    );
  }

  async reduce(sum: Float32Array | Float64Array, order: "fixed" | "fast" = "fixed"): Promise<void> {
    checkReduce(this.rank, sum, order);
    return this.#collective(["reduce", sum.byteLength, [order, sum.BYTES_PER_ELEMENT]], (messages) =>
      reduceFixed(messages, sum),
    );
  }

  barrier(): Promise<void> {
    return this.#meet("barrier");
  }

  #meet(operation: "barrier" | "close"): Promise<void> {
    return this.#collective([operation, 0, []], async ({ rank, size, exchange }) => {
      for (let distance = 1; distance < size; distance *= 2)
        await exchange((rank + distance) % size, NOTHING, (rank - distance + size) % size, NOTHING);
    });
  }

  split(color: number, key: number = this.rank): Promise<Communicator> {
    return splitGroup(this, color, key);
  }

  close(): Promise<void> {
    return this.#meet("close");
  }
}

/** One rank of a group. */
class Group extends ExchangingRank {
  readonly rank: number;
  readonly size: number;
  readonly engine: string;
  readonly #parent: Communicator;
  readonly #members: readonly number[];

  constructor(parent: Communicator, members: readonly number[]) {
    super();
    this.#parent = parent;
    this.#members = members;
    this.rank = members.indexOf(parent.rank);
    this.size = members.length;
    this.engine = `${parent.engine}, ${this.size} of ${parent.size} ranks`;
  }

  protected async move(...[to, send, from, into]: Parameters<Communicator["exchange"]>): Promise<void> {
    const inParent = (rank: number | undefined) => (rank === undefined ? undefined : this.#members[rank]);
    await this.#parent.exchange(inParent(to), send, inParent(from), into);
  }

  abort(code: number): never {
    return this.#parent.abort(code);
  }
}
