/** Files that commands write: what they are, their suffix says. */
import { extname } from "node:path";
import { UsageError } from "./command.ts";

const SUFFIXES = [".npy", ".npz", ".safetensors"] as const;

/** The suffix of an output file. Throws UsageError where heed writes no such file. */
export function suffixOf(path: string): (typeof SUFFIXES)[number] {
  const suffix = extname(path).toLowerCase() as (typeof SUFFIXES)[number];
  if (SUFFIXES.includes(suffix)) return suffix;
  throw new UsageError(`an output file ends in .npy, .npz or .safetensors, got ${JSON.stringify(path)}`);
}
