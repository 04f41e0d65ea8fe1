/**
 * The header of a GGUF file: magic, version, counts, values by key, then name, shape, kind and place of each tensor. Numbers are
 * little-endian. https://github.com/ggml-org/ggml, docs/gguf.md.
 */
import type { FileDType } from "../element.ts";
import { BytesEnd } from "../growing.ts";
import { extent, quote, type Refuse, utf8 } from "../refuse.ts";
import type { TensorInfo } from "../safetensors/header.ts";
import { BLOCK_KINDS, type BlockKind, OTHER_KINDS } from "./blocks.ts";

/** A value of the header. Lists of numbers are arrays as long as they are short enough to be settings or tokens. */
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[];

/** A tensor as it is read; its bytes may be blocks. */
export interface GgufInfo extends TensorInfo {
  /** How its numbers are stored; undefined where they are plain numbers. */
  readonly block?: BlockKind;
}

/** The contents of a header. */
export interface GgufHeader {
  readonly version: number;
  readonly values: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, GgufInfo>;
}

const PLAIN: ReadonlyMap<number, readonly [FileDType, number]> = new Map([
  [0, ["float32", 4]],
  [1, ["float16", 2]],
  [24, ["int8", 1]],
  [25, ["int16", 2]],
  [26, ["int32", 4]],
  [27, ["int64", 8]],
  [28, ["float64", 8]],
  [30, ["bfloat16", 2]],
]);
/** Limits of counts, beyond those of published files by an order of magnitude. */
const MAX_TENSORS = 2 ** 17;
const MAX_VALUES = 2 ** 16;
const MAX_ITEMS = 2 ** 24;
const MAX_AXES = 4;

/** Reads the header of a file of `size` bytes from its first bytes. Throws `BytesEnd` where they are too few. */
export function readGgufHeader(bytes: Uint8Array, size: number, refuse: Refuse): GgufHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const advance = (length: number): number => {
    if (at + length > bytes.length) throw new BytesEnd();
    at += length;
    return at - length;
  };
  const no = (what: string, tensor?: string): never => refuse("gguf", at, what, tensor);
  const u32 = () => view.getUint32(advance(4), true);
  const u64 = (): number => {
    const start = advance(8);
    const value = view.getUint32(start, true) + view.getUint32(start + 4, true) * 2 ** 32;
    return Number.isSafeInteger(value) ? value : no("a number beyond 2^53");
  };
  const count = (limit: number, of: string): number => {
    const value = u64();
    return value <= limit ? value : no(`${value} ${of}; at most ${limit} are read`);
  };
  const text = (): string => {
    const length = count(Math.min(size, 2 ** 26), "bytes of a text");
    const start = advance(length);
    return utf8(bytes.subarray(start, start + length)) ?? no("a text that is not UTF-8");
  };
  const scalars: readonly ((() => GgufValue) | undefined)[] = [
    () => view.getUint8(advance(1)),
    () => view.getInt8(advance(1)),
    () => view.getUint16(advance(2), true),
    () => view.getInt16(advance(2), true),
    u32,
    () => view.getInt32(advance(4), true),
    () => view.getFloat32(advance(4), true),
    () => view.getUint8(advance(1)) !== 0,
    text,
    undefined,
    u64,
    () => Number(view.getBigInt64(advance(8), true)),
    () => view.getFloat64(advance(8), true),
  ];
  const value = (kind: number): GgufValue => {
    if (kind === 9) {
      const item = scalars[u32()] ?? no("a list of a kind that the format does not have");
      // Each item has at least one byte, so that a claimed length is not allocated.
      const length = count(Math.min(size - at, MAX_ITEMS), "items of a list");
      const list: GgufValue[] = [];
      for (let i = 0; i < length; i++) list.push(item());
      return list;
    }
    return (scalars[kind] ?? no(`a value of kind ${kind}, which the format does not have`))();
  };

  if (u32() !== 0x46554747) refuse("gguf", 0, 'not a GGUF file: it does not begin with "GGUF"');
  const version = u32();
  if (version !== 2 && version !== 3)
    refuse("gguf-version", 4, `version ${version}; heed reads 2 and 3, little-endian`);
  const tensorCount = count(MAX_TENSORS, "tensors");
  const valueCount = count(MAX_VALUES, "values");
  const values = new Map<string, GgufValue>();
  for (let i = 0; i < valueCount; i++) {
    const key = text();
    if (values.has(key)) no(`the key ${quote(key)} appears twice`);
    values.set(key, value(u32()));
  }
  const places: { name: string; shape: number[]; kind: number; offset: number }[] = [];
  for (let i = 0; i < tensorCount; i++) {
    const name = text();
    const axes = u32();
    if (axes > MAX_AXES) no(`${axes} axes; at most ${MAX_AXES} are read`, name);
    // The first axis of the file is the fastest one.
    const shape = Array.from({ length: axes }, u64).reverse();
    places.push({ name, shape, kind: u32(), offset: u64() });
  }
  const alignment = values.get("general.alignment") ?? 32;
  if (typeof alignment !== "number" || !(alignment >= 1 && Number.isInteger(Math.log2(alignment))))
    return no("general.alignment must be a power of 2");
  const data = Math.ceil(at / alignment) * alignment;
  const tensors = new Map<string, GgufInfo>();
  for (const { name, shape, kind, offset } of places) {
    if (tensors.has(name)) no("the name appears twice", name);
    if (offset % alignment !== 0) no(`its place ${offset} is not a multiple of ${alignment}`, name);
    tensors.set(name, place(name, shape, kind, data + offset, size, no));
  }
  return { version, values, tensors };
}

function place(
  name: string,
  shape: readonly number[],
  kind: number,
  start: number,
  size: number,
  no: (what: string, tensor?: string) => never,
): GgufInfo {
  const block = BLOCK_KINDS.get(kind);
  const [dtype, width] = block ? (["float32", 4] as const) : (PLAIN.get(kind) ?? unknown(kind, name, no));
  const numbers = extent(shape, width);
  if (numbers === undefined) return no("its size is beyond 2^53", name);
  const width0 = shape[shape.length - 1] ?? 1;
  if (block && width0 % block.length !== 0)
    return no(`rows of ${width0} numbers are not blocks of ${block.length}`, name);
  const bytes = block ? (numbers / 4 / block.length) * block.bytes : numbers;
  if (start + bytes > size) no(`ends at byte ${start + bytes} of a file of ${size}`, name);
  return { dtype, shape, start, end: start + bytes, ...(block && { block }) };
}

function unknown(kind: number, name: string, no: (what: string, tensor?: string) => never): never {
  const other = OTHER_KINDS.get(kind);
  const all = [...BLOCK_KINDS.values()].map((one) => one.name).join(", ");
  return no(
    other === undefined
      ? `numbers of kind ${kind}, which the format does not have`
      : `its numbers are ${other}; heed reads F32, F16, BF16, ${all}: choose another file of the model`,
    name,
  );
}
