/**
 * Gradients of a step whose micro-batches are distributed over ranks (data parallel). Micro-batches 0 … M − 1 are the leaves of
 * a binary tree that splits every group in halves, the first half being the smaller one, and gradients are added in the order
 * of that tree. With several ranks, the sum of a node is computed on the rank of its first leaf. So any number of ranks gives
 * the same bits.
 *
 * Where the number of ranks is a power of two and each rank holds a subtree of equal size, `reduce` adds the upper part of the
 * tree; each rank sends 2·(P − 1)/P of the gradients.
 */
import { type Communicator, NOTHING } from "../../cluster/communicator/communicator.ts";
import { broadcast } from "../../cluster/communicator/moves.ts";
import { addFloats, type Floats } from "../../cluster/communicator/reduce.ts";
import { arrayFor } from "../../core/dtype.ts";
import { awaitSteps, type Resumable, runSteps } from "../../core/synchronous.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Gradients } from "../tape.ts";

/** All gradients of a step, one array for each dtype. */
export type FlatGradients = readonly Floats[];

/** Micro-batches `from` … `to` (excluded) of a rank. */
export function microBatchesOf(M: number, ranks: number, rank: number): readonly [from: number, to: number] {
  return [Math.floor((rank * M) / ranks), Math.floor(((rank + 1) * M) / ranks)];
}

/** Converts gradients to flat arrays, which are added and sent, and back. */
export class Flat {
  readonly #places: readonly { readonly parameter: Tensor; readonly array: number; readonly at: number }[];
  readonly #dtypes: readonly ("float32" | "float64")[];
  readonly #lengths: readonly number[];

  /** @param parameters row-major float32 or float64 tensors */
  constructor(parameters: Iterable<Tensor>) {
    const dtypes: ("float32" | "float64")[] = [];
    const lengths: number[] = [];
    this.#places = Array.from(parameters, (parameter) => {
      const dtype = parameter.dtype as "float32" | "float64";
      if (!dtypes.includes(dtype)) lengths[dtypes.push(dtype) - 1] = 0;
      const array = dtypes.indexOf(dtype);
      const at = lengths[array];
      lengths[array] += parameter.size;
      return { parameter, array, at };
    });
    this.#dtypes = dtypes;
    this.#lengths = lengths;
  }

  /** Number of parameters. */
  get count(): number {
    return this.#places.length;
  }

  /** Copies gradients. `present` is set to 1 for each parameter that has a gradient; the others are zeros. */
  from(gradients: Gradients, present: Uint8Array): FlatGradients {
    const arrays = this.#dtypes.map((dtype, n) => arrayFor(dtype, this.#lengths[n]) as Floats);
    this.#places.forEach(({ parameter, array, at }, n) => {
      const gradient = gradients.get(parameter)?.dense();
      if (!gradient) return;
      present[n] = 1;
      arrays[array].set(
        (gradient.data as Floats).subarray(gradient.offset, gradient.offset + gradient.size),
        at,
      );
    });
    return arrays;
  }

  /** Gradients by parameter, as views of the arrays, of the parameters in `present`. */
  to(arrays: FlatGradients, present: Uint8Array): Gradients {
    const gradients: Gradients = new Map();
    this.#places.forEach(({ parameter, array, at }, n) => {
      if (present[n] === 0) return;
      gradients.set(parameter, new Tensor(arrays[array], parameter.shape, parameter.dtype, undefined, at));
    });
    return gradients;
  }
}

const middleOf = (first: number, last: number): number => first + Math.floor((last - first) / 2);

const addFlat = (into: FlatGradients, other: FlatGradients): void => {
  into.forEach((sum, n) => {
    addFloats(sum, other[n]);
  });
};

/**
 * The sum of the leaves `first` … `last` (excluded) of the tree, in its order. `leaf` returns a value that may be modified, or
 * undefined to stop; `add` adds its second argument to its first.
 */
export const sumTree = <T>(
  first: number,
  last: number,
  leaf: (m: number) => T | undefined,
  add: (sum: T, other: T) => void,
): T | undefined => runSteps(treeSteps(first, last, add), leaf);

/** `sumTree`, which yields the number of each leaf. */
function* treeSteps<T>(
  first: number,
  last: number,
  add: (sum: T, other: T) => void,
): Resumable<number, T | undefined, T | undefined> {
  if (last - first === 1) return yield first;
  const middle = middleOf(first, last);
  const left = yield* treeSteps(first, middle, add);
  const right = left && (yield* treeSteps(middle, last, add));
  if (left && right) add(left, right);
  return right && left;
}

/**
 * The sums of a rank's micro-batches: one for each maximal node of the tree whose leaves are all on this rank, keyed by the
 * node's first leaf and end. `leaf` returns the gradients of a micro-batch in arrays that may be modified, or a promise of them;
 * `undefined` stops.
 */
export async function sumLocal(
  M: number,
  [from, to]: readonly [number, number],
  leaf: (m: number) => FlatGradients | undefined | Promise<FlatGradients | undefined>,
): Promise<Map<string, FlatGradients> | undefined> {
  const nodes = new Map<string, FlatGradients>();
  const visit = async (first: number, last: number): Promise<boolean> => {
    if (last <= from || first >= to) return true;
    if (first >= from && last <= to) {
      const sum = await awaitSteps(treeSteps(first, last, addFlat), leaf);
      if (sum) nodes.set(`${first} ${last}`, sum);
      return sum !== undefined;
    }
    const middle = middleOf(first, last);
    return (await visit(first, middle)) && visit(middle, last);
  };
  return M > 0 && (await visit(0, M)) ? nodes : undefined;
}

/** The sum over all micro-batches, on every rank, from the sums of `sumLocal`. `order: "fast"` leaves the order to the engine. */
export async function sumOverRanks(
  comm: Communicator,
  M: number,
  nodes: ReadonlyMap<string, FlatGradients>,
  order: "fixed" | "fast",
): Promise<FlatGradients> {
  const { rank, size } = comm;
  const [from, to] = microBatchesOf(M, size, rank);
  const aligned = M % size === 0 && (size & (size - 1)) === 0;
  if (order === "fast" || aligned) {
    const [sum, ...others] = nodes.values();
    for (const other of others) addFlat(sum, other);
    for (const array of sum) await comm.reduce(array, order);
    return sum;
  }
  const owner = (m: number): number => {
    let r = Math.min(size - 1, Math.floor((m * size) / M));
    while (microBatchesOf(M, size, r)[0] > m) r--;
    while (microBatchesOf(M, size, r)[1] <= m) r++;
    return r;
  };
  let spare: FlatGradients | undefined;
  const visit = async (first: number, last: number): Promise<FlatGradients | undefined> => {
    if (last <= from || first >= to) return undefined;
    const node = nodes.get(`${first} ${last}`);
    if (node) return node;
    const middle = middleOf(first, last);
    const left = await visit(first, middle);
    const right = await visit(middle, last);
    const [leftOwner, rightOwner] = [owner(first), owner(middle)];
    if (leftOwner === rightOwner) {
      if (left && right && rank === leftOwner) addFlat(left, right);
    } else if (rank === rightOwner && right)
      for (const array of right) await comm.exchange(leftOwner, array, undefined, NOTHING);
    else if (rank === leftOwner && left) {
      spare ??= left.map((array) => new (array.constructor as Float32ArrayConstructor)(array.length));
      for (const array of spare) await comm.exchange(undefined, NOTHING, rightOwner, array);
      addFlat(left, spare);
    }
    return rank === leftOwner ? left : undefined;
  };
  const [some] = nodes.values();
  const root = await visit(0, M);
  const sum = root ?? some;
  for (const array of sum) await broadcast(comm, array, 0);
  return sum;
}
