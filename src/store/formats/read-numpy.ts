/** NumPy's files: an npz archive, once it is known how much it inflates to, or a single npy array of weights. */
import { UnsupportedError } from "../../core/errors.ts";
import { listMembers } from "../../io/archive/zip.ts";
import type { FileTensor } from "../../io/element.ts";
import { readNpy } from "../../io/npy.ts";
import { MAX_INFLATED, readNpz } from "../../io/npz.ts";
import { refuser } from "../../io/refuse.ts";
import type { Source } from "../../io/source.ts";
import { formatBytes } from "../measures/report.ts";
import { arrayBag } from "./arrays.ts";
import type { Problems } from "./metadata.ts";
import { pickle } from "./pickle.ts";
import type { Bag } from "./tensor-source.ts";

/** The arrays of an npz or npy file. */
export async function readNumpy(
  source: Source,
  format: "npz" | "npy",
  name: string,
  tokens: readonly string[] | undefined,
  problems: Problems,
): Promise<Bag> {
  const bytes = await source.read(0, source.size);
  const arrays = format === "npy" ? new Map([["attn", readNpy(bytes)]]) : await unzip(bytes, name);
  return arrayBag(arrays, tokens, problems);
}

async function unzip(bytes: Uint8Array, name: string): Promise<Map<string, FileTensor>> {
  const members = listMembers(bytes, refuser("openStore"));
  // torch's newer files are zip archives with a pickle inside.
  if (members.some((member) => /(?:^|\/)data\.pkl$/.test(member.name))) throw pickle(name);
  const total = members.reduce((sum, { size }) => sum + size, 0);
  if (total > MAX_INFLATED)
    throw new UnsupportedError(
      "npz-size",
      `openStore: ${name} inflates to ${formatBytes(total)}; at most ${formatBytes(MAX_INFLATED)} are read. Save it as safetensors, which is read in parts`,
      { bytes: total },
    );
  return readNpz(bytes);
}
