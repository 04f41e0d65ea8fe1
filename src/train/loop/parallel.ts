/**
 * Gradients of a step whose micro-batches are distributed over ranks (data parallel). Micro-batches 0 … M − 1 are the leaves of
 * a binary tree that splits every group in halves, the first half being the smaller one, and gradients are added in the order
 * of that tree. With several ranks, the sum of a node is computed on the rank of its first leaf. So any number of ranks gives
 * the same bits.
 *
 * Where the number of ranks is a power of two and each rank holds a subtree of equal size, `reduce` adds the upper part of the
 * tree; each rank sends 2·(P − 1)/P of the gradients.
 *
 * Gradients are exchanged in buckets while the backward pass of a rank's last micro-batch is computed (Li et al. 2020, arXiv 2006.15704): the
 * last parameters first, whose gradients are complete first. Buckets and their order depend on the parameters alone, so that those of
 * all ranks meet, and each number is added in the same order as without buckets.
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

/** Bytes of gradients that are exchanged at once: more where one parameter has more. */
const BUCKET = 2 ** 20;

/** Adjacent parameters, from number `first` on, and their range of each array. */
interface Bucket {
  readonly first: number;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** Converts gradients to flat arrays, which are added and sent, and back. */
export class Flat {
  readonly #places: readonly { readonly parameter: Tensor; readonly array: number; readonly at: number }[];
  readonly #numbers: ReadonlyMap<Tensor, number>;
  readonly #dtypes: readonly ("float32" | "float64")[];
  readonly #lengths: readonly number[];
  /** The buckets in the order in which they are exchanged. */
  readonly buckets: readonly Bucket[];

  /** @param parameters row-major float32 or float64 tensors */
  constructor(parameters: Iterable<Tensor>, bucketBytes = BUCKET) {
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
    this.#numbers = new Map(this.#places.map(({ parameter }, n) => [parameter, n]));
    this.#dtypes = dtypes;
    this.#lengths = lengths;
    const buckets: Bucket[] = [];
    let [ends, bytes] = [lengths, 0];
    let starts = [...lengths];
    for (let n = this.#places.length - 1; n >= 0; n--) {
      const { array, at } = this.#places[n];
      bytes += (starts[array] - at) * (dtypes[array] === "float64" ? 8 : 4);
      starts[array] = at;
      if (bytes < bucketBytes && n > 0) continue;
      const limits = ends;
      buckets.push({ first: n, ranges: starts.map((start, a) => [start, limits[a]]) });
      [ends, starts, bytes] = [starts, [...starts], 0];
    }
    this.buckets = buckets;
  }

  /** Number of parameters. */
  get count(): number {
    return this.#places.length;
  }

  zeros(): FlatGradients {
    return this.#dtypes.map((dtype, n) => arrayFor(dtype, this.#lengths[n]) as Floats);
  }

  /** Copies the gradient of a parameter, and returns the parameter's number. */
  set(arrays: FlatGradients, parameter: Tensor, gradient: Tensor | undefined): number {
    const n = this.#numbers.get(parameter) as number;
    const { array, at } = this.#places[n];
    if (gradient) {
      const { data, offset, size } = gradient.dense();
      arrays[array].set((data as Floats).subarray(offset, offset + size), at);
    }
    return n;
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
 * The sum of the leaves `first` … `last` (excluded) of the tree, in its order. `leaf` returns a value that may be modified; `add` adds its
 * second argument to its first.
 */
export const sumTree = <T>(
  first: number,
  last: number,
  leaf: (m: number) => T,
  add: (sum: T, other: T) => void,
): T => runSteps(treeSteps(first, last, add), leaf);

/** `sumTree`, which yields the number of each leaf. */
function* treeSteps<T>(
  first: number,
  last: number,
  add: (sum: T, other: T) => void,
): Resumable<number, T, T> {
  if (last - first === 1) return yield first;
  const middle = middleOf(first, last);
  const left = yield* treeSteps(first, middle, add);
  add(left, yield* treeSteps(middle, last, add));
  return left;
}

/** The sums of a rank's micro-batches, without the last one. */
export interface LocalSums {
  /** One for each maximal node of the tree whose leaves are all on this rank, keyed by the node's first leaf and end. */
  readonly nodes: ReadonlyMap<string, FlatGradients>;
  /** The terms of the last node, a₀ + (a₁ + (a₂ + …)), of which the last is the last micro-batch and a₀ takes the sum. */
  readonly terms: readonly FlatGradients[];
}

/**
 * Adds a rank's micro-batches but the last one, whose gradients will be in `last`. `leaf` returns the gradients of a micro-batch in arrays
 * that may be modified, or a promise of them.
 */
export async function sumLocal(
  M: number,
  [from, to]: readonly [number, number],
  last: FlatGradients,
  leaf: (m: number) => FlatGradients | Promise<FlatGradients>,
): Promise<LocalSums> {
  const nodes = new Map<string, FlatGradients>();
  const terms: FlatGradients[] = [];
  const visit = async (first: number, end: number): Promise<void> => {
    if (end <= from || first >= to) return;
    if (first < from || end > to) {
      await visit(first, middleOf(first, end));
      await visit(middleOf(first, end), end);
      return;
    }
    if (end < to) {
      nodes.set(`${first} ${end}`, await awaitSteps(treeSteps(first, end, addFlat), leaf));
      return;
    }
    for (let at = first; end - at > 1; at = middleOf(at, end))
      terms.push(await awaitSteps(treeSteps(at, middleOf(at, end), addFlat), leaf));
    terms.push(last);
    nodes.set(`${first} ${end}`, terms[0]);
  };
  await visit(0, M);
  return { nodes, terms };
}

/** Exchanges a bucket of the sums of a rank with the others. */
export type ExchangeBucket = (nodes: ReadonlyMap<string, FlatGradients>) => Promise<unknown>;

/** The gradients of a rank's last micro-batch, which are added to its sums and exchanged as they are completed. */
export class GradientExchange {
  readonly #flat: Flat;
  readonly #sums: LocalSums;
  readonly #exchange: ExchangeBucket | undefined;
  readonly #isComplete: Uint8Array;
  #next: number;
  #bucket = 0;
  #ended: Promise<unknown> = Promise.resolve();

  /** Without `exchange` there is only this rank. */
  constructor(flat: Flat, sums: LocalSums, exchange: ExchangeBucket | undefined) {
    this.#flat = flat;
    this.#sums = sums;
    this.#exchange = exchange;
    this.#isComplete = new Uint8Array(flat.count);
    this.#next = flat.count;
  }

  /** Takes the gradient of a parameter, and starts the exchange of each bucket that it completes. */
  complete(parameter: Tensor, gradient: Tensor | undefined): number {
    const n = this.#flat.set(this.#sums.terms.at(-1) as FlatGradients, parameter, gradient);
    this.#isComplete[n] = 1;
    this.#start();
    return n;
  }

  /** The sum over all ranks, once it is here. Parameters that have not been completed have gradients of 0. */
  async end(): Promise<FlatGradients> {
    this.#isComplete.fill(1);
    this.#start();
    await this.#ended;
    return [...this.#sums.nodes.values()][0];
  }

  #start(): void {
    while (this.#next > 0 && this.#isComplete[this.#next - 1] !== 0) this.#next--;
    const { buckets } = this.#flat;
    for (; buckets[this.#bucket]?.first >= this.#next; this.#bucket++) {
      const { ranges } = buckets[this.#bucket];
      const part = (arrays: FlatGradients) =>
        arrays.map((array, a) => array.subarray(...ranges[a])).filter(({ length }) => length > 0);
      const terms = this.#sums.terms.map(part);
      terms.reduceRight((sum, term) => {
        addFlat(term, sum);
        return term;
      });
      const { nodes } = this.#sums;
      const exchange = this.#exchange;
      this.#ended = this.#ended.then(() =>
        exchange?.(new Map([...nodes].map(([key, sum]) => [key, part(sum)]))),
      );
      // `end` throws it: until then the backward pass goes on.
      this.#ended.catch(() => {});
    }
  }
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
