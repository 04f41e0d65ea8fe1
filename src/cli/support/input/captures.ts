/** The captured sentences that heed ships: a real model's attention, the default of `heed view`. */
import { join } from "node:path";
import { UnsupportedError } from "../../../core/errors.ts";
import { shippedFolder } from "../../../io/filesystem/shipped.ts";

/** File and name of each sentence, in the order of tabs: two "flies", four "bank" with the control, two "it" with the control. */
const SENTENCES = [
  ["time-flies", "time flies like an arrow"],
  ["fruit-flies", "fruit flies like a banana"],
  ["bank-of-the-river", "they walked along the bank of the river"],
  ["river-bank", "they walked along the river bank"],
  ["savings-bank", "they walked to the savings bank"],
  ["bank-of-the-table", "they sat by the bank of the table"],
  ["tired-cat", "The cat sat on the mat because it was tired"],
  ["soft-cat", "The cat sat on the mat because it was soft"],
] as const;

/** The captures as files: a display name and a path. */
export function shippedCaptures(): { readonly name: string; readonly path: string }[] {
  try {
    const folder = shippedFolder("captures");
    return SENTENCES.map(([file, name]) => ({ name, path: join(folder, `${file}.safetensors`) }));
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    throw new UnsupportedError(error.code, `${error.message}; or name a file`, error.fields);
  }
}
