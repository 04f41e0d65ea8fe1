/**
 * Reads `config.json` of Hugging Face models. Every size is checked before anything is planned with it. A field that asks for a
 * computation heed does not have is an error that names it; fields that do not affect the computation are ignored.
 */
import { UnsupportedError } from "../../core/errors.ts";
import { type Json, scanObject } from "../../io/json.ts";
import { checkSize } from "../../io/limit.ts";
import { asBytes, quote, refuser } from "../../io/refuse.ts";
import { Fields, type FixedValues, requireValues } from "../config/fields.ts";
import type { ModelConfig } from "../config/types.ts";
import type { TransformerModel } from "../transformer/model.ts";
import { familyOf, familyOfConfig, MODEL_TYPES } from "./index.ts";

/** Fields that, if present, must have one of these values: any other is a computation heed does not have. */
const FIXED: FixedValues = {
  position_embedding_type: ["absolute"],
  is_decoder: [false],
  add_cross_attention: [false],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  quantization_config: [null],
  relative_attention_num_buckets: [32],
  use_bidirectional_attention: [false, null],
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
  const what = "config.json";
  const bytes = asBytes(what, json);
  const refuse = refuser(what);
  checkSize(what, "the file", bytes.length, MAX_CONFIG);
  const values = new Map<string, { value: Json; at: number }>();
  scanObject(bytes, refuse, (name, value, at) => values.set(name, { value, at }), { numbers: "finite" });

  const fields = new Fields(values, bytes.length, refuse);
  const modelType = fields.value("model_type");
  const family = typeof modelType === "string" ? familyOf(modelType) : undefined;
  if (family === undefined)
    throw new UnsupportedError(
      "model-type",
      `${what}: model_type is ${typeof modelType === "string" ? quote(modelType) : "missing"}; heed has ${MODEL_TYPES.join(", ")}. For most other models of PyTorch "heed capture --python" prints a recorder whose file every command opens (docs/08-explorer.md)`,
      { got: modelType },
    );
  requireValues(fields, FIXED);
  return { type: family.type, config: family.read(fields, modelType as string) } as ModelConfig;
}

/** The fields of a model's config.json in Hugging Face's layout. */
export const configFields = (model: Pick<TransformerModel, "type" | "config">): Record<string, unknown> =>
  familyOfConfig(model).write(model.config);
