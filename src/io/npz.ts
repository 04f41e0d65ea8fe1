/**
 * NumPy's npz files: named arrays, each an npy file `NAME.npy` in a zip archive, stored or deflated. A member
 * is inflated no further than its npy header says it goes, and its CRC is checked before it is believed.
 */
import { OptionError } from "../core/errors.ts";
import { crc32, deflate, inflate } from "./archive/deflate.ts";
import { join, listMembers, type Member, type NewMember, writeMembers } from "./archive/zip.ts";
import { entriesOf, type FileTensor, type NamedTensors } from "./element.ts";
import { readNpyAt, writeNpyAs } from "./npy.ts";
import { npyHeaderEnd, readNpyHeader } from "./npy-header.ts";
import { asBytes, type Refuse, refuser } from "./refuse.ts";

/** Reads all arrays of an npz file, by name and in the file's order. Stored members are views of `bytes` where aligned. */
export async function readNpz(bytes: Uint8Array | ArrayBuffer): Promise<Map<string, FileTensor>> {
  const file = asBytes("readNpz", bytes);
  const refuse = refuser("readNpz");
  const members = listMembers(file, refuse);
  for (const { name, start } of members)
    if (!name.endsWith(".npy") || name === ".npy" || name === "__proto__.npy")
      refuse("npz-member", start, "expected members NAME.npy only", name);
  const tensors = new Map<string, FileTensor>();
  for (const member of members) {
    const name = member.name.slice(0, -4);
    const data = await unpack(file.subarray(member.start, member.end), member, name, refuse);
    // Offsets inside a deflated member count its inflated bytes from where the member begins.
    tensors.set(name, readNpyAt("readNpz", data, member.start, name));
  }
  return tensors;
}

/** The bytes of a member, inflated and checked. */
async function unpack(packed: Uint8Array, member: Member, name: string, refuse: Refuse): Promise<Uint8Array> {
  const { size, start } = member;
  if (!member.deflated) {
    if (crc32(packed) !== member.crc) refuse("zip-crc", start, "its bytes do not match their CRC", name);
    return packed;
  }
  let parts: Uint8Array[] = [];
  let length = 0;
  let crc = 0;
  let implied: number | undefined;
  const pieces = inflate(packed);
  try {
    for (;;) {
      const piece = await pieces.next().catch((error: Error) => {
        return refuse(
          "npz-inflate",
          start,
          `its deflate stream is broken: ${error.message || error.name}`,
          name,
        );
      });
      if (piece.done) break;
      parts.push(piece.value);
      length += piece.value.length;
      crc = crc32(piece.value, crc);
      if (length > size)
        refuse("npz-inflate", start, `inflates to more than the ${size} bytes it claims`, name);
      if (implied !== undefined) continue;
      parts = [join("readNpz", parts)];
      const inside = refuser("readNpz", start, name);
      const headerEnd = npyHeaderEnd(parts[0], inside);
      if (headerEnd === undefined || headerEnd > length) continue;
      const header = readNpyHeader(parts[0], inside);
      implied = header.start + header.bytes;
      if (implied !== size)
        refuse("npz-size", start, `its npy header says ${implied} bytes, the archive says ${size}`, name);
    }
  } finally {
    await pieces.return(undefined);
  }
  if (length !== size)
    refuse("npz-inflate", start, `inflates to ${length} bytes, not the ${size} it claims`, name);
  if (crc !== member.crc) refuse("zip-crc", start, "its bytes do not match their CRC", name);
  return join("readNpz", parts);
}

/** How to write an npz file. */
export interface WriteNpzOptions {
  /** Deflate the members, as `numpy.savez_compressed`; false by default. */
  readonly compress?: boolean;
}

/** Writes an npz file: without `compress` the bytes `numpy.savez` would write. */
export async function writeNpz(tensors: NamedTensors, options: WriteNpzOptions = {}): Promise<Uint8Array> {
  const members: NewMember[] = [];
  const names = new Set<string>();
  for (const [name, value] of entriesOf("writeNpz", tensors)) {
    if (
      name === "" ||
      name === "__proto__" ||
      name.includes("\0") ||
      /\p{Surrogate}/u.test(name) ||
      names.has(name)
    )
      throw new OptionError("name", `writeNpz: ${JSON.stringify(name)} cannot name an array in an npz file`);
    names.add(name);
    const bytes = writeNpyAs(`writeNpz, ${name}`, value);
    members.push({ name: `${name}.npy`, bytes, packed: options.compress ? await deflate(bytes) : undefined });
  }
  return writeMembers("writeNpz", members);
}
