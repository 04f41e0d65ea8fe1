/** NumPy's files: an npz archive, once it is known how much it inflates to, or a single npy array of weights. */
import { listMembers } from "../../io/archive/zip.ts";
import type { FileTensor } from "../../io/element.ts";
import { checkSize } from "../../io/limit.ts";
import { readNpy } from "../../io/npy.ts";
import { readNpz } from "../../io/npz.ts";
import { refuser } from "../../io/refuse.ts";
import type { Source } from "../../io/source.ts";
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
  maxBytes: number,
): Promise<Bag> {
  // The archive itself is held as well; it is no larger than what it inflates to, but for its directory.
  checkSize("openStore", name, source.size, maxBytes, ADVICE);
  const bytes = await source.read(0, source.size);
  const arrays =
    format === "npy" ? new Map([["attn", readNpy(bytes, { maxBytes })]]) : await unzip(bytes, name, maxBytes);
  return arrayBag(arrays, tokens, problems);
}

const ADVICE = ". Save it as safetensors, which is read in parts";

async function unzip(bytes: Uint8Array, name: string, maxBytes: number): Promise<Map<string, FileTensor>> {
  const members = listMembers(bytes, refuser("openStore"));
  // torch's newer files are zip archives with a pickle inside.
  if (members.some((member) => /(?:^|\/)data\.pkl$/.test(member.name))) throw pickle(name);
  const total = members.reduce((sum, { size }) => sum + size, 0);
  checkSize("openStore", name, total, maxBytes, ADVICE);
  return readNpz(bytes, { maxBytes });
}
