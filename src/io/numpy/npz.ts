/**
 * NumPy's npz files: named arrays, each an npy file `NAME.npy` in a zip archive, stored or deflated. A member
 * is inflated no further than the size in its npy header, and its CRC is checked before it is used.
 */

import { checkCount, checkMethods, formatValue, HeedError, OptionError } from "../../core/errors.ts";
import { checkKind, checkNames } from "../../core/option-names.ts";
import { crc32, deflate, inflate } from "../archive/deflate.ts";
import { listMembers, type Member, type NewMember, writeMembers } from "../archive/zip.ts";
import { entriesOf, type FileDType, type FileTensor, type NamedTensors } from "../element.ts";
import { checkSize as checkLimit, type SizeLimit, sizeLimit } from "../limit.ts";
import { asBytes, concatBytes, type Refuse, refuser } from "../refuse.ts";
import { readNpyAt, writeNpyAs } from "./npy.ts";
import { npyHeaderEnd, readNpyHeader } from "./npy-header.ts";

/** Options of `readNpz`: `maxBytes` limits the inflated size. */
export type ReadNpzOptions = SizeLimit;

/**
 * Reads all arrays of an npz file, by name and in the file's order. Stored members are views of `bytes` where aligned.
 *
 * @throws FormatError for a broken file; UnsupportedError of code `max-bytes` where it inflates to more than `maxBytes`
 *
 * @example
 * const arrays = await readNpz(readFileSync("qkv.npz"), { maxBytes: 2 ** 30 });
 * [...arrays.keys()]; // → ["q", "k"]
 */
export async function readNpz(
  bytes: Uint8Array | ArrayBuffer,
  options: ReadNpzOptions = {},
): Promise<Map<string, FileTensor>> {
  checkCount("readNpz", arguments, 2);
  const file = openNpz(bytes, options);
  file.checkSize([...file.members.keys()]);
  const tensors = new Map<string, FileTensor>();
  for (const name of file.members.keys()) tensors.set(name, await file.read(name));
  return tensors;
}

/** The header of an array in an npz file. */
export interface NpzEntry {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
}

/** An npz file whose members are inflated on request. */
export interface NpzFile {
  /** Inflated bytes of each array, including its npy header. */
  readonly members: ReadonlyMap<string, number>;
  /** Dtype and shape of an array; only the beginning of a deflated array is inflated. */
  header(name: string): Promise<NpzEntry>;
  /** One array. Throws if it exceeds the limit. */
  read(name: string): Promise<FileTensor>;
  /** Throws if these arrays together exceed the limit. */
  checkSize(names: readonly string[]): void;
}

/**
 * Opens an npz file: its directory is read and checked, nothing is inflated.
 *
 * @example
 * const file = openNpz(readFileSync("qkv.npz"));
 * (await file.header("q")).shape; // → [1, 2, 4, 8]
 * const key = tensor(await file.read("k")); // only this one is inflated
 */
export function openNpz(bytes: Uint8Array | ArrayBuffer, options: ReadNpzOptions = {}): NpzFile {
  checkCount("openNpz", arguments, 2);
  const maxBytes = sizeLimit("readNpz", options);
  const file = asBytes("readNpz", bytes);
  const refuse = refuser("readNpz");
  const list = listMembers(file, refuse);
  for (const { name, start } of list)
    if (!name.endsWith(".npy") || name === ".npy" || name === "__proto__.npy")
      refuse("npz-member", start, "expected members NAME.npy only", name);
  const members = new Map(list.map((member) => [member.name.slice(0, -4), member]));
  const packed = ({ start, end }: Member) => file.subarray(start, end);
  const named = (name: string): Member => {
    const member = members.get(name);
    if (!member) throw new OptionError("name", `readNpz: no array ${formatValue(name)}`, { name });
    return member;
  };
  const checkSize = (names: readonly string[]): void => {
    checkKind("NpzFile.checkSize", "names", "a list of texts", names);
    const total = names.reduce((sum, name) => sum + named(name).size, 0);
    const subject = names.length === 1 ? JSON.stringify(names[0]) : `its ${names.length} arrays`;
    checkLimit("readNpz", subject, total, maxBytes, ". A safetensors file is read in parts");
  };
  const opened: NpzFile = {
    members: new Map([...members].map(([name, { size }]) => [name, size])),
    checkSize,
    async header(name) {
      const member = named(name);
      const start = member.deflated
        ? await beginning(packed(member), name, member.start, refuse)
        : packed(member);
      const { dtype, shape } = readNpyHeader(start, refuser("readNpz", member.start, name));
      return { dtype, shape };
    },
    async read(name) {
      const member = named(name);
      checkSize([name]);
      const data = await unpack(packed(member), member, name, refuse);
      // Offsets in errors: the start of the member plus the position in its inflated bytes.
      return readNpyAt("readNpz", data, member.start, name, maxBytes);
    },
  };
  return checkMethods("NpzFile", opened, { header: 1, read: 1, checkSize: 1 });
}

/** The inflated bytes of a member up to the end of its npy header, at least. */
export async function beginning(
  packed: Uint8Array,
  name: string,
  start: number,
  refuse: Refuse,
): Promise<Uint8Array> {
  // The first kilobyte contains most headers; a longer header is read from the whole member.
  for (const prefix of [packed.subarray(0, 1024), packed]) {
    let inflated: Uint8Array = new Uint8Array(0);
    try {
      for await (const piece of inflate(prefix)) {
        inflated = concatBytes([inflated, piece], "readNpz");
        const end = npyHeaderEnd(inflated, refuser("readNpz", start, name));
        if (end !== undefined && end <= inflated.length) return inflated;
      }
    } catch (error) {
      if (error instanceof HeedError) throw error;
      // The first kilobyte may end in the middle of the stream; a complete member may not.
      if (prefix === packed)
        return refuse(
          "npz-inflate",
          start,
          `its deflate stream is broken: ${(error as Error).message}`,
          name,
        );
    }
  }
  return refuse("npz-inflate", start, "it ends before its npy header does", name);
}

/** The bytes of a member, inflated and checked. */
export async function unpack(
  packed: Uint8Array,
  member: Member,
  name: string,
  refuse: Refuse,
  headerOf: (bytes: Uint8Array, refuse: Refuse) => { start: number; bytes: number } = readNpyHeader,
): Promise<Uint8Array> {
  const { size, start } = member;
  if (!member.deflated) {
    if (crc32(packed) !== member.crc) refuse("zip-crc", start, "its bytes do not match their CRC", name);
    return packed;
  }
  let parts: Uint8Array[] = [];
  let length = 0;
  let crc = 0;
  let implied: number | undefined;
  const broken = (why: string) => refuse("npz-inflate", start, why, name);
  try {
    for await (const piece of inflate(packed)) {
      parts.push(piece);
      length += piece.length;
      crc = crc32(piece, crc);
      if (length > size) broken(`inflates to more than the ${size} bytes it claims`);
      if (implied !== undefined) continue;
      parts = [concatBytes(parts, "readNpz")];
      const inside = refuser("readNpz", start, name);
      const headerEnd = npyHeaderEnd(parts[0], inside);
      if (headerEnd === undefined || headerEnd > length) continue;
      const header = headerOf(parts[0], inside);
      implied = header.start + header.bytes;
      if (implied !== size)
        refuse(
          "npz-size",
          start,
          `its npy header implies ${implied} bytes, the archive states ${size}`,
          name,
        );
    }
  } catch (error) {
    if (error instanceof HeedError) throw error;
    broken(`its deflate stream is broken: ${(error as Error).message || (error as Error).name}`);
  }
  if (length !== size) broken(`inflates to ${length} bytes, not the ${size} it claims`);
  if (crc !== member.crc) refuse("zip-crc", start, "its bytes do not match their CRC", name);
  return concatBytes(parts, "readNpz");
}

/** Options of `writeNpz`. */
export interface WriteNpzOptions {
  /** Deflate the members, as `numpy.savez_compressed`; false by default. */
  readonly compress?: boolean;
}

/**
 * Writes an npz file: without `compress` the bytes `numpy.savez` would write.
 *
 * @example
 * writeFileSync("out.npz", await writeNpz({ q, k }, { compress: true }));
 */
export async function writeNpz(tensors: NamedTensors, options: WriteNpzOptions = {}): Promise<Uint8Array> {
  checkCount("writeNpz", arguments, 2);
  checkNames("writeNpz", options, ["compress"]);
  const members: NewMember[] = [];
  const names = new Set<string>();
  for (const [name, value] of entriesOf("writeNpz", tensors)) {
    if (
      typeof name !== "string" ||
      name === "" ||
      name === "__proto__" ||
      name.includes("\0") ||
      // A program that unpacks the file would write outside of its folder.
      /^[/\\]|(^|[/\\])\.\.?([/\\]|$)/.test(name) ||
      /\p{Surrogate}/u.test(name) ||
      names.has(name)
    )
      throw new OptionError("name", `writeNpz: ${formatValue(name)} cannot name an array in an npz file`);
    names.add(name);
    const bytes = writeNpyAs(`writeNpz, ${name}`, value);
    members.push({ name: `${name}.npy`, bytes, packed: options.compress ? await deflate(bytes) : undefined });
  }
  return writeMembers("writeNpz", members);
}
