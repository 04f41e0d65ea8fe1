/**
 * The zip container of npz files (PKWARE APPNOTE 6.3.10): stored and deflated members, zip64 sizes. The
 * central directory and the local headers must agree, byte ranges may not overlap, names may not
 * repeat; encryption, spanned archives and other methods are refused. Nothing is inflated here.
 */
import { UnsupportedError } from "../../core/errors.ts";
import { concatBytes, type Refuse, refuser, utf8 } from "../refuse.ts";
import type { Source } from "../source.ts";
import { crc32, MAX_EXPANSION } from "./deflate.ts";

/** One file inside the archive. */
export interface Member {
  readonly name: string;
  readonly deflated: boolean;
  readonly crc: number;
  /** Bytes once inflated. */
  readonly size: number;
  /** The range of its stored bytes in the archive. */
  readonly start: number;
  readonly end: number;
}

/** The most members an archive may have. */
const MAX_MEMBERS = 65_536;

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const FULL16 = 0xffff;
const FULL32 = 0xffffffff;
/** Flag bits: encrypted, strongly encrypted, central directory encrypted; sizes follow the data. */
const ENCRYPTED = 0x2041;
const SIZES_FOLLOW = 0x08;

/** The members of an archive, in the order of its central directory. */
export function listMembers(bytes: Uint8Array, refuse: Refuse): Member[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const directory = findDirectory(view, refuse);
  const entries = listEntries(view, directory, refuse);
  const members = entries.map((entry) => memberAt(view, entry, directory.start, refuse));
  const at = entries.at(-1)?.next ?? directory.start;
  if (at !== directory.end)
    refuse("zip-directory", at, "the central directory has bytes beyond its last entry");
  let end = 0;
  for (const member of [...members].sort((a, b) => a.from - b.from || a.end - b.end)) {
    if (member.from < end) refuse("zip-overlap", member.from, "overlaps the member before it", member.name);
    end = member.end;
  }
  return members;
}

/** Start, end and number of entries of the central directory. */
export interface Directory {
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

/** The entries of the central directory, before their local headers are read. */
export function listEntries(view: DataView, { start, end, count }: Directory, refuse: Refuse): ZipEntry[] {
  const entries = new Map<string, ZipEntry>();
  for (let at = start, i = 0; i < count; i++) {
    const entry = readCentral(view, at, end, refuse);
    if (entries.has(entry.name))
      refuse("zip-duplicate", at, "the name appears twice in the archive", entry.name);
    entries.set(entry.name, entry);
    at = entry.next;
  }
  return [...entries.values()];
}

/** Finds the central directory from the end of the archive; `base` is the byte of the archive where the view begins. */
export function findDirectory(view: DataView, refuse: Refuse, base = 0): Directory {
  const size = view.byteLength;
  let at = size - 22;
  // The last record ends with a comment of at most 65,535 bytes whose length must reach the end of the file.
  const lowest = Math.max(0, at - FULL16);
  while (
    at >= lowest &&
    !(view.getUint32(at, true) === END && at + 22 + view.getUint16(at + 20, true) === size)
  )
    at--;
  if (at < lowest) refuse("zip-end", Math.max(0, size), "not a zip file: no end record closes it");
  let count = view.getUint16(at + 10, true);
  let bytes = view.getUint32(at + 12, true);
  let start = view.getUint32(at + 16, true);
  const onDisk = view.getUint16(at + 8, true);
  if (view.getUint16(at + 4, true) !== 0 || view.getUint16(at + 6, true) !== 0 || onDisk !== count)
    refuse("zip-spanned", at + 4, "an archive in several parts");
  let end = at;
  if (at >= 20 && view.getUint32(at - 20, true) === LOCATOR64) {
    const record = readU64(view, at - 12, refuse) - base;
    if (record < 0 || record + 56 > at - 20 || view.getUint32(record, true) !== END64)
      refuse("zip-end", at - 20, `no zip64 end record at byte ${record}, where its locator points`);
    if (readU64(view, record + 4, refuse) + 12 !== at - 20 - record)
      refuse("zip-end", record + 4, "the zip64 end record does not reach its locator");
    const wide = [24, 32, 40, 48].map((field) => readU64(view, record + field, refuse));
    if (view.getUint32(record + 16, true) || view.getUint32(record + 20, true) || wide[0] !== wide[1])
      refuse("zip-spanned", record + 16, "an archive in several parts");
    const narrow = [count, bytes, start];
    for (const [i, full] of [FULL16, FULL32, FULL32].entries())
      if (narrow[i] !== full && narrow[i] !== wide[i + 1])
        refuse("zip-end", at, "the two end records contradict each other");
    [, count, bytes, start] = wide;
    end = record;
  }
  end += base;
  if (start + bytes !== end)
    refuse(
      "zip-end",
      at,
      `a central directory of ${bytes} bytes at byte ${start} does not reach the end record at ${end}`,
    );
  if (count > MAX_MEMBERS) refuse("zip-count", at + 10, `${count} members; at most ${MAX_MEMBERS} are read`);
  if (count * 46 > bytes)
    refuse("zip-end", at + 10, `${count} members do not fit a directory of ${bytes} bytes`);
  return { start, end, count };
}

/** An entry of the central directory. */
export interface ZipEntry {
  name: string;
  flags: number;
  method: number;
  crc: number;
  packed: number;
  size: number;
  local: number;
  at: number;
  next: number;
}

function readCentral(view: DataView, at: number, end: number, refuse: Refuse): ZipEntry {
  if (at + 46 > end || view.getUint32(at, true) !== CENTRAL)
    refuse("zip-directory", at, "no central directory entry where one should be");
  const nameLength = view.getUint16(at + 28, true);
  const extraLength = view.getUint16(at + 30, true);
  const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
  if (next > end) refuse("zip-directory", at + 28, "an entry reaches beyond the central directory");
  const name = readName(view, at + 46, nameLength, refuse);
  const flags = view.getUint16(at + 8, true);
  const method = view.getUint16(at + 10, true);
  if (flags & ENCRYPTED) refuse("zip-encrypted", at + 8, "an encrypted member", name);
  if (method !== 0 && method !== 8)
    refuse("zip-method", at + 10, `compression method ${method}; stored (0) and deflate (8) are read`, name);
  if (view.getUint16(at + 34, true) !== 0) refuse("zip-spanned", at + 34, "a member in another part", name);
  const fields = [
    view.getUint32(at + 24, true),
    view.getUint32(at + 20, true),
    view.getUint32(at + 42, true),
  ];
  const [size, packed, local] = widen(view, fields, at + 46 + nameLength, extraLength, name, refuse);
  if (method === 0 && packed !== size)
    refuse("zip-size", at + 20, `stored as ${packed} bytes, but the header states ${size}`, name);
  if (method === 8 && size > packed * MAX_EXPANSION)
    refuse("zip-ratio", at + 24, `${packed} bytes cannot inflate to ${size}`, name);
  return { name, flags, method, crc: view.getUint32(at + 16, true), packed, size, local, at, next };
}

/**
 * Checks the local header against the directory's entry and finds the data after it, which ends before byte `limit`; `base` is the
 * byte of the archive where the view begins.
 */
function memberAt(
  view: DataView,
  entry: ZipEntry,
  limit: number,
  refuse: Refuse,
  base = 0,
): Member & { from: number } {
  const { name, flags, method, crc, packed, size } = entry;
  const local = entry.local - base;
  if (entry.local + 30 > limit || local + 30 > view.byteLength || view.getUint32(local, true) !== LOCAL)
    refuse("zip-local", entry.at + 42, `no local header at byte ${local}`, name);
  const nameLength = view.getUint16(local + 26, true);
  const extraLength = view.getUint16(local + 28, true);
  if (local + 30 + nameLength + extraLength > view.byteLength)
    refuse("zip-truncated", entry.local, "its local header reaches beyond the archive", name);
  const start = entry.local + 30 + nameLength + extraLength;
  if (start + packed > limit)
    refuse("zip-truncated", local, `its ${packed} bytes reach beyond the central directory`, name);
  const differs = (what: string): never =>
    refuse("zip-local", local, `its local header has another ${what} than the central directory`, name);
  if (readName(view, local + 30, nameLength, refuse) !== name) differs("name");
  if (view.getUint16(local + 6, true) !== flags) differs("set of flags");
  if (view.getUint16(local + 8, true) !== method) differs("method");
  const fields = [view.getUint32(local + 22, true), view.getUint32(local + 18, true)];
  const sizes = widen(view, fields, local + 30 + nameLength, extraLength, name, refuse);
  const later = (flags & SIZES_FOLLOW) !== 0;
  const same = (a: number, b: number) => a === b || (later && a === 0);
  if (!same(view.getUint32(local + 14, true), crc)) differs("CRC");
  if (!same(sizes[0], size) || !same(sizes[1], packed)) differs("size");
  return { name, deflated: method === 8, crc, size, start, end: start + packed, from: entry.local };
}

function readName(view: DataView, at: number, length: number, refuse: Refuse): string {
  const name = utf8(new Uint8Array(view.buffer, view.byteOffset + at, length));
  if (name === undefined || name === "" || name.includes("\0"))
    return refuse("zip-name", at, "a member whose name is empty, holds NUL or is not UTF-8");
  return name;
}

/** Replaces each field that is 0xffffffff by its 64-bit value from the zip64 extra field, in order. */
function widen(
  view: DataView,
  fields: number[],
  from: number,
  length: number,
  name: string,
  refuse: Refuse,
): number[] {
  const end = from + length;
  if (!fields.includes(FULL32)) return fields;
  for (let at = from; at + 4 <= end; ) {
    const next = at + 4 + view.getUint16(at + 2, true);
    if (next > end) break;
    if (view.getUint16(at, true) === 1) {
      let field = at + 4;
      return fields.map((value) => {
        if (value !== FULL32) return value;
        if (field + 8 > next) refuse("zip-size", at, "its zip64 field is too short", name);
        field += 8;
        return readU64(view, field - 8, refuse, name);
      });
    }
    at = next;
  }
  return refuse("zip-size", from, "its sizes refer to a zip64 field, which is missing", name);
}

function readU64(view: DataView, at: number, refuse: Refuse, name?: string): number {
  const value = view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
  if (!Number.isSafeInteger(value)) refuse("zip-size", at, "a 64-bit number beyond 2^53", name);
  return value;
}

/** A member to write: its bytes as stored in the archive. */
export interface NewMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The deflated form, to store in place of `bytes`. */
  readonly packed?: readonly Uint8Array[];
}

/**
 * Writes an archive the way `numpy.savez` does (zip64 local headers, date 1980-01-01), so equal members give
 * equal bytes. `zip64Above` is the largest value a 32-bit field may take; lower ones are for tests.
 */
export function writeMembers(
  what: string,
  members: readonly NewMember[],
  zip64Above = FULL32 - 1,
): Uint8Array {
  const locals: Uint8Array[] = [];
  const centrals: Uint8Array[] = [];
  let at = 0;
  for (const { name, bytes, packed } of members) {
    const parts = packed ?? [bytes];
    const stored = parts.reduce((n, part) => n + part.length, 0);
    const label = new TextEncoder().encode(name);
    if (label.length > FULL16)
      throw new UnsupportedError("zip-name", `${what}: a name of ${label.length} bytes`);
    const flags = label.length === name.length ? 0 : 0x800;
    const method = packed ? 8 : 0;
    const crc = crc32(bytes);
    const local = fieldsOf(
      [LOCAL, 4],
      [45, 2],
      [flags, 2],
      [method, 2],
      [0, 2],
      [33, 2],
      [crc, 4],
      [FULL32, 4],
    );
    const localEnd = fieldsOf([FULL32, 4], [label.length, 2], [20, 2]);
    const localExtra = fieldsOf([1, 2], [16, 2], [bytes.length, 8], [stored, 8]);
    const wide = [bytes.length, stored, at].map((n) => n > zip64Above);
    const extra = [bytes.length, stored, at].filter((_, i) => wide[i]).map((n): [number, number] => [n, 8]);
    const field = (n: number, i: number): [number, number] => [wide[i] ? FULL32 : n, 4];
    centrals.push(
      fieldsOf([CENTRAL, 4], [45, 1], [3, 1], [45, 2], [flags, 2], [method, 2], [0, 2], [33, 2], [crc, 4]),
      fieldsOf(field(stored, 1), field(bytes.length, 0), [label.length, 2]),
      fieldsOf(
        [extra.length ? 4 + 8 * extra.length : 0, 2],
        [0, 2],
        [0, 2],
        [0, 2],
        [0o600 * 65536, 4],
        field(at, 2),
      ),
      label,
      extra.length ? fieldsOf([1, 2], [8 * extra.length, 2], ...extra) : new Uint8Array(0),
    );
    locals.push(local, localEnd, label, localExtra, ...parts);
    at += 30 + label.length + 20 + stored;
  }
  const length = centrals.reduce((n, part) => n + part.length, 0);
  const count = members.length;
  const wide = at > zip64Above || length > zip64Above || count > Math.min(zip64Above, FULL16 - 1);
  const tail: Uint8Array[] = [];
  if (wide)
    tail.push(
      fieldsOf(
        [END64, 4],
        [44, 8],
        [45, 2],
        [45, 2],
        [0, 4],
        [0, 4],
        [count, 8],
        [count, 8],
        [length, 8],
        [at, 8],
      ),
      fieldsOf([LOCATOR64, 4], [0, 4], [at + length, 8], [1, 4]),
    );
  const [count16, length32, at32] = [Math.min(count, FULL16), Math.min(length, FULL32), Math.min(at, FULL32)];
  tail.push(fieldsOf([END, 4], [0, 2], [0, 2], [count16, 2], [count16, 2], [length32, 4], [at32, 4], [0, 2]));
  return concatBytes([...locals, ...centrals, ...tail], what);
}

/** Little-endian fields, each a value and its width in bytes. */
function fieldsOf(...fields: [number, number][]): Uint8Array {
  const out = new Uint8Array(fields.reduce((n, [, width]) => n + width, 0));
  let at = 0;
  for (let [value, width] of fields)
    for (; width > 0; width--) {
      out[at++] = value % 256;
      value = Math.floor(value / 256);
    }
  return out;
}

/** Bytes at the end that have the end record with its longest comment, and usually the directory. */
const TAIL = 2 ** 17;

/** The members of an archive that is read in part, in the order of the central directory. No member is read. */
export async function readEntries(source: Source, refuse: Refuse): Promise<Member[]> {
  let tail = Math.min(TAIL, source.size);
  // Offsets in the directory count from the start of the file: a view of the tail alone would misplace them.
  for (;;) {
    const base = source.size - tail;
    const bytes = await source.read(base, tail);
    const directory = findDirectory(viewOf(bytes), refuser("zip", base), base);
    if (directory.start >= base) {
      const view = viewOf(bytes);
      const within = { ...directory, start: directory.start - base, end: directory.end - base };
      const members: Member[] = [];
      for (const entry of listEntries(view, within, refuse))
        members.push(await readMember(source, entry, directory.start, refuse));
      return members;
    }
    tail = source.size - directory.start;
  }
}

/** Bytes of a local header with the longest name and extra field. */
const MAX_LOCAL = 30 + 2 * 65_535;

async function readMember(
  source: Source,
  entry: Parameters<typeof memberAt>[1],
  limit: number,
  refuse: Refuse,
): Promise<Member> {
  const { local, name } = entry;
  if (local + 30 > limit) refuse("zip-local", local, `no local header at byte ${local}`, name);
  const fixed = viewOf(await source.read(local, 30));
  const length = Math.min(
    MAX_LOCAL,
    30 + fixed.getUint16(26, true) + fixed.getUint16(28, true),
    limit - local,
  );
  return memberAt(viewOf(await source.read(local, length)), entry, limit, refuse, local);
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
