/**
 * A family of models: the `model_type`s of config.json that it reads, and how their fields become the recipe of an encoder or a
 * decoder. The table of families is index.ts.
 */

import { UnsupportedError } from "../../core/errors.ts";
import type { Fields } from "../config/fields.ts";
import type { ModelConfig } from "../config/types.ts";
import type {
  DecoderConfig,
  EncoderConfig,
  EncoderDecoderConfig,
  TransformerConfig,
} from "../transformer/config.ts";
import type { DecoderModel, TransformerModel } from "../transformer/model.ts";
import type { ModelStart } from "../transformer/transformer.ts";

/** Tensors of a family's files beside those of the recipe. Patterns match names with the prefix of the base model. */
export interface FileNames {
  /** Replacements for other spellings of the same names. */
  readonly renames?: readonly (readonly [RegExp, string])[];
  /** Tensors that do not affect attention or logits: buffers, poolers. They are ignored. */
  readonly ignored?: RegExp;
  /** Parameters that a layer has in some configurations only: ignored where the recipe has no such parameter. */
  readonly unused?: RegExp;
  /** Heads for other tasks: ignored, with a note. */
  readonly otherHeads?: RegExp;
}

/** A family. `C` is its config: the fields of config.json where it has a class, otherwise the recipe. */
export interface Family<C extends object = ModelConfig["config"]> {
  /** Type of its configs, and name of its class. */
  readonly type: ModelConfig["type"];
  /** Every `model_type` that it reads. */
  readonly modelTypes: readonly string[];
  readonly files?: FileNames;
  /** The config from the fields of a config.json. Throws a FormatError or an UnsupportedError that names a field. */
  read(fields: Fields, modelType: string): C;
  /** The recipe of a config. */
  recipe(config: C): EncoderConfig | DecoderConfig | EncoderDecoderConfig;
  /** The fields of a config.json in Hugging Face's layout. */
  write(config: C): Record<string, unknown>;
  make(config: C, options: ModelStart): TransformerModel | DecoderModel;
}

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
