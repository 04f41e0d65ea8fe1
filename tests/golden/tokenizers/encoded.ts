/** What Hugging Face's library gave for the strings of the tokenizers' golden tests, and what heed gives in the same form. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tokenizer } from "heed/models";

/** One text or pair: ids and offsets as lists separated by spaces, types as digits. */
interface Encoded {
  readonly ids: string;
  readonly offsets: string;
  readonly types: string;
  readonly decoded: string;
}

/** A file of this folder. */
export const read = (name: string): Buffer => readFileSync(join(import.meta.dirname, name));

const json = (name: string) => JSON.parse(read(name).toString("utf8"));

/** The texts. */
export const strings: readonly string[] = json("strings.json");

/** The results of the library, by the name of the tokenizer. */
export const expectedOf = (name: string): Record<string, { single: Encoded[]; pair: Encoded[] }> =>
  json(name);

/** The same of heed. */
export function encoded(tokenizer: Tokenizer, text: string, pair?: string): Encoded {
  const { ids, offsets, typeIds } = tokenizer.encode(text, pair);
  return {
    ids: ids.join(" "),
    offsets: offsets.map(([start, end]) => `${start}-${end}`).join(" "),
    types: typeIds.join(""),
    decoded: tokenizer.decode(ids),
  };
}
