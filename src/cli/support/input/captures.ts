/** The captured sentences in this package: a real model's attention, the default of `heed view`. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { UnsupportedError } from "../../../core/errors.ts";

/** File and name of each sentence, in the order of tabs. */
const SENTENCES = [
  ["tired-cat", "The cat sat on the mat because it was tired"],
  ["time-flies", "time flies like an arrow"],
  ["fruit-flies", "fruit flies like a banana"],
  ["river-bank", "they walked along the river bank"],
  ["savings-bank", "they walked to the savings bank"],
] as const;

/** The captures as files: a display name and a path. */
export function shippedCaptures(): { readonly name: string; readonly path: string }[] {
  // Beside src/ in a clone, beside dist/ in the package.
  const folder = fileURLToPath(new URL("../../../../models/captures/", import.meta.url));
  const found = SENTENCES.map(([file, name]) => ({ name, path: `${folder}${file}.safetensors` })).filter(
    ({ path }) => existsSync(path),
  );
  if (found.length === 0)
    throw new UnsupportedError(
      "captures-missing",
      `heed view: this copy of heed has no captured sentences: ${folder} holds none; give a file, or --text TEXT`,
      { folder },
    );
  return found;
}
