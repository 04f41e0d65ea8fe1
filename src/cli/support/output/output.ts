/** Output files of commands: their format by the suffix, and whether their folder is writable. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { OptionError } from "../../../core/errors.ts";
import { STDIN } from "../input/stdin.ts";
import { splitAddress } from "../input/tensors.ts";
import { UsageError, type Values } from "../line/command.ts";

/** The value of `--output`, which has one of some endings. Throws a UsageError for another one, or `missing` where it is required. */
export function outputOf<M extends string | undefined = undefined>(
  { output }: Values,
  endings: string,
  missing?: M,
): M extends string ? string : string | undefined {
  if (output === undefined && missing !== undefined) throw new UsageError(missing);
  if (output !== undefined && !endings.split(/, | or /).includes(extname(String(output)).toLowerCase()))
    throw new UsageError(`--output must end in ${endings}, got ${JSON.stringify(output)}`);
  return output as string;
}

const SUFFIXES = [".npy", ".npz", ".safetensors"] as const;

/** The suffix of an output file. Throws a UsageError for a format that heed does not write. */
export function suffixOf(path: string): (typeof SUFFIXES)[number] {
  const suffix = extname(path).toLowerCase() as (typeof SUFFIXES)[number];
  if (SUFFIXES.includes(suffix)) return suffix;
  throw new UsageError(`an output file ends in .npy, .npz or .safetensors, got ${JSON.stringify(path)}`);
}

/**
 * Throws, before any work, for a file in a folder that does not exist or is not writable, and for one of the command's `inputs`
 * (files, or `FILE#NAME`), which it would replace.
 */
export async function checkPlace(path: string, inputs: readonly string[] = []): Promise<void> {
  if (path === STDIN)
    throw new UsageError("- is standard input, and the output is a file; a file of this name is ./-");
  const folder = dirname(path);
  const refuse = (reason: string, errno?: string): never => {
    throw new OptionError("file", `cannot write ${path}: ${reason}`, { path, errno });
  };
  const stats = await stat(folder).catch(() => undefined);
  if (stats === undefined) return refuse(`the folder ${folder} does not exist`);
  if (!stats.isDirectory()) refuse(`${folder} is not a folder`);
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    refuse(`the folder ${folder} is not writable (${code})`, code);
  }
  const old = await stat(path).catch(() => undefined);
  for (const input of old === undefined ? [] : inputs) {
    const file = await stat(splitAddress(input).path).catch(() => undefined);
    if (file?.dev === old?.dev && file?.ino === old?.ino)
      refuse("it is the input, and would be replaced; name another file");
  }
}
