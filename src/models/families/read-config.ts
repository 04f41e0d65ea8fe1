/**
 * Reads `config.json` of Hugging Face models. Every size is checked before anything is planned with it. A field that asks for a
 * computation heed does not have is an error that names it; fields that do not affect the computation are ignored.
 */
import { checkCount, UnsupportedError } from "../../core/errors.ts";
import { type Json, scanObject } from "../../io/json.ts";
import { checkSize } from "../../io/limit.ts";
import { asBytes, quote, refuser } from "../../io/refuse.ts";
import { Fields, type FixedValues, requireValues } from "../config/fields.ts";
import { refuseQuantized } from "../config/quantization.ts";
import type { ModelConfig } from "../config/types.ts";
import type { ModelNote } from "../files/weights.ts";
import { IMAGE_MODEL_TYPES } from "../images/families.ts";
import type { TransformerModel } from "../transformer/model.ts";
import { familyOf, familyOfConfig, MODEL_TYPES } from "./index.ts";

/** Fields that, if present, must have one of these values: any other is a computation heed does not have. */
const FIXED: FixedValues = {
  position_embedding_type: ["absolute"],
  is_decoder: [false],
  add_cross_attention: [false],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  // "vision": pictures see all of themselves, text is causal.
  use_bidirectional_attention: [false, null, "vision"],
};

/** Maximum bytes of a config.json. */
const MAX_CONFIG = 2 ** 20;

/**
 * Reads a config.json. Throws a FormatError for a wrong field, an UnsupportedError for a model that heed does not have.
 *
 * @example
 * const { type } = readConfig(readFileSync(`${locateShipped("decoder")}/config.json`));
 * type; // → "gpt2"
 */
export function readConfig(json: Uint8Array | ArrayBuffer): ModelConfig {
  checkCount("readConfig", arguments, 1);
  return readConfigFile(json).config;
}

/** Fields of generation_config.json, which take precedence over those of config.json: which ids begin and end a text. */
const GENERATION = [
  "bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id", "bad_words_ids",
]; // biome-ignore format: one list

/** The same, with what a user should know of the file; `generation` has the fields of generation_config.json. */
export function readConfigFile(
  json: Uint8Array | ArrayBuffer,
  generation: Readonly<Record<string, unknown>> = {},
): {
  readonly config: ModelConfig;
  readonly notes: readonly ModelNote[];
} {
  const fields = readFields(json);
  const modelType = fields.value("model_type");
  const family = typeof modelType === "string" ? familyOf(modelType) : undefined;
  if (family === undefined) {
    if (IMAGE_MODEL_TYPES.includes(modelType as string))
      throw new UnsupportedError(
        "model-type",
        `config.json: a ${modelType} reads pictures, not text: open it with readImageModel, or "heed capture MODEL --image photo.jpg -o run.safetensors"`,
        { got: modelType },
      );
    throw new UnsupportedError(
      "model-type",
      `config.json: model_type is ${typeof modelType === "string" ? quote(modelType) : "missing"}; heed has ${MODEL_TYPES.join(", ")}; of models that read pictures ${IMAGE_MODEL_TYPES.join(", ")}. For most other models of PyTorch "heed capture --python" prints a recorder whose file every command opens (docs/08-explorer.md)`,
      { got: modelType },
    );
  }
  refuseQuantized(fields);
  requireValues(fields, FIXED);
  // Classes of a family have their config.json's fields; other models have what both files say.
  const isRecipe = family.type === "decoder" || family.type === "encoder-decoder";
  const ids = GENERATION.filter((name) => isRecipe && generation[name] != null);
  const all = fields.with(Object.fromEntries(ids.map((name) => [name, generation[name] as Json])));
  const config = { type: family.type, config: family.read(all, modelType as string) } as ModelConfig;
  return { config, notes: customCode(fields, modelType as string) };
}

/** The fields of a config.json. Throws a FormatError for what is not an object of JSON. */
export function readFields(json: Uint8Array | ArrayBuffer): Fields {
  const what = "config.json";
  const bytes = asBytes(what, json);
  const refuse = refuser(what);
  checkSize(what, "the file", bytes.length, MAX_CONFIG);
  const values = new Map<string, { value: Json; at: number }>();
  scanObject(bytes, refuse, (name, value, at) => values.set(name, { value, at }), { numbers: "finite" });
  return new Fields(values, bytes.length, refuse);
}

/** A note on a config that names Python code of its own, which may compute something else: transformers runs it only if asked to. */
function customCode(fields: Fields, modelType: string): ModelNote[] {
  if (fields.object("auto_map") === undefined) return [];
  const causal =
    fields.value("is_causal") === false ? "; it also says is_causal: false, which that code may need" : "";
  return [
    {
      severity: "note",
      code: "custom-code",
      text: `config.json names Python code of the model (auto_map), which heed does not run: the model is computed as a plain ${modelType}${causal}`,
    },
  ];
}

/** The fields of a model's config.json in Hugging Face's layout. */
export const configFields = (model: Pick<TransformerModel, "type" | "config">): Record<string, unknown> =>
  familyOfConfig(model).write(model.config);
