/** Families of encoder–decoders: what their config.json files have in common. */
import type { Fields } from "../../config/fields.ts";
import { LIMITS } from "../../config/schema.ts";
import { EncoderDecoder } from "../../encoder-decoder/encoder-decoder.ts";
import type { EncoderConfig, EncoderDecoderConfig } from "../../transformer/config.ts";
import type { Family, FileNames } from "../family.ts";
import { writeSource } from "../family.ts";
import { endIds } from "../recipe-family.ts";

/** What a family of encoder–decoders has to say. */
interface EncoderDecoderFamily {
  readonly modelTypes: readonly string[];
  readonly files?: FileNames;
  /** The recipes of both parts; ids and the source are added here. */
  read(
    fields: Fields,
    modelType: string,
  ): { readonly encoder: EncoderConfig; readonly decoder: EncoderConfig };
}

/** A family of encoder–decoders. */
export const encoderDecoderFamily = (it: EncoderDecoderFamily): Family<EncoderDecoderConfig> => ({
  type: "encoder-decoder",
  modelTypes: it.modelTypes,
  files: it.files,
  read(fields, model_type) {
    const { encoder, decoder } = it.read(fields, model_type);
    const id = (name: string) => fields.optional<number>([name, "id"]);
    const ends = endIds(fields);
    const forced = { bos: id("forced_bos_token_id"), eos: id("forced_eos_token_id") };
    return {
      ...decoder,
      encoder,
      ...fields.read([["tie_word_embeddings", "flag"]]),
      eos_token_ids: ends,
      decoder_start_token_id:
        id("decoder_start_token_id") ??
        (model_type.endsWith("t5") ? (id("pad_token_id") ?? 0) : (ends[0] ?? 2)),
      ...(forced.bos !== undefined && { forced_bos_token_id: forced.bos }),
      ...(forced.eos !== undefined && { forced_eos_token_id: forced.eos }),
      suppressed_ids: suppressed(fields),
      source: { ...fields.toObject(), model_type },
    };
  },
  recipe: (config) => config,
  write: writeSource,
  make: (config, options) => new EncoderDecoder(config, options),
});

/** Ids that are never generated: the `bad_words_ids` of one token, padding in Marian. */
function suppressed(fields: Fields): number[] {
  const value = fields.value("bad_words_ids");
  if (value === undefined || value === null) return [];
  const isId = (one: unknown): one is [number] =>
    Array.isArray(one) && one.length === 1 && Number.isInteger(one[0]) && one[0] >= 0;
  if (!Array.isArray(value) || !value.every(isId))
    return fields.refuse("bad_words_ids", "must be a list of lists of one id");
  return value.map(([id]) => id);
}

/** A size of a config.json; without a default it is required. */
export const size = (fields: Fields, name: string, limit: keyof typeof LIMITS, otherwise?: number): number =>
  fields.one<number>([name, "size", LIMITS[limit]], otherwise);
