/**
 * Moves of bytes between all ranks: a broadcast, and an exchange of all with all. An engine that has a call of its own for one makes it
 * (MPI_Bcast, MPI_Alltoallv); elsewhere it consists of exchanges. Nothing is computed, so the bits are the same.
 */
import { type Messages, NOTHING, startsOf } from "./communicator.ts";

/** The moves of an engine. */
export interface Moves {
  broadcast(data: ArrayBufferView, root: number): Promise<void>;
  allToAll(...parts: AllToAll): Promise<void>;
}

/** What goes to each rank and comes from each, one part after the other, with the bytes of the parts; none for the rank itself. */
export type AllToAll = readonly [
  send: Uint8Array,
  sendBytes: readonly number[],
  into: Uint8Array,
  intoBytes: readonly number[],
];

type Ranks = Messages & Partial<Moves>;

/** Sends the numbers of rank `root` to all others: along a binomial tree where the engine has no call for it. */
export async function broadcast(comm: Ranks, data: ArrayBufferView, root = 0): Promise<void> {
  const { size } = comm;
  if (comm.broadcast && size > 2) return comm.broadcast(data, root);
  const distanceToRoot = (comm.rank - root + size) % size;
  const real = (n: number) => (n + root) % size;
  for (let distance = 1; distance < size; distance *= 2)
    if (distanceToRoot < distance) {
      if (distanceToRoot + distance < size)
        await comm.exchange(real(distanceToRoot + distance), data, undefined, NOTHING);
    } else if (distanceToRoot < 2 * distance)
      await comm.exchange(undefined, NOTHING, real(distanceToRoot - distance), data);
}

/** Sends a part of `send` to each rank and receives a part of `into` from each. */
export async function allToAll(comm: Ranks, ...parts: AllToAll): Promise<void> {
  const { rank, size } = comm;
  if (comm.allToAll && size > 2) return comm.allToAll(...parts);
  const [send, sendBytes, into, intoBytes] = parts;
  const [sendStarts, intoStarts] = [sendBytes, intoBytes].map(startsOf);
  for (let step = 1; step < size; step++) {
    const [to, from] = [(rank + step) % size, (rank - step + size) % size];
    await comm.exchange(
      to,
      send.subarray(sendStarts[to], sendStarts[to] + sendBytes[to]),
      from,
      into.subarray(intoStarts[from], intoStarts[from] + intoBytes[from]),
    );
  }
}
