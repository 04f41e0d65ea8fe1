/**
 * The one limit of every reader: the bytes that it may take into memory, `maxBytes`. Checked against what a header or a directory says,
 * before anything is allocated, and always refused by the same error.
 */

import { formatValue, OptionError, UnsupportedError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";

/** Bytes that a reader takes into memory at most where no `maxBytes` is given: 4 GiB. */
export const MAX_BYTES = 2 ** 32;

/** How much a reader may take into memory. */
export interface SizeLimit {
  /**
   * Bytes that may be taken into memory: of the arrays once they are inflated, or of the text. More is refused before it is allocated, by
   * an UnsupportedError of code `max-bytes`. Default 4 GiB (64 MiB for a tokenizer, 256 MiB for JSON); `Infinity` for no limit.
   */
  readonly maxBytes?: number;
}

/** The limit that options give, or `usual`. Throws an OptionError where it is no size, and for options besides it and `own`. */
export function sizeLimit<O extends SizeLimit>(
  what: string,
  options: O,
  usual = MAX_BYTES,
  own: readonly (string & Exclude<keyof O, "maxBytes">)[] = [],
): number {
  checkNames(what, options, ["maxBytes", ...own]);
  const { maxBytes } = options;
  if (maxBytes === undefined) return usual;
  if ((Number.isSafeInteger(maxBytes) || maxBytes === Number.POSITIVE_INFINITY) && maxBytes >= 0)
    return maxBytes;
  throw new OptionError(
    "maxBytes",
    `${what}: maxBytes must be an integer ≥ 0 or Infinity, got ${formatValue(maxBytes)}`,
    { got: maxBytes },
  );
}

/** Throws where `subject` exceeds the limit; `advice` names an alternative. */
export function checkSize(what: string, subject: string, bytes: number, limit: number, advice = ""): void {
  if (bytes <= limit) return;
  throw new UnsupportedError(
    "max-bytes",
    `${what}: ${subject}: ${bytes} bytes in memory; the limit is ${limit} (maxBytes)${advice}`,
    { bytes, maxBytes: limit },
  );
}
