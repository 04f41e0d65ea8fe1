/**
 * Safetensors files in memory: named tensors and a few texts, read as views and written as by the official
 * writer (wide dtypes first, then by name, so every tensor is aligned). `open.ts` reads lazily from a file or a Blob.
 */
import { checkCount, formatValue, isMap, OptionError, refuseValue } from "../../core/errors.ts";
import { checkKind, checkNames } from "../../core/option-names.ts";
import type { Dense, FileTensor, NamedTensors } from "../element.ts";
import { ELEMENTS, entriesOf, fromBytes, toBytes } from "../element.ts";
import { checkSize, type SizeLimit, sizeLimit } from "../limit.ts";
import { allocate, asBytes, refuser } from "../refuse.ts";
import { headerLength, MAX_HEADER, readHeader } from "./header.ts";

const READ_IN_PARTS = ". openSafetensors reads one tensor, or some of its rows, at a time";

/** The contents of a safetensors file. */
export interface Safetensors {
  /** Tensors by name, in the order of their bytes. */
  readonly tensors: Map<string, FileTensor>;
  /** The texts of `__metadata__`. */
  readonly metadata: Map<string, string>;
}

/**
 * Reads a safetensors file. Tensors are views of `bytes` where they are aligned; 16-bit floats are returned as bits.
 *
 * @throws FormatError for a broken file; UnsupportedError where its tensors take more than `maxBytes`
 *
 * @example
 * const { tensors, metadata } = readSafetensors(readFileSync("qkv.safetensors"));
 * const query = tensor(tensors.get("q")!);
 */
export function readSafetensors(bytes: Uint8Array | ArrayBuffer, options: SizeLimit = {}): Safetensors {
  checkCount("readSafetensors", arguments, 2);
  const maxBytes = sizeLimit("readSafetensors", options);
  const file = asBytes("readSafetensors", bytes);
  const refuse = refuser("readSafetensors");
  const length = headerLength(file.subarray(0, 8), file.length, refuse);
  const { metadata, tensors } = readHeader(file.subarray(8, 8 + length), file.length, refuse);
  const total = file.length - 8 - length;
  checkSize("readSafetensors", `its ${tensors.size} tensors`, total, maxBytes, READ_IN_PARTS);
  const read = new Map<string, FileTensor>();
  for (const [name, { dtype, shape, start, end }] of tensors)
    read.set(name, fromBytes(dtype, shape, file.subarray(start, end)));
  return { tensors: read, metadata };
}

/** Options of `writeSafetensors`. */
export interface WriteSafetensorsOptions {
  /** Texts for `__metadata__`; none by default. */
  readonly metadata?: ReadonlyMap<string, string> | Readonly<Record<string, string>>;
}

/** The order of safetensors' `Dtype`, by which its writer sorts tensors. */
const ORDER: readonly string[] =
  /* @__PURE__ */ "BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ I16 U16 F16 BF16 I32 U32 F32 F64 I64 U64".split(
    " ",
  );

/**
 * Writes a safetensors file. The same tensors and texts give the same bytes, in any order.
 *
 * @example
 * writeFileSync("out.safetensors", writeSafetensors({ q, k }, { metadata: { made: "by heed" } }));
 */
export function writeSafetensors(
  tensors: NamedTensors,
  options: WriteSafetensorsOptions = {},
): Uint8Array<ArrayBuffer> {
  checkCount("writeSafetensors", arguments, 2);
  const named = entriesOf("writeSafetensors", tensors);
  checkNames("writeSafetensors", options, ["metadata"]);
  const entries: [string, Dense][] = [];
  const names = new Set(["__metadata__"]);
  for (const [name, value] of named) {
    checkText("name", name);
    if (names.has(name))
      throw new OptionError("name", `writeSafetensors: the name ${JSON.stringify(name)} is taken`);
    names.add(name);
    entries.push([name, toBytes(`writeSafetensors, ${name}`, value)]);
  }
  const rank = ([, { dtype }]: [string, Dense]) => ORDER.indexOf(ELEMENTS[dtype].safetensors);
  entries.sort((a, b) => rank(b) - rank(a) || (a[0] < b[0] ? -1 : 1));

  const members: string[] = [];
  const metadata = textsOf(options.metadata ?? {});
  if (metadata.length)
    members.push(`"__metadata__":${object(metadata.map(([k, v]) => [k, JSON.stringify(v)]))}`);
  let end = 0;
  for (const [name, { dtype, shape, bytes }] of entries) {
    const span = `[${end},${(end += bytes.length)}]`;
    const fields = `"dtype":"${ELEMENTS[dtype].safetensors}","shape":[${shape.join(",")}],"data_offsets":${span}`;
    members.push(`${JSON.stringify(name)}:{${fields}}`);
  }
  const json = new TextEncoder().encode(`{${members.join(",")}}`);
  const length = Math.ceil(json.length / 8) * 8;
  if (length > MAX_HEADER)
    throw new OptionError(
      "header",
      `writeSafetensors: a header of ${length} bytes; at most ${MAX_HEADER} are read`,
    );

  const out = allocate("writeSafetensors", 8 + length + end);
  new DataView(out.buffer).setUint32(0, length, true);
  out.fill(0x20, 8, 8 + length);
  out.set(json, 8);
  let at = 8 + length;
  for (const [, { bytes }] of entries) {
    out.set(bytes, at);
    at += bytes.length;
  }
  return out;
}

function textsOf(metadata: NonNullable<WriteSafetensorsOptions["metadata"]>): [string, string][] {
  const isTexts = isMap(metadata) || Object.prototype.toString.call(metadata) === "[object Object]";
  if (!isTexts) refuseValue("writeSafetensors", "metadata", "a Map or an object of texts", metadata);
  const texts: [string, string][] = metadata instanceof Map ? [...metadata] : Object.entries(metadata);
  for (const [key, text] of texts) {
    checkText("metadata", key);
    checkKind("writeSafetensors", `metadata.${key}`, "a text", text);
    checkText("metadata", text);
  }
  return texts.sort(([a], [b]) => (a < b ? -1 : 1));
}

function object(members: [string, string][]): string {
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
}

/** Throws unless `text` survives JSON, UTF-8 and, in other readers, use as an object key. */
function checkText(option: string, text: unknown): void {
  if (typeof text !== "string" || text === "__proto__" || /\p{Surrogate}/u.test(text))
    throw new OptionError(
      option,
      `writeSafetensors: ${formatValue(text)} cannot be written to a safetensors header; expected well-formed Unicode other than __proto__`,
    );
}
