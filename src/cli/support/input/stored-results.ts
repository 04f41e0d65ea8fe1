/** Results of `heed why`, `heed ablate` and `heed patch` in files: what `heed capture --evidence` stores. */
import { FormatError, formatValue, OptionError } from "../../../core/errors.ts";
import { decodeText, readBytes } from "./text-file.ts";

/** A result, and the text that it is about. */
export interface TextResult {
  readonly text: string;
  readonly result: Readonly<Record<string, unknown>>;
}

/**
 * Reads results, each about one of the texts.
 *
 * @throws OptionError where a file cannot be read or is about another text; FormatError where it is no result
 */
export async function readEvidence(
  paths: readonly string[],
  texts: readonly string[],
): Promise<readonly TextResult[]> {
  const results: TextResult[] = [];
  for (const path of paths) {
    const result = parseResult(path, decodeText(path, await readBytes(path)));
    const { text } = result;
    if (typeof text !== "string" || !texts.includes(text))
      throw new OptionError(
        "evidence",
        `--evidence ${path}: a result about ${formatValue(text)}, which is none of the texts`,
        { path, text },
      );
    results.push({ text, result });
  }
  return results;
}

function parseResult(path: string, json: string): Readonly<Record<string, unknown>> {
  let result: unknown;
  try {
    result = JSON.parse(json);
  } catch {
    // The error below says what is expected.
  }
  if (typeof result === "object" && result !== null && "kind" in result)
    return result as Readonly<Record<string, unknown>>;
  throw new FormatError(
    "evidence",
    `--evidence ${path}: expected what heed why, heed ablate or heed patch print with --json`,
    { path },
  );
}
