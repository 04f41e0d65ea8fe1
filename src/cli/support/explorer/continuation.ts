/**
 * Tokens that a decoder writes after a text, one for each question of the page, with the attention on everything so far. The tokens are
 * those of `generate`; a question for another place or with other options starts anew.
 */
import { checkInteger, UnsupportedError } from "../../../core/errors.ts";
import { type CachedDecoder, generate } from "../../../models/inference/generate.ts";
import type { TextAttention, TextModel } from "../../../models/text-model.ts";
import type { ModelQuestion } from "../../../view/element.ts";

/** Maximum number of tokens of one continuation. */
const MAX_TOKENS = 500;

/** The question for the next token. */
export type NextQuestion = Extract<ModelQuestion, { readonly of: "next" }>;

/** A token with the attention on the text up to it, or the reason why there is none. */
export type NextToken =
  | { readonly token: string; readonly attention: TextAttention }
  | { readonly token: null; readonly why: string };

/** A function that answers questions for the next token after a text. */
export function continuationOf(model: TextModel, text: string): (question: NextQuestion) => NextToken {
  let options = "";
  let written: number[] = [];
  let steps: Iterator<number> | undefined;
  return ({ n, total, temperature, seed }) => {
    const what = "the continuation";
    if (model.architecture !== "decoder")
      throw new UnsupportedError(
        "architecture",
        `${model.name} does not write: only a decoder continues a text`,
      );
    checkInteger(what, "total", total, 1, MAX_TOKENS);
    checkInteger(what, "n", n, 0, total - 1);
    const read = model.tokenize(text);
    if (read.ids.length + n >= model.maxTokens)
      return { token: null, why: `${model.name} reads at most ${model.maxTokens} tokens` };
    const now = JSON.stringify([total, temperature, seed]);
    if (now !== options || n !== written.length || steps === undefined) {
      steps?.return?.();
      [options, written] = [now, []];
      const network = model.model as unknown as CachedDecoder;
      steps = generate(network, read.ids, { maxTokens: total, temperature, seed });
    }
    while (written.length <= n) {
      const { value, done } = steps.next();
      if (done) return { token: null, why: `${model.name} ended the text` };
      written.push(value);
    }
    return { token: nameOf(model, written[n]), attention: attentionOn(model, read, written) };
  };
}

/** A token as the picture names it; rows beyond the vocabulary have no name. */
const nameOf = ({ tokenizer }: TextModel, id: number): string =>
  tokenizer.token(id) === undefined ? `[${id}]` : tokenizer.display(id);

/** The attention on a text and the tokens written after it: on these ids, whatever the tokenizer would make of their text. */
function attentionOn(
  model: TextModel,
  read: ReturnType<TextModel["tokenize"]>,
  written: readonly number[],
): TextAttention {
  const { tokenizer } = model;
  const ids = Int32Array.from([...read.ids, ...written]);
  const isSpecial = (id: number) => tokenizer.token(id) === undefined || tokenizer.isSpecial(id);
  const text = tokenizer.decode(ids.filter((id) => !isSpecial(id)));
  return {
    ...read,
    ids,
    texts: [text],
    tokens: [...read.tokens, ...written.map((id) => nameOf(model, id))],
    offsets: [...read.offsets, ...written.map(() => [0, 0] as const)],
    sequences: Int8Array.from([...read.sequences, ...written.map((id) => (isSpecial(id) ? -1 : 0))]),
    special: [...read.special, ...written.map(isSpecial)],
    typeIds: new Int32Array(ids.length),
    layers: model.attentionOf(ids),
  };
}
