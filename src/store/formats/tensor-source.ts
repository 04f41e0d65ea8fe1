/**
 * Named tensors, in memory or in a file whose rows are read on demand. Every format is read as a bag of tensors under the names
 * of a bundle (`self.q.0`), so that one function lays out all formats.
 */
import { arrayFor, arrayName, type DType, readerOf, type TypedData } from "../../core/dtype.ts";
import { asTensor, sizeOf, Tensor, type TensorLike, type TensorObject } from "../../core/tensor.ts";
import { ELEMENTS, type FileDType, type FileTensor } from "../../io/element.ts";
import type { SafetensorsFile } from "../../io/tensor-file.ts";
import type { FloatArray } from "../../rows/head-rows.ts";

/** The dtype and shape of a tensor, known before it is read. */
export interface TensorHead {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
}

/** Named tensors and their metadata. */
export interface Bag {
  readonly tensors: ReadonlyMap<string, TensorHead>;
  /** True if `read` is synchronous. */
  readonly inMemory: boolean;
  readonly metadata: ReadonlyMap<string, string>;
  /** Rows `[from, to)` of the first axis, or all rows, row-major. Synchronous if the tensors are in memory. */
  read(name: string, rows?: readonly [number, number]): FileTensor | Promise<FileTensor>;
  close(): void | Promise<void>;
}

/** A bag of arrays in memory. Reading copies the rows of strided views; rows of dense arrays are views. */
export function memoryBag(
  arrays: ReadonlyMap<string, TensorLike | FileTensor>,
  metadata: ReadonlyMap<string, string> = new Map(),
): Bag {
  const tensors = new Map<string, TensorHead & { readonly read: Bag["read"] }>();
  for (const [name, value] of arrays) tensors.set(name, inMemory(name, value));
  return {
    tensors,
    metadata,
    inMemory: true,
    read: (name, rows) => tensors.get(name)!.read(name, rows),
    close() {},
  };
}

function inMemory(name: string, value: TensorLike | FileTensor): TensorHead & { readonly read: Bag["read"] } {
  // A Uint8Array without a dtype is uint8 here, as in files.
  const object = value as TensorObject;
  const isUint8 = arrayName(object?.data) === "Uint8Array" && (object.dtype ?? object.type) === undefined;
  const t = asTensor(name, isUint8 ? { ...object, dtype: "uint8" } : (value as TensorLike));
  const { dtype } = t;
  return {
    dtype,
    shape: t.shape,
    read: (_, rows) => {
      const view = rows ? rowsOf(t, rows) : t;
      const dense = view.dense();
      const part = (dense.data as Float32Array).subarray(
        dense.offset,
        dense.offset + dense.size,
      ) as TypedData;
      return { data: part, shape: view.shape, dtype };
    },
  };
}

function rowsOf(t: Tensor<DType>, [from, to]: readonly [number, number]): Tensor<DType> {
  const shape = [to - from, ...t.shape.slice(1)];
  return new Tensor(t.data, shape, t.dtype, t.strides, t.offset + from * (t.strides[0] ?? 0));
}

/** A bag of the tensors of a safetensors file, read by byte range. */
export function fileBag(file: SafetensorsFile): Bag {
  return {
    tensors: file.tensors,
    metadata: file.metadata,
    inMemory: false,
    read: (name, rows) => file.read(name, rows ? { rows } : {}),
    close: () => file.close(),
  };
}

/** The numbers of a tensor: a view of float32 or float64, else decoded to float32. */
export function floatsOf({ data, dtype, shape }: FileTensor): FloatArray {
  if (dtype === "float32" || dtype === "float64") return data as FloatArray;
  const read = readerOf(dtype as DType, data as TypedData);
  const out = arrayFor("float32", sizeOf(shape)) as Float32Array;
  for (let i = 0; i < out.length; i++) out[i] = read(i);
  return out;
}

/** Bytes of a tensor in its file. */
export function bytesOfTensor({ dtype, shape }: TensorHead): number {
  return sizeOf(shape) * ELEMENTS[dtype].bytes;
}

/** `[12, 128, 64] float16`. */
export function shown({ dtype, shape }: TensorHead): string {
  return `[${shape.join(", ")}] ${dtype}`;
}
