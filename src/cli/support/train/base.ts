/** The model whose weights, tokenizer and sizes a run of `heed train --from` starts with. */
import { UnsupportedError } from "../../../core/errors.ts";
import type { Tensor } from "../../../core/tensor.ts";
import type { TextModel } from "../../../models/index.ts";
import type { TransformerConfig } from "../../../models/transformer/config.ts";
import type { LanguageModel } from "../../../train/index.ts";
import { pickTextModel } from "../input/pick-model.ts";
import { type Io, UsageError, type Values } from "../line/command.ts";

const OF_MODEL = "kind layers heads width inner vocab context cased whole-words words tokenizer".split(" ");

type Model = { readonly recipe: TransformerConfig };

/** Reads the model of --from. Its kind and its sizes are added to the options of the line, which may not have them. */
export async function readBase(values: Values, io: Pick<Io, "stderr">): Promise<[Values, TextModel?]> {
  if (values.from === undefined || values.resume) return [values];
  const option = OF_MODEL.find((name) => values[name] !== undefined);
  if (option !== undefined)
    throw new UsageError(`--from: its model decides --${option}; omit one of the two`);
  const base = await pickTextModel(values.from as string, { stderr: io.stderr });
  const { recipe } = base.model as unknown as Model;
  const [layers, heads, width] = [recipe.layers.length, recipe.num_attention_heads, recipe.hidden_size];
  const { intermediate_size: inner, vocab_size: vocab, max_position_embeddings: context } = recipe;
  const sizes = Object.entries({ layers, heads, width, inner, vocab, context });
  const kind = base.architecture === "encoder" ? "encoder" : "decoder";
  return [{ ...values, kind, ...Object.fromEntries(sizes.map(([name, size]) => [name, `${size}`])) }, base];
}

/** Sets the weights of a new model to those of --from. Throws an UnsupportedError where it computes in another way. */
export function copyWeights({ name, model }: TextModel, to: LanguageModel): void {
  const weights = model.parameters();
  const isOther = formulaOf(model as unknown as Model) !== formulaOf(to.model);
  if (isOther || [...to.parameters().keys()].some((key) => !weights.has(key)))
    throw new UnsupportedError(
      "train-from",
      `--from: ${name} is not a model that heed trains: GPT-2, or BERT with its head for masked tokens`,
      { model: name },
    );
  for (const [key, { data }] of to.parameters())
    (data as Float32Array).set((weights.get(key) as Tensor).toFloat64());
}

/** All fields of a recipe except those of new weights, of dropout, and of special tokens. */
const formulaOf = ({ recipe }: Model): string =>
  JSON.stringify({ tie_word_embeddings: true, ...recipe }, (key, value) =>
    /_range$|_p?drop(out)?$|_token_ids?$/.test(key) ? undefined : value,
  );
