/** `--max-bytes`: how much of a file a command takes into memory. */
import { UsageError, type Values } from "./command.ts";

/** The option. */
export const MEMORY_OPTIONS = { "max-bytes": { type: "string" } } as const;

/** Its help. */
export const MEMORY_HELP = {
  "max-bytes": "SIZE  bytes of a file that are taken into memory at most, such as 500M or 16G (default 4G)",
} as const;

const UNITS = ["", "K", "M", "G", "T"];

/** The limit in bytes; undefined where none is given. */
export function memoryLimit(values: Values): number | undefined {
  const text = values["max-bytes"] as string | undefined;
  if (text === undefined) return undefined;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)([KMGT]?)i?B?$/i.exec(text) ?? [];
  const bytes = Math.round(Number(digits) * 1024 ** UNITS.indexOf(unit?.toUpperCase()));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(
    `--max-bytes must be a size such as 500M or 16G (units of 1024), got ${JSON.stringify(text)}`,
  );
}
