/**
 * The limit of every reader: the bytes that it may take in memory, `maxBytes`. It is checked against the sizes in a header or a
 * directory, before anything is allocated, and always refused with the same error.
 */
import { refuseValue, UnsupportedError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";

/** Default of `maxBytes`: 4 GiB. */
export const MAX_BYTES = 2 ** 32;

/** The memory limit of a reader. */
export interface SizeLimit {
  /**
   * Maximum bytes in memory: of the inflated arrays, or of the text. More is refused before it is allocated, with an
   * UnsupportedError of code `max-bytes`. Default 4 GiB (64 MiB for a tokenizer, 256 MiB for JSON); `Infinity` for no limit.
   */
  readonly maxBytes?: number;
}

/** The limit in `options`, or `usual`. Throws an OptionError for an invalid limit, and for options other than `maxBytes` and `own`. */
export function sizeLimit<O extends SizeLimit>(
  what: string,
  options: O,
  usual = MAX_BYTES,
  names: readonly (string & Exclude<keyof O, "maxBytes">)[] = [],
): number {
  checkNames(what, options, ["maxBytes", ...names]);
  const { maxBytes } = options;
  if (maxBytes === undefined) return usual;
  if ((Number.isSafeInteger(maxBytes) || maxBytes === Number.POSITIVE_INFINITY) && maxBytes >= 0)
    return maxBytes;
  refuseValue(what, "maxBytes", "an integer ≥ 0 or Infinity", maxBytes);
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
