/** Reads the beginning of a file whose length is not known before it is parsed. */
import { FormatError } from "../core/errors.ts";
import { checkSize } from "./limit.ts";
import type { Source } from "./source.ts";

/** Thrown by a parser where the bytes end: with more of the file it may succeed. */
export class BytesEnd extends Error {}

/** Bytes that are read first. */
const FIRST = 2 ** 20;

/** The result of `parse` on enough of the first bytes of a file, at most `limit` of them; `part` names them in errors. */
export async function parseStart<T>(
  what: string,
  part: string,
  source: Source,
  limit: number,
  parse: (bytes: Uint8Array) => T | Promise<T>,
): Promise<T> {
  for (let length = FIRST; ; length *= 4) {
    const bytes = await source.read(0, Math.min(length, limit, source.size));
    try {
      return await parse(bytes);
    } catch (error) {
      if (!(error instanceof BytesEnd)) throw error;
      if (bytes.length === source.size)
        throw new FormatError(
          "file-truncated",
          `${what}: the file ends inside ${part} (byte ${source.size})`,
          { offset: source.size },
        );
      if (bytes.length === limit) checkSize(what, part, limit + 1, limit);
    }
  }
}
