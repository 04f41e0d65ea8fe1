/**
 * NumPy's arrays of texts, as `numpy.array(["the", "cat"])` makes them: `<U3`, each text three code points of four bytes with
 * zeros at the end, or `|S3`, three bytes of UTF-8. Read only; an invalid code point becomes U+FFFD.
 */

import { listMembers } from "../archive/zip.ts";
import { checkSize, MAX_BYTES, type SizeLimit, sizeLimit } from "../limit.ts";
import { extent, type Refuse, refuser } from "../refuse.ts";
import { npyHeaderEnd, scanDict } from "./npy-header.ts";
import { beginning, unpack } from "./npz.ts";

/** An array of texts, row-major. */
export interface TextArray {
  readonly shape: readonly number[];
  readonly data: readonly string[];
}

/** The header of an array of texts: `<U6` has 6 characters of 4 bytes each, `|S6` 6 bytes. */
export interface NpyTextHeader {
  readonly kind: "U" | "S";
  /** Characters of each text, at most. */
  readonly width: number;
  readonly bigEndian: boolean;
  readonly fortran: boolean;
  readonly shape: readonly number[];
  readonly start: number;
  readonly bytes: number;
}

/** Reads the header of an npy file of texts; undefined where the array holds something else. */
function readNpyTextHeader(bytes: Uint8Array, refuse: Refuse): NpyTextHeader | undefined {
  const end = npyHeaderEnd(bytes, refuse);
  if (end === undefined || end > bytes.length) return undefined;
  const from = bytes[6] === 1 ? 10 : 12;
  const { descr, fortran, shape } = scanDict(bytes.subarray(from, end), from, refuse);
  const [, order, kind, digits] = /^([<>|])([US])(\d{1,6})$/.exec(descr.text) ?? [];
  if (kind !== "U" && kind !== "S") return undefined;
  const width = Number(digits);
  const size = extent(shape.axes, width * (kind === "U" ? 4 : 1));
  if (size === undefined)
    refuse("npy-size", shape.at, `shape [${shape.axes.join(", ")}] of ${descr.text} is more than 2^53 bytes`);
  return { kind, width, bigEndian: order === ">", fortran, shape: shape.axes, start: end, bytes: size };
}

/** Reads an npy file of texts; undefined where the array holds numbers. Throws FormatError for a broken file. */
export function readNpyTextAt(
  reader: string,
  bytes: Uint8Array,
  base: number,
  member?: string,
  maxBytes: number = MAX_BYTES,
): TextArray | undefined {
  const refuse = refuser(reader, base, member);
  const header = readNpyTextHeader(bytes, refuse);
  if (header === undefined) return undefined;
  const { kind, width, bigEndian, fortran, shape, start } = header;
  checkSize(reader, member ?? "the array", header.bytes, maxBytes);
  const present = bytes.length - start;
  if (present !== header.bytes)
    refuse(
      present < header.bytes ? "npy-truncated" : "npy-trailing",
      present < header.bytes ? bytes.length : start + header.bytes,
      `texts of shape [${shape.join(", ")}] take ${header.bytes} bytes, the file has ${present}`,
    );
  if (fortran && shape.filter((axis) => axis > 1).length > 1)
    refuse("npy-dtype", 0, "an array of texts in Fortran order; save it in C order");
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, header.bytes);
  const count = shape.reduce((product, axis) => product * axis, 1);
  const decoder = new TextDecoder();
  const one = (at: number): string => {
    if (kind === "S") {
      const bytesOfText = bytes.subarray(start + at * width, start + (at + 1) * width);
      let end = width;
      while (end > 0 && bytesOfText[end - 1] === 0) end--;
      return decoder.decode(bytesOfText.subarray(0, end));
    }
    let text = "";
    let zeros = "";
    for (let c = 0; c < width; c++) {
      const code = view.getUint32(4 * (at * width + c), !bigEndian);
      if (code === 0) {
        zeros += "\0";
        continue;
      }
      const valid = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
      text += zeros + String.fromCodePoint(valid ? code : 0xfffd);
      zeros = "";
    }
    return text;
  };
  return { shape, data: Array.from({ length: count }, (_, at) => one(at)) };
}

/** Reads them by name; arrays of numbers are not inflated further than their headers. */
export async function readNpzTexts(
  file: Uint8Array,
  options: SizeLimit = {},
): Promise<Map<string, TextArray>> {
  const maxBytes = sizeLimit("readNpz", options);
  const refuse = refuser("readNpz");
  const arrays = new Map<string, TextArray>();
  for (const member of listMembers(file, refuse)) {
    const name = member.name.replace(/\.npy$/, "");
    const { start, end, deflated, size } = member;
    const packed = file.subarray(start, end);
    const inside = refuser("readNpz", start, name);
    const head = deflated ? await beginning(packed, name, start, refuse) : packed;
    const header = readNpyTextHeader(head, inside);
    if (header === undefined) continue;
    checkSize("readNpz", JSON.stringify(name), size, maxBytes);
    const data = await unpack(packed, member, name, refuse, () => header);
    const texts = readNpyTextAt("readNpz", data, start, name, maxBytes);
    if (texts) arrays.set(name, texts);
  }
  return arrays;
}
