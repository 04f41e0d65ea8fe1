/** What files of tensors that are read in part share: the checks of a name and of rows, and the limit of one read. */
import { checkArgument, checkMethods, formatValue, OptionError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { ELEMENTS, type FileTensor } from "./element.ts";
import { checkSize } from "./limit.ts";
import { quote } from "./refuse.ts";
import type { TensorInfo } from "./safetensors/header.ts";

/** Options of `read`. */
export interface ReadOptions {
  /** `[from, to)` along the first axis; all by default. */
  readonly rows?: readonly [number, number];
  /**
   * Memory for the bytes of a file, at least as many as the read takes, so that repeated reads allocate nothing: the result is a view
   * of it, valid until the next read into it. A source in memory returns views of its own bytes and ignores it.
   */
  readonly into?: Uint8Array;
}

/** A file of tensors, or a sharded model, whose tensors are read on request: safetensors, GGUF, or a checkpoint of PyTorch. */
export interface SafetensorsFile {
  /** Texts of `__metadata__`; with several shards, each key is from the first shard that has it. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Dtype and shape of each tensor as it is read, and its byte range, by name; `start` and `end` are offsets in its shard. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /** Reads one tensor, or the requested rows, and nothing else. */
  read(name: string, options?: ReadOptions): Promise<FileTensor>;
  /** Closes the files that `openSafetensors` opened. */
  close(): Promise<void>;
}

/** Rows of a tensor: the shape that they have, the first of them, and the place of its first number, row-major, and how many follow. */
export interface TensorRows {
  readonly shape: readonly number[];
  readonly row: number;
  readonly first: number;
  readonly count: number;
}

/** Reads rows of a tensor; a tensor without axes has one. */
export type LoadRows<T extends TensorInfo> = (
  name: string,
  info: T,
  rows: TensorRows,
  into?: Uint8Array,
) => Promise<FileTensor>;

/** A file with these tensors, whose reads are checked; after `close` there are none. */
export function tensorFile<T extends TensorInfo>(
  what: string,
  {
    metadata = new Map(),
    tensors,
  }: { metadata?: ReadonlyMap<string, string>; tensors: ReadonlyMap<string, T> },
  maxBytes: number,
  loadRows: LoadRows<T>,
  close: () => Promise<void>,
): SafetensorsFile {
  let isClosed = false;
  const read = async (name: string, options: ReadOptions = {}): Promise<FileTensor> => {
    checkNames(what, options, ["rows", "into"]);
    const quoted = typeof name === "string" ? quote(name) : formatValue(name);
    if (isClosed)
      throw new OptionError("closed", `${what}: the file is closed; read ${quoted} before close()`);
    const info = tensors.get(name);
    if (info === undefined) throw new OptionError("tensor", `${what}: no tensor ${quoted}`, { tensor: name });
    const { dtype, shape } = info;
    const [count = 1, ...inner] = shape;
    const row = inner.reduce((n, x) => n * x, 1);
    const load = (from: number, to: number, subject: string, advice: string) => {
      const bytes = (to - from) * row * ELEMENTS[dtype].bytes;
      checkSize(what, subject, bytes, maxBytes, advice);
      checkInto(what, options.into, info, bytes);
      const part = shape.length === 0 ? shape : [to - from, ...inner];
      const rows = { shape: part, row: from, first: from * row, count: (to - from) * row };
      return loadRows(name, info, rows, options.into);
    };
    if (options.rows === undefined)
      return load(0, count, `tensor ${quote(name)}`, ". `rows` reads a part of it");
    const [from, to]: readonly number[] =
      Array.isArray(options.rows) && options.rows.length === 2 ? options.rows : [];
    const isRange = Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= count;
    if (!(shape.length > 0 && isRange))
      throw new OptionError(
        "rows",
        `${what}: rows ${formatValue(options.rows)} of tensor ${quote(name)} [${shape.join(", ")}]; expected [from, to], 0 ≤ from ≤ to ≤ its first axis`,
        { tensor: name, shape },
      );
    return load(from, to, `rows ${from} to ${to} of tensor ${quote(name)}`, ". Ask for fewer rows");
  };
  const closeOnce = async () => {
    if (!isClosed) await close();
    isClosed = true;
  };
  return checkMethods(what, { metadata, tensors, read, close: closeOnce }, { read: 2, close: 0 });
}

/** Throws unless `into` has the bytes of a read; packed blocks are read through it in parts of its size. */
function checkInto(what: string, into: Uint8Array | undefined, info: TensorInfo, bytes: number): void {
  if (into === undefined || "block" in info) return;
  checkArgument(into instanceof Uint8Array, what, "a Uint8Array as into", into);
  if (into.length < bytes)
    throw new OptionError(
      "into",
      `${what}: into must have ${bytes} bytes for this read, got ${into.length}`,
      { bytes, got: into.length },
    );
}
