/**
 * NumPy's npy files: one array a file. Reads versions 1.0 to 3.0, both byte orders, both memory orders, bool,
 * integers of 8 to 64 bits and float16, float32, float64; writes what `numpy.save` writes, byte for byte.
 * Complex, text, date, structured and object arrays are refused; object arrays contain pickled code.
 */
import { checkCount, UnsupportedError } from "../../core/errors.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { ELEMENTS, type FileTensor, fromBytes, toBytes } from "../element.ts";
import { checkSize, MAX_BYTES, type SizeLimit, sizeLimit } from "../limit.ts";
import { allocate, asBytes, refuser } from "../refuse.ts";
import { readNpyHeader } from "./npy-header.ts";

/**
 * Reads an npy file. The result is row-major whatever the file's order, and a view of `bytes` where byte order,
 * memory order and alignment allow. float16 comes as bits in a Uint16Array.
 *
 * @throws FormatError for a broken file; UnsupportedError where it holds what heed has no array for, or more than `maxBytes`
 *
 * @example
 * const { data, shape, dtype } = readNpy(readFileSync("q.npy"));
 */
export function readNpy(bytes: Uint8Array | ArrayBuffer, options: SizeLimit = {}): FileTensor {
  checkCount("readNpy", arguments, 2);
  return readNpyAt("readNpy", asBytes("readNpy", bytes), 0, undefined, sizeLimit("readNpy", options));
}

/** `readNpy` inside another file: `base` is the offset of `bytes` in it, `member` the tensor's name. */
export function readNpyAt(
  reader: string,
  bytes: Uint8Array,
  base: number,
  member?: string,
  maxBytes = MAX_BYTES,
): FileTensor {
  const refuse = refuser(reader, base, member);
  const header = readNpyHeader(bytes, refuse);
  const present = bytes.length - header.start;
  if (present === header.bytes) checkSize(reader, member ?? "the array", header.bytes, maxBytes);
  if (present !== header.bytes)
    refuse(
      present < header.bytes ? "npy-truncated" : "npy-trailing",
      present < header.bytes ? bytes.length : header.start + header.bytes,
      `${header.dtype} [${header.shape.join(", ")}] takes ${header.bytes} bytes, the file has ${present}`,
    );
  return fromBytes(header.dtype, header.shape, bytes.subarray(header.start), header);
}

/** Spaces NumPy leaves in a header so that the first axis can grow to this many digits in place. */
const GROWTH_DIGITS = 21;

/**
 * Writes an npy file (version 1.0, little-endian, row-major): the bytes `numpy.save` would write.
 *
 * @example
 * writeFileSync("out.npy", writeNpy(q));
 */
export function writeNpy(value: TensorLike): Uint8Array<ArrayBuffer> {
  checkCount("writeNpy", arguments, 1);
  return writeNpyAs("writeNpy", value);
}

/** `writeNpy` with the caller's name for error messages. */
export function writeNpyAs(writer: string, value: TensorLike): Uint8Array<ArrayBuffer> {
  const { dtype, shape, bytes } = toBytes(writer, value);
  const { npy, bytes: width } = ELEMENTS[dtype];
  if (npy === undefined)
    throw new UnsupportedError(
      "npy-dtype",
      `${writer}: NumPy has no ${dtype}; convert to float32, or write safetensors, which has it`,
      { dtype },
    );
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const dict = `{'descr': '${width === 1 ? "|" : "<"}${npy}', 'fortran_order': False, 'shape': (${axes}), }`;
  const text = dict + " ".repeat(shape.length ? Math.max(0, GROWTH_DIGITS - String(shape[0]).length) : 0);
  const start = 10 + text.length + 1 + (64 - ((10 + text.length + 1) % 64));
  const out = allocate(writer, start + bytes.length);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, (start - 10) & 255, (start - 10) >> 8]);
  out.fill(0x20, 10, start - 1);
  for (let i = 0; i < text.length; i++) out[10 + i] = text.charCodeAt(i);
  out[start - 1] = 0x0a;
  out.set(bytes, start);
  return out;
}
