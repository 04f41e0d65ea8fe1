/**
 * An optimizer whose moments are divided among ranks (stage 1 of ZeRO, Rajbhandari et al. 2020, arXiv 1910.02054): each rank updates a
 * part of the parameters, whose moments it alone has, and sends the new values to all. The arithmetic is that of one optimizer for each
 * parameter, so the bits are the same. The checkpoint is in the same parts (checkpointing.ts).
 */

import type { Communicator } from "../../cluster/communicator/communicator.ts";
import { markChanged } from "../../core/recording/changes.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Optimizer, OptimizerStep } from "../optimizer.ts";
import type { Gradients } from "../tape.ts";

/** The parameters of each rank: the largest first, each to the rank with the fewest numbers. */
export function partsOf(
  parameters: ReadonlyMap<string, Tensor>,
  ranks: number,
): ReadonlyMap<string, Tensor>[] {
  const parts = Array.from({ length: ranks }, () => new Map<string, Tensor>());
  const sizes = new Array<number>(ranks).fill(0);
  for (const [name, parameter] of [...parameters].sort((a, b) => b[1].size - a[1].size)) {
    const rank = sizes.indexOf(Math.min(...sizes));
    parts[rank].set(name, parameter);
    sizes[rank] += parameter.size;
  }
  return parts;
}

/** The elements of tensors, one after the other. */
function packed(tensors: readonly Tensor[]): Uint8Array {
  const message = new Uint8Array(bytesIn(tensors));
  let at = 0;
  for (const bytes of tensors.map(bytesOf)) {
    message.set(bytes, at);
    at += bytes.length;
  }
  return message;
}

/** Copies the elements of a message to tensors. */
function unpackTo(message: Uint8Array, tensors: readonly Tensor[]): void {
  let at = 0;
  for (const bytes of tensors.map(bytesOf)) {
    bytes.set(message.subarray(at, at + bytes.length));
    at += bytes.length;
  }
}

/** The bytes of a row-major tensor of the CPU, no copy. */
function bytesOf({ data, offset, size }: Tensor): Uint8Array {
  const { buffer, byteOffset, BYTES_PER_ELEMENT: width } = data as Float32Array;
  return new Uint8Array(buffer, byteOffset + offset * width, size * width);
}

const bytesIn = (tensors: readonly Tensor[]): number =>
  tensors.reduce((sum, t) => sum + bytesOf(t).length, 0);

/** The parts of the parameters and those of this rank. */
export class OptimizerParts {
  readonly #comm: Communicator;
  readonly #parts: readonly ReadonlyMap<string, Tensor>[];

  constructor(comm: Communicator, parameters: ReadonlyMap<string, Tensor>) {
    this.#comm = comm;
    this.#parts = partsOf(parameters, comm.size);
  }

  /** The parameters that this rank updates. */
  get local(): ReadonlyMap<string, Tensor> {
    return this.#parts[this.#comm.rank];
  }

  /** A step of this rank's optimizer; a rank without a gradient of its own only counts it. */
  step(optimizer: Optimizer, gradients: Gradients, options: OptimizerStep): void {
    const gradientsHere = new Map(
      [...this.local.values()].flatMap((t) => (gradients.has(t) ? [[t, gradients.get(t)!]] : [])),
    );
    if (gradientsHere.size > 0) optimizer.step(gradientsHere, options);
    else optimizer.steps++;
  }

  /** Sends the new values of this rank's parameters to all ranks, and receives theirs. */
  async share(): Promise<void> {
    const lists = this.#parts.map((part) => [...part.values()]);
    const bytes = lists.map(bytesIn);
    const all = new Uint8Array(bytes.reduce((sum, n) => sum + n, 0));
    await this.#comm.allGather(packed(lists[this.#comm.rank]), all, bytes);
    let at = 0;
    lists.forEach((list, rank) => {
      if (rank !== this.#comm.rank) {
        unpackTo(all.subarray(at, at + bytes[rank]), list);
        list.forEach(markChanged);
      }
      at += bytes[rank];
    });
  }
}
