/**
 * The special tokens around texts in a model's input: `[CLS] A [SEP]`, and for a pair `[CLS] A [SEP] B [SEP]` with
 * token types 0 and 1 (in files: `TemplateProcessing`).
 */

/** An item of a template: special tokens, or the first or second text. */
export type Slot =
  | { readonly special: string; readonly ids: readonly number[]; readonly typeId: number }
  | { readonly sequence: 0 | 1; readonly typeId: number };

/** The template for one text, and for two. */
export interface Template {
  readonly single: readonly Slot[];
  readonly pair: readonly Slot[];
}

/** Texts without special tokens, as in GPT-2. */
export const PLAIN: Template = {
  single: [{ sequence: 0, typeId: 0 }],
  pair: [
    { sequence: 0, typeId: 0 },
    { sequence: 1, typeId: 1 },
  ],
};

/** BERT's template. */
export function bertTemplate(cls: readonly [string, number], sep: readonly [string, number]): Template {
  const special = ([token, id]: readonly [string, number], typeId: number): Slot => ({
    special: token,
    ids: [id],
    typeId,
  });
  const single: Slot[] = [special(cls, 0), { sequence: 0, typeId: 0 }, special(sep, 0)];
  return { single, pair: [...single, { sequence: 1, typeId: 1 }, special(sep, 1)] };
}
