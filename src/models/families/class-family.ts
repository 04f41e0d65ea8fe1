/** Families with a class: their configs have the fields of config.json, and their recipe is made from them. */
import { type FixedValues, requireValues } from "../config/fields.ts";
import { type ConfigSchema, checkFields, withDefaults } from "../config/schema.ts";
import type { ModelConfig } from "../config/types.ts";
import type { TransformerModel } from "../transformer/model.ts";
import type { ModelStart } from "../transformer/transformer.ts";
import type { Family, FileNames } from "./family.ts";

/** A family with a class whose config has the fields of config.json. */
export interface ClassFamily<C extends object> {
  readonly type: Exclude<ModelConfig["type"], "encoder" | "decoder" | "encoder-decoder">;
  /** `model_type`s that are computed as this one. */
  readonly aliases?: readonly string[];
  /** The class in transformers. */
  readonly architecture: string;
  readonly schema: ConfigSchema;
  /** Values of fields that a config lacks; also written into a new config.json, with `constants`. */
  readonly defaults: Partial<C>;
  readonly constants?: Record<string, unknown>;
  readonly files?: FileNames;
  /** Fields of which one value is computed. */
  readonly fixed?: FixedValues;
  recipe(config: C): ReturnType<Family<C>["recipe"]>;
  make(config: C, options: ModelStart): TransformerModel;
}

/** The family of a class. */
export function classFamily<C extends object>(it: ClassFamily<C>): Family<C> {
  return {
    type: it.type,
    modelTypes: [it.type, ...(it.aliases ?? [])],
    files: it.files,
    read(fields) {
      requireValues(fields, it.fixed ?? {});
      const config = fields.read(it.schema.fields) as unknown as C;
      checkFields(it.type, it.schema, config, it.defaults);
      return config;
    },
    recipe: it.recipe,
    write: (config) => ({
      architectures: [it.architecture],
      model_type: it.type,
      ...it.defaults,
      ...it.constants,
      ...config,
    }),
    make: it.make,
  };
}

/** A checked config with the defaults of its family. */
export function completed<C extends object, D extends object>(
  type: string,
  schema: ConfigSchema,
  config: C,
  defaults: D,
): C & D {
  checkFields(type, schema, config, defaults);
  return withDefaults(config, defaults);
}
