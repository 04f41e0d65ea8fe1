/** Safetensors files: heed's bundles, read by byte range, and files whose tensors have common names. */
import type { FileTensor } from "../../io/element.ts";
import { openSafetensors } from "../../io/safetensors/open.ts";
import type { Source } from "../../io/source.ts";
import { arrayBag, isBundle } from "./arrays.ts";
import type { Problems } from "./metadata.ts";
import { type Bag, fileBag } from "./tensor-source.ts";

/** The tensors of a safetensors file. */
export async function readBundle(
  source: Source,
  tokens: readonly string[] | undefined,
  problems: Problems,
  maxBytes: number,
): Promise<Bag> {
  // Passed as `{ size, read }`, so that the reader does not close the source.
  const reader = { size: source.size, read: (offset: number, length: number) => source.read(offset, length) };
  const file = await openSafetensors(reader, { maxBytes });
  if (isBundle(file.tensors.keys())) {
    const bag = fileBag(file);
    const named = [...file.metadata.keys()].some((key) => key.startsWith("tokens."));
    if (tokens === undefined || named) return bag;
    return { ...bag, metadata: new Map([...file.metadata, ["tokens.text", JSON.stringify(tokens)]]) };
  }
  const arrays = new Map<string, FileTensor>();
  for (const tensor of file.tensors.keys()) arrays.set(tensor, await file.read(tensor));
  const bag = arrayBag(arrays, tokens, problems);
  return { ...bag, metadata: new Map([...file.metadata, ...bag.metadata]) };
}
