/**
 * Byte sources, read in parts: a path or file handle (Node), a Blob or File (everywhere), bytes in memory, or a
 * custom `{ size, read(offset, length) }`. A read returns exactly the requested bytes, or throws a typed error.
 */
import { OptionError, refuseGot } from "../core/errors.ts";
import { fileError, fileSystem } from "./filesystem/node.ts";
import { allocate, asBytes, refuser } from "./refuse.ts";

/** A custom byte source, for example over HTTP range requests. */
export interface ByteSource {
  /** Total number of bytes. */
  readonly size: number;
  /** The `length` bytes from `offset` on. */
  read(offset: number, length: number): Uint8Array | ArrayBuffer | Promise<Uint8Array | ArrayBuffer>;
}

/** The part of Node's `FileHandle` that is used. */
export interface Handle {
  readonly fd: number;
  /** Size in bytes, and whether it is a regular file. */
  stat(): Promise<{
    readonly size: number;
    /** True for a regular file. */
    isFile(): boolean;
  }>;
  /** Reads up to `length` bytes from `offset` into `into`, beginning at `at`. */
  read(into: Uint8Array, at: number, length: number, offset: number): Promise<{ readonly bytesRead: number }>;
}

/** A byte source. A string is a path, and needs Node. */
export type SourceLike = string | Handle | Blob | Uint8Array | ArrayBuffer | ByteSource;

/** An opened source. */
export interface Source {
  readonly size: number;
  /** Reads bytes. A file is read into the beginning of `into` if it is given and large enough. */
  read(offset: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
  /** Closes a file that `openSource` opened; the caller's handle stays open. */
  close(): Promise<void>;
}

/** Opens a source; its error messages begin with `what`. */
export async function openSource(what: string, from: SourceLike): Promise<Source> {
  if (typeof from === "string") return openPath(what, from);
  if (from instanceof Uint8Array || from instanceof ArrayBuffer) {
    const bytes = asBytes(what, from);
    return checked(what, bytes.length, async (offset, length) => bytes.subarray(offset, offset + length));
  }
  if (typeof Blob !== "undefined" && from instanceof Blob)
    return checked(what, from.size, async (offset, length) =>
      from.slice(offset, offset + length).arrayBuffer(),
    );
  if (from !== null && typeof from === "object" && "fd" in from && typeof from.stat === "function")
    return fromHandle(what, from, "the file handle", async () => {});
  const source = from as ByteSource;
  if (source === null || typeof source !== "object" || typeof source.read !== "function")
    refuseGot("source", `${what}: expected a path, a file handle, a Blob, bytes or { size, read }`, from);
  return checked(what, source.size, async (offset, length) => source.read(offset, length));
}

async function openPath(what: string, path: string): Promise<Source> {
  const fs = fileSystem(what);
  const handle = await fs.open(path, "r").catch((error) => {
    throw fileError(what, "open", path, error);
  });
  try {
    return await fromHandle(what, handle, path, () => handle.close());
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function fromHandle(
  what: string,
  handle: Handle,
  name: string,
  close: () => Promise<void>,
): Promise<Source> {
  const fail = (error: unknown): never => {
    throw fileError(what, "read", name, error);
  };
  const stat = await handle.stat().catch(fail);
  if (!stat.isFile()) throw new OptionError("file", `${what}: ${name} is not a regular file`, { path: name });
  const read = async (offset: number, length: number, into?: Uint8Array) => {
    const bytes = into && into.length >= length ? into.subarray(0, length) : allocate(what, length);
    let done = 0;
    while (done < length) {
      // One call reads at most 2^31 − 1 bytes.
      const ask = Math.min(length - done, 2 ** 30);
      const { bytesRead } = await handle.read(bytes, done, ask, offset + done).catch(fail);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
  };
  return checked(what, stat.size, read, close);
}

/** A source that refuses reads beyond its size, and results of another length than requested. */
function checked(
  what: string,
  size: number,
  read: (offset: number, length: number, into?: Uint8Array) => Promise<Uint8Array | ArrayBuffer>,
  close: () => Promise<void> = async () => {},
): Source {
  const refuse = refuser(what);
  if (!(Number.isSafeInteger(size) && size >= 0))
    refuseGot("source", `${what}: the source's size must be an integer ≥ 0`, size);
  return {
    size,
    close,
    async read(offset, length, into) {
      if (offset + length > size)
        refuse("file-truncated", size, `${length} bytes from byte ${offset} on, of ${size}`);
      const bytes = asBytes(what, await read(offset, length, into));
      if (bytes.length !== length)
        refuse("file-truncated", offset + bytes.length, `the source gave ${bytes.length} of ${length} bytes`);
      return bytes;
    },
  };
}
