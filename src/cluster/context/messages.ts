/** Tensors as messages: several in one message, gathered from all ranks, or sent to the ranks of their rows. */
import { resultArray } from "../../core/arena.ts";
import { arrayFor, DTYPES, type DType, readerOf } from "../../core/dtype.ts";
import { sizeOf, Tensor } from "../../core/tensor.ts";
import { releaseBuffer, takeBuffer } from "../communicator/buffers.ts";
import { bytesOf, type Communicator, startsOf } from "../communicator/communicator.ts";
import { allToAll } from "../communicator/moves.ts";
import { addFloats, type Floats } from "../communicator/reduce.ts";
import { emptyLike, type PositionRange, type ShardPlan, takeRanges } from "./shard.ts";

/** The form of a tensor in a message; rows are axis −2. */
export interface Form {
  readonly dtype: DType;
  /** Axes before the rows. */
  readonly lead: readonly number[];
  /** Elements per row. */
  readonly width: number;
  /** A tensor with the same array class. */
  readonly like: Tensor;
}

/** The form of a tensor [lead…, N, width]. */
export const formOf = (t: Tensor): Form => ({
  dtype: t.dtype,
  lead: t.shape.slice(0, -2),
  width: t.shape[t.shape.length - 1],
  like: t,
});

const formBytes = ({ dtype, lead, width }: Form, rows: number): number =>
  DTYPES[dtype].bytes * sizeOf(lead) * rows * width;

/** Bytes of a message with this number of rows of each form. */
export const messageBytes = (forms: readonly Form[], rows: number): number =>
  forms.reduce((sum, form) => sum + formBytes(form, rows), 0);

/** Wide elements first, so every array begins at a multiple of its element size. */
function order(forms: readonly Form[]): number[] {
  return forms
    .map((_, n) => n)
    .sort((a, b) => DTYPES[forms[b].dtype].bytes - DTYPES[forms[a].dtype].bytes || a - b);
}

/** Tensors with equal numbers of rows as one message in a buffer of `takeBuffer`. */
export function pack(comm: Communicator, tensors: readonly Tensor[]): Uint8Array<ArrayBuffer> {
  const rows = tensors[0].shape[tensors[0].shape.length - 2];
  const message = takeBuffer(comm, messageBytes(tensors.map(formOf), rows));
  packInto(message, tensors, [[0, rows]]);
  return message;
}

/** Writes these rows of tensors to a message. */
function packInto(message: Uint8Array, tensors: readonly Tensor[], ranges: readonly PositionRange[]): void {
  const forms = tensors.map(formOf);
  let at = 0;
  for (const n of order(forms)) {
    const { data, offset, shape, dtype } = tensors[n].dense();
    const { lead, width } = forms[n];
    const rowBytes = width * DTYPES[dtype].bytes;
    const bytes = bytesOf(data).subarray(offset * DTYPES[dtype].bytes);
    const N = shape[shape.length - 2];
    for (let h = 0; h < sizeOf(lead); h++)
      for (const [from, to] of ranges) {
        message.set(bytes.subarray((h * N + from) * rowBytes, (h * N + to) * rowBytes), at);
        at += (to - from) * rowBytes;
      }
  }
}

/** The tensors of a message, without a copy where it is aligned. */
export function unpack(bytes: Uint8Array, forms: readonly Form[], rows: number): Tensor[] {
  const isAligned = forms.every(({ dtype }) => bytes.byteOffset % DTYPES[dtype].bytes === 0);
  const message = isAligned ? bytes : bytes.slice();
  const tensors: Tensor[] = [];
  let at = message.byteOffset;
  for (const n of order(forms)) {
    const { lead, width, dtype, like } = forms[n];
    const count = sizeOf(lead) * rows * width;
    const Numbers = like.data.constructor as new (
      buffer: ArrayBufferLike,
      at: number,
      n: number,
    ) => Tensor["data"];
    tensors[n] = new Tensor(new Numbers(message.buffer, at, count), [...lead, rows, width], dtype);
    at += count * DTYPES[dtype].bytes;
  }
  return tensors;
}

/** Writes rows of a shard [lead…, n, width] to their ranges of a whole tensor [lead…, N, width]. */
function placeRows(target: Tensor, shard: Tensor, ranges: readonly PositionRange[]): void {
  const width = target.shape[target.shape.length - 1];
  const [N, n] = [target, shard].map((t) => t.shape[t.shape.length - 2]);
  const lead = sizeOf(target.shape.slice(0, -2));
  const [into, from] = [target.data as Float32Array, shard.data as Float32Array];
  for (let h = 0; h < lead; h++) {
    let at = shard.offset + h * n * width;
    for (const [first, last] of ranges) {
      const count = (last - first) * width;
      into.set(from.subarray(at, at + count), (h * N + first) * width);
      at += count;
    }
  }
}

/**
 * Adds a part of a mask's gradient to the gradient of the whole mask. `rows` and `columns` are the ranges of the part's last two
 * axes in the whole; an axis of length 1 in the whole was broadcast, and is summed. Undefined ranges: the whole axis.
 */
export function addMaskPart(
  target: Tensor,
  part: Tensor,
  rows: readonly PositionRange[] | undefined,
  columns: readonly PositionRange[] | undefined,
): void {
  const [N, M] = [target.shape.at(-2) ?? 1, target.shape.at(-1) ?? 1];
  const rangesOf = (
    length: number,
    ranges: readonly PositionRange[] | undefined,
  ): readonly PositionRange[] => (length === 1 || ranges === undefined ? [[0, length]] : ranges);
  const [down, across] = [rangesOf(N, rows), rangesOf(M, columns)];
  const lead = sizeOf(target.shape.slice(0, -2));
  const into = target.data as Float32Array | Float64Array;
  const dense = part.dense();
  const read = readerOf(dense.dtype, dense.data);
  let at = dense.offset;
  for (let h = 0; h < lead; h++)
    for (const [firstRow, lastRow] of down)
      for (let row = firstRow; row < lastRow; row++)
        for (const [from, to] of across)
          for (let column = from; column < to; column++) into[(h * N + row) * M + column] += read(at++);
}

/** Every rank's rows of tensors [lead…, n, width], in the order of the sequence: [lead…, N, width]. One message per rank. */
export async function gatherRows(
  comm: Communicator,
  plan: ShardPlan,
  tensors: readonly Tensor[],
  within: <T>(part: () => T) => T = (part) => part(),
): Promise<Tensor[]> {
  const forms = tensors.map(formOf);
  const bytes = Array.from({ length: comm.size }, (_, r) => messageBytes(forms, plan.size(r)));
  const all = takeBuffer(
    comm,
    bytes.reduce((sum, n) => sum + n, 0),
  );
  const mine = pack(comm, tensors);
  await comm.allGather(mine, all, bytes);
  releaseBuffer(comm, mine);
  const sequences = within(() =>
    forms.map(({ lead, width, dtype, like }) => {
      const shape = [...lead, plan.length, width];
      const size = sizeOf(shape);
      return new Tensor(dtype === "float32" ? resultArray(size) : emptyLike(like, size), shape, dtype);
    }),
  );
  let at = 0;
  for (let r = 0; r < comm.size; r++) {
    const part = unpack(all.subarray(at, at + bytes[r]), forms, plan.size(r));
    part.forEach((shard, n) => {
      placeRows(sequences[n], shard, plan.ranges(r));
    });
    at += bytes[r];
  }
  releaseBuffer(comm, all);
  return sequences;
}

/**
 * Sends each rank its rows of tensors [lead…, N, width] and receives this rank's rows from all: one list of tensors
 * [lead…, n, width] for each rank, in the order of ranks.
 */
export async function scatterRows(
  comm: Communicator,
  plan: ShardPlan,
  tensors: readonly Tensor[],
): Promise<Tensor[][]> {
  const { rank, size } = comm;
  const forms = tensors.map(formOf);
  const bytesFor = (rows: (r: number) => number) =>
    Array.from({ length: size }, (_, r) => (r === rank ? 0 : messageBytes(forms, rows(r))));
  const [sendBytes, intoBytes] = [bytesFor((r) => plan.size(r)), bytesFor(() => plan.size(rank))];
  const [sendStarts, intoStarts] = [sendBytes, intoBytes].map(startsOf);
  const total = (bytes: readonly number[]) => bytes.reduce((sum, n) => sum + n, 0);
  const [send, into] = [takeBuffer(comm, total(sendBytes)), new Uint8Array(total(intoBytes))];
  for (let r = 0; r < size; r++)
    if (r !== rank) packInto(send.subarray(sendStarts[r]), tensors, plan.ranges(r));
  await allToAll(comm, send, sendBytes, into, intoBytes);
  releaseBuffer(comm, send);
  return intoStarts.map((at, r) =>
    r === rank
      ? tensors.map((t) => takeRanges(t, t.shape.length - 2, plan.ranges(rank)))
      : unpack(into.subarray(at, at + intoBytes[r]), forms, plan.size(rank)),
  );
}

/** a ← a + b, element by element; both dense, of one dtype. */
export function addInto(a: Tensor, b: Tensor): void {
  const [x, y] = [a, b].map((t) => (t.data as Floats).subarray(t.offset, t.offset + t.size));
  addFloats(x, y);
}

/** The sum of each tensor over ranks, this rank's rows, added in the order of ranks. */
export async function sumRows(
  comm: Communicator,
  plan: ShardPlan,
  tensors: readonly Tensor[],
): Promise<Tensor[]> {
  const parts = await scatterRows(comm, plan, tensors);
  const [first, ...others] = parts;
  for (const part of others)
    part.forEach((t, n) => {
      addInto(first[n], t);
    });
  return first;
}

/** Zeros [lead…, rows, width]. */
export const zeroRows = (
  dtype: "float32" | "float64",
  lead: readonly number[],
  rows: number,
  width: number,
): Tensor => new Tensor(arrayFor(dtype, sizeOf(lead) * rows * width), [...lead, rows, width], dtype);

/** lse [..., N] as rows of one number: [..., N, 1]. */
export const column = (lse: Tensor): Tensor =>
  new Tensor(lse.data, [...lse.shape, 1], lse.dtype, undefined, lse.offset);
/** The inverse of `column`. */
export const flat = (lse: Tensor): Tensor =>
  new Tensor(lse.data, lse.shape.slice(0, -1), lse.dtype, undefined, lse.offset);
