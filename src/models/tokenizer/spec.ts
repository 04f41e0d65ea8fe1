/** The definition of a tokenizer, and the check of its fields. tokenizer.ts checks that they are consistent. */
import { checkKind, checkKinds, type FieldKinds, type ValueKind } from "../../core/option-names.ts";
import type { AddedToken } from "./added.ts";
import type { BpeVocabulary } from "./bpe.ts";
import type { Pipeline } from "./pipeline/index.ts";
import type { Template } from "./template.ts";
import type { WordPieceVocabulary } from "./wordpiece.ts";

/** The complete definition of a tokenizer. */
export type TokenizerSpec = {
  /** Tokens in addition to the learned vocabulary, special or not; their ids may be in the vocabulary too. */
  readonly added: readonly AddedToken[];
  /** The special tokens around texts; default none. */
  readonly template?: Template;
} & (
  | (BpeVocabulary & {
      readonly kind: "bpe";
      /** Prepends a space to a text that begins without one. */
      readonly addPrefixSpace: boolean;
    })
  | (WordPieceVocabulary & {
      readonly kind: "wordpiece";
      /** Decoding removes the spaces before English punctuation. */
      readonly cleanup: boolean;
    })
  | {
      /** Any other `tokenizer.json`, as its steps. */
      readonly kind: "pipeline";
      readonly vocab: ReadonlyMap<string, number>;
      readonly pipeline: Pipeline;
    }
);

/** The fields of each kind of specification, by what they must be. */
const SPEC_FIELDS: Readonly<Record<TokenizerSpec["kind"], FieldKinds>> = {
  bpe: { "true or false": "addPrefixSpace", "a list of lists": "merges" },
  wordpiece: {
    "true or false": "cleanup",
    "a text": "unknown prefix",
    "an integer ≥ 1": "maxCharacters",
    "an object": "normalizer",
  },
  pipeline: { "an object": "pipeline" },
};

/** Throws unless the fields of `spec` are those of its kind, each of the right kind. */
export function checkFields(spec: TokenizerSpec): void {
  const kinds = SPEC_FIELDS[spec.kind];
  checkKinds("Tokenizer", spec, { ...kinds, "a list of objects": "added", "": "kind vocab template" });
  for (const [kind, names] of Object.entries(kinds))
    for (const name of names.split(" "))
      checkKind("Tokenizer", name, kind as ValueKind, (spec as unknown as Record<string, unknown>)[name]);
  for (const token of spec.added)
    checkKinds("Tokenizer: an added token", token, {
      "a text": "content",
      "true or false": "special singleWord lstrip rstrip normalized",
      "": "id",
    });
  if (spec.template === undefined) return;
  checkKinds("Tokenizer: template", spec.template, { "a list of objects": "single pair" });
  for (const name of ["single", "pair"] as const)
    checkKind("Tokenizer", `template.${name}`, "a list of objects", spec.template[name]);
}
