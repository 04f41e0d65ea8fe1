/**
 * An npz file that is read in parts: its directory, the beginning of each member, and the members that are requested. The parts are
 * read into an array of the file's size, in which `openNpz` finds them; the rest of it is never written, and takes no memory.
 */
import { HeedError } from "../../core/errors.ts";
import { type Directory, findDirectory, listEntries } from "../archive/zip.ts";
import { allocate, refuser } from "../refuse.ts";
import type { Source } from "../source.ts";
import { type NpzFile, openNpz, type ReadNpzOptions } from "./npz.ts";

/** Bytes at the end that have the end record with its longest comment, and usually the directory. */
const END = 2 ** 17;
/** Bytes at the start of a member that have its local header and the kilobyte in which `openNpz` looks for the array's header. */
const BEGINNING = 4096;

/** As `openNpz`, of a source, which stays open. */
export async function openNpzParts(source: Source, options: ReadNpzOptions = {}): Promise<NpzFile> {
  const { size } = source;
  const refuse = refuser("readNpz");
  const bytes = allocate("readNpz", size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, size);
  const load = async (from: number, to: number): Promise<void> => {
    const [start, end] = [Math.max(0, from), Math.min(size, to)];
    if (end <= start) return;
    const into = bytes.subarray(start, end);
    const read = await source.read(start, end - start, into);
    if (read.buffer !== bytes.buffer) into.set(read);
  };
  await load(size - END, size);
  const directory: Directory = findDirectory(view, refuse);
  if (directory.start < size - END) await load(directory.start, size - END);
  const entries = listEntries(view, directory, refuse);
  for (const { local } of entries) await load(local, local + BEGINNING);
  const file = openNpz(bytes, options);

  const starts = [...entries.map(({ local }) => local), directory.start].sort((a, b) => a - b);
  const startOf = new Map(entries.map(({ name, local }) => [name, local]));
  const loaded = new Set<string>();
  /** Loads a member completely. A name that the file does not have is an error of `openNpz`. */
  const loadMember = async (name: string): Promise<void> => {
    const start = startOf.get(`${name}.npy`);
    if (start === undefined || loaded.has(name)) return;
    await load(start, starts.find((next) => next > start) ?? directory.start);
    loaded.add(name);
  };
  return {
    ...file,
    async header(name) {
      try {
        return await file.header(name);
      } catch (error) {
        if (!(error instanceof HeedError) || loaded.has(name)) throw error;
        // The header may be longer than what was read of it.
        await loadMember(name);
        return file.header(name);
      }
    },
    async read(name) {
      file.checkSize([name]);
      await loadMember(name);
      return file.read(name);
    },
  };
}
