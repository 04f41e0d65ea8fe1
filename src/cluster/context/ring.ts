/** Tensors of ranks that are passed around a ring. */
import type { Tensor } from "../../core/tensor.ts";
import { releaseBuffer, takeBuffer } from "../communicator/buffers.ts";
import type { Communicator } from "../communicator/communicator.ts";
import { formOf, messageBytes, pack, unpack } from "./messages.ts";
import type { ShardPlan } from "./shard.ts";

/**
 * Each rank's tensors in turn: this rank's own, then those of the rank before it, and so on. While the caller computes with one
 * shard, the next is in transit.
 */
export async function* aroundRing(
  comm: Communicator,
  plan: ShardPlan,
  shard: readonly Tensor[],
): AsyncGenerator<{ readonly owner: number; readonly step: number; readonly tensors: readonly Tensor[] }> {
  const { rank, size } = comm;
  const forms = shard.map(formOf);
  let message = size > 1 ? pack(comm, shard) : new Uint8Array(0);
  let tensors: readonly Tensor[] = shard;
  for (let step = 0; step < size; step++) {
    const owner = (rank - step + size) % size;
    const next = (owner - 1 + size) % size;
    const incoming = takeBuffer(comm, step < size - 1 ? messageBytes(forms, plan.size(next)) : 0);
    const moving =
      step < size - 1
        ? comm.exchange((rank + 1) % size, message, (rank - 1 + size) % size, incoming)
        : undefined;
    // A failure is thrown where it is awaited below; until then it must not be reported as unhandled.
    moving?.catch(() => undefined);
    yield { owner, step, tensors };
    await moving;
    // The caller has computed with this shard, and the next rank has it.
    releaseBuffer(comm, message);
    if (!moving) return;
    message = incoming;
    tensors = unpack(incoming, forms, plan.size(next));
  }
}
