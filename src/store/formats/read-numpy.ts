/** NumPy files: an npz archive, whose uncompressed size is checked first, or a single npy array of weights. */
import { listMembers } from "../../io/archive/zip.ts";
import type { FileTensor } from "../../io/element.ts";
import { checkSize } from "../../io/limit.ts";
import { readNpy } from "../../io/numpy/npy.ts";
import { readNpzTexts } from "../../io/numpy/npy-text.ts";
import { openNpz } from "../../io/numpy/npz.ts";
import { refuser } from "../../io/refuse.ts";
import type { Source } from "../../io/source.ts";
import { arrayBag, isUsed } from "./arrays.ts";
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
  // The archive is in memory as well. Except for its directory, it is no larger than its uncompressed members.
  checkSize("openStore", name, source.size, maxBytes, ADVICE);
  const bytes = await source.read(0, source.size);
  if (format === "npy") return arrayBag(new Map([["attn", readNpy(bytes, { maxBytes })]]), tokens, problems);
  const { arrays, texts } = await unzip(bytes, name, maxBytes, problems);
  return arrayBag(arrays, tokens ?? texts, problems);
}

const ADVICE = ". Save it as safetensors, which is read in parts";

/** An array of strings with one of these names has the tokens. */
const TOKENS = /^(?:tokens?|labels?|words?)$/i;

/** The arrays of an archive, and its tokens. */
async function unzip(
  bytes: Uint8Array,
  name: string,
  maxBytes: number,
  problems: Problems,
): Promise<{ arrays: Map<string, FileTensor>; texts: readonly string[] | undefined }> {
  const members = listMembers(bytes, refuser("openStore"));
  // torch's newer files are zip archives with a pickle inside.
  if (members.some((member) => /(?:^|\/)data\.pkl$/.test(member.name))) throw pickle(name);
  const total = members.reduce((sum, { size }) => sum + size, 0);
  checkSize("openStore", name, total, maxBytes, ADVICE);
  const file = openNpz(bytes, { maxBytes });
  const named = await readNpzTexts(bytes, { maxBytes });
  const arrays = new Map<string, FileTensor>();
  let texts: readonly string[] | undefined;
  for (const member of file.members.keys()) {
    const text = named.get(member);
    if (text === undefined) {
      if (isUsed(member, file.members.keys(), problems)) arrays.set(member, await file.read(member));
    } else if (TOKENS.test(member)) texts = text.data;
    else
      problems.add(
        "note",
        "tensor-ignored",
        `\`${member}\` holds texts and is left out; texts named \`tokens\` name the positions`,
      );
  }
  return { arrays, texts };
}
