/** The members of a zip archive that is read in part: its directory, and the local header of each member. */
import { type Refuse, refuser } from "../refuse.ts";
import type { Source } from "../source.ts";
import { findDirectory, listEntries, type Member, memberAt } from "./zip.ts";

/** Bytes at the end that have the end record with its longest comment, and usually the directory. */
const END = 2 ** 17;

/** The members, in the order of the central directory. No member is read. */
export async function readEntries(source: Source, refuse: Refuse): Promise<Member[]> {
  let tail = Math.min(END, source.size);
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
const LOCAL = 30 + 2 * 65_535;

async function readMember(
  source: Source,
  entry: Parameters<typeof memberAt>[1],
  limit: number,
  refuse: Refuse,
): Promise<Member> {
  const { local, name } = entry;
  if (local + 30 > limit) refuse("zip-local", local, `no local header at byte ${local}`, name);
  const fixed = viewOf(await source.read(local, 30));
  const length = Math.min(LOCAL, 30 + fixed.getUint16(26, true) + fixed.getUint16(28, true), limit - local);
  return memberAt(viewOf(await source.read(local, length)), entry, limit, refuse, local);
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
