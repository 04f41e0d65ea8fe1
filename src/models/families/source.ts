/** The config.json of a model whose config is a recipe: the fields that it was read from. */
import { UnsupportedError } from "../../core/errors.ts";
import type { TransformerConfig } from "../transformer/config.ts";

/** The fields of the file that a recipe was read from. Throws an UnsupportedError for a recipe that was not read from one. */
export function writeSource({
  source,
  model_type,
  tie_word_embeddings,
}: TransformerConfig): Record<string, unknown> {
  if (source === undefined)
    throw new UnsupportedError(
      "write",
      `writeModel: the config of this ${model_type} was not read from a config.json; give it the fields of one as \`source\`, or save its weights with writeSafetensors(model.parameters()) of heed/io`,
      { type: model_type },
    );
  return { ...source, ...(tie_word_embeddings !== undefined && { tie_word_embeddings }) };
}
