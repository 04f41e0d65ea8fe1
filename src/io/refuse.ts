/**
 * How readers refuse a file: a `FormatError` with the reader, the tensor and the byte offset; and exact integer
 * arithmetic for sizes from a file, before anything is allocated.
 */
import { type ErrorFields, FormatError, refuseGot, UnsupportedError } from "../core/errors.ts";

/** Refuses a file: `code` is stable, `offset` is the byte of the file where the error is. */
export type Refuse = (
  code: string,
  offset: number,
  what: string,
  tensor?: string,
  fields?: ErrorFields,
) => never;

/** The `Refuse` of one reader; `base` is added to offsets (the offset of its bytes in the file). */
export function refuser(reader: string, base = 0, member?: string): Refuse {
  return (code, offset, what, tensor = member, fields = {}) => {
    const at = base + offset;
    const name = tensor === undefined ? "" : `tensor ${quote(tensor)}: `;
    throw new FormatError(code, `${reader}: ${name}${what} (byte ${at})`, {
      ...fields,
      ...(tensor === undefined ? {} : { tensor }),
      offset: at,
    });
  };
}

/** A name from a file for a message: quoted, escaped, at most 80 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}

/** a × b as an exact integer, or undefined beyond 2^53. */
function multiply(a: number, b: number): number | undefined {
  const product = a * b;
  return Number.isSafeInteger(product) ? product : undefined;
}

/** Bytes of a shape with `width` bytes per element; undefined beyond 2^53, even where an axis is empty. */
export function extent(shape: readonly number[], width: number): number | undefined {
  let bytes: number | undefined = width;
  let empty = false;
  for (const n of shape) {
    if (n === 0) empty = true;
    else if (bytes !== undefined) bytes = multiply(bytes, n);
  }
  return bytes === undefined ? undefined : empty ? 0 : bytes;
}

/** Maximum number of axes of a tensor in a file: NumPy's limit. */
export const MAX_RANK = 64;

/** The bytes of a file in memory, without a copy. Always a plain Uint8Array: `slice` of Node's Buffer does not copy. */
export function asBytes(what: string, data: unknown): Uint8Array {
  if (ArrayBuffer.isView(data) && ((data as Partial<Uint8Array>).BYTES_PER_ELEMENT ?? 1) === 1)
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const kind = Object.prototype.toString.call(data).slice(8, -1);
  if (kind === "ArrayBuffer" || kind === "SharedArrayBuffer") return new Uint8Array(data as ArrayBuffer);
  const isPath = kind === "String" || kind === "URL";
  refuseGot(
    "bytes",
    `${what}: expected a Uint8Array or an ArrayBuffer${isPath ? ", such as what readFileSync returns" : ""}`,
    data,
  );
}

/** A new zeroed byte array; where the runtime cannot allocate it, an UnsupportedError with the number of bytes. */
export function allocate(what: string, length: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length);
  } catch {
    throw new UnsupportedError("memory", `${what}: this engine cannot allocate ${length} bytes at once`, {
      bytes: length,
    });
  }
}

/** All parts, concatenated; `what` is named where the runtime cannot allocate them. */
export function concatBytes(parts: readonly Uint8Array[], what = "concatBytes"): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((n, part) => n + part.length, 0);
  const out = allocate(what, length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const UTF8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LATIN1 = /* @__PURE__ */ new TextDecoder("latin1");

/** UTF-8 text, or undefined where the bytes are not UTF-8. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(unshared(bytes));
  } catch {
    return undefined;
  }
}

/** A text with one character per byte, so that positions are byte offsets; correct for ASCII. */
export function ascii(bytes: Uint8Array): string {
  return LATIN1.decode(unshared(bytes));
}

/** The bytes outside shared memory, from which decoders refuse to read. */
function unshared(bytes: Uint8Array): Uint8Array {
  const shared = typeof SharedArrayBuffer !== "undefined" && bytes.buffer instanceof SharedArrayBuffer;
  return shared ? bytes.slice() : bytes;
}
