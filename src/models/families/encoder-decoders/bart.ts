/**
 * BART (Lewis et al. 2019, arXiv 1910.13461) and the encoder–decoders with its names: mBART (arXiv 2001.08210), Marian (arXiv
 * 1804.00344), Pegasus (arXiv 1912.08777), M2M-100 and NLLB (arXiv 2207.04672). They differ in where the norms are, and in their
 * positions: learned, or computed.
 */
import { type Fields, requireValues } from "../../config/fields.ts";
import type { EncoderConfig, TensorNames } from "../../transformer/config.ts";
import { ALL_BIASES, flag, number } from "../recipe-family.ts";
import { encoderDecoderFamily, size } from "./family.ts";

/** What distinguishes a family from the others. */
interface Kind {
  /** Norms before each branch and after the last layer, or on the sum of a branch and the residual stream. */
  readonly norms: "before" | "sum";
  /** The embedding has a norm. */
  readonly embeddingNorm: boolean;
  readonly positions: "learned" | "halves" | "after-padding";
  /** The logits have a bias, stored as a row. */
  readonly headBias: boolean;
  /** Default of `scale_embedding`, and of the activation. */
  readonly scaled?: boolean;
  readonly activation?: string;
}

const KINDS: Readonly<Record<string, Kind>> = {
  bart: { norms: "sum", embeddingNorm: true, positions: "learned", headBias: true },
  mbart: { norms: "before", embeddingNorm: true, positions: "learned", headBias: true },
  marian: { norms: "sum", embeddingNorm: false, positions: "halves", headBias: true },
  pegasus: { norms: "before", embeddingNorm: false, positions: "halves", headBias: true },
  m2m_100: {
    norms: "before",
    embeddingNorm: false,
    positions: "after-padding",
    headBias: false,
    scaled: true,
    activation: "relu",
  },
};

function namesOf(
  part: "encoder" | "decoder",
  { norms, embeddingNorm, positions, headBias }: Kind,
): TensorNames {
  const place = (name: string) => (norms === "before" ? `${name}Norm` : `${name}SumNorm`);
  const prefix = `model.${part}`;
  return {
    embedding: "model.shared",
    ...(positions === "learned" && { positions: `${prefix}.embed_positions` }),
    ...(embeddingNorm && { embeddingNorm: `${prefix}.layernorm_embedding` }),
    layer: `${prefix}.layers.*.`,
    [place("attention")]: "self_attn_layer_norm",
    query: "self_attn.q_proj",
    key: "self_attn.k_proj",
    value: "self_attn.v_proj",
    output: "self_attn.out_proj",
    ...(part === "decoder" && {
      [place("cross")]: "encoder_attn_layer_norm",
      crossQuery: "encoder_attn.q_proj",
      crossKey: "encoder_attn.k_proj",
      crossValue: "encoder_attn.v_proj",
      crossOutput: "encoder_attn.out_proj",
    }),
    [place("feedForward")]: "final_layer_norm",
    up: "fc1",
    down: "fc2",
    ...(norms === "before" && { finalNorm: `${prefix}.layer_norm` }),
    head: "lm_head",
    ...(headBias && part === "decoder" && { headBias: "final_logits_bias" }),
  };
}

/** The positions of a part. */
function positionsOf({ positions }: Kind, C: number, count: number, pad: number): Partial<EncoderConfig> {
  if (positions === "learned") return { position_offset: 2, position_rows: count + 2 };
  if (positions === "halves") return { sinusoids: { first: 0, divisor: C / 2 } };
  return { sinusoids: { first: pad + 1, divisor: C / 2 - 1 } };
}

/** A family with learned positions, or one that computes them: files that have the numbers are checked (files/weights.ts). */
const familyWith = (positions: "learned" | "computed") =>
  encoderDecoderFamily({
    modelTypes: Object.keys(KINDS).filter(
      (type) => (KINDS[type].positions === "learned") === (positions === "learned"),
    ),
    files: {
      // A base model saved alone, and copies of the embedding.
      renames: [[/^(shared|encoder|decoder)\./, "model.$1."]],
      ignored:
        positions === "learned"
          ? /^model\.(encoder|decoder)\.embed_tokens\.weight$/
          : /^model\.(encoder|decoder)\.(embed_tokens\.weight|embed_positions\.weights?)$/,
    },
    read(fields, model_type) {
      const kind = KINDS[model_type];
      requireValues(fields, { share_encoder_decoder_embeddings: [true] });
      const C = size(fields, "d_model", "width");
      if (C % 2 !== 0) fields.refuse("d_model", "must be even");
      const V = size(fields, "vocab_size", "vocabulary");
      requireValues(fields, { decoder_vocab_size: [V, null] });
      const shared = { fields, kind, model_type, C, V };
      return { encoder: partOf("encoder", shared), decoder: partOf("decoder", shared) };
    },
  });

/** The family with learned positions. */
export const bart = familyWith("learned");

/** The family with computed positions. */
export const marian = familyWith("computed");

function partOf(
  part: "encoder" | "decoder",
  shared: { fields: Fields; kind: Kind; model_type: string; C: number; V: number },
): EncoderConfig {
  const { fields, kind, model_type, C, V } = shared;
  const heads = size(fields, `${part}_attention_heads`, "heads");
  if (C % heads !== 0) fields.refuse(`${part}_attention_heads`, "must divide d_model");
  const count = size(fields, "max_position_embeddings", "positions");
  const dropout = fields.one<number>(["dropout", "share"], 0.1);
  return {
    model_type,
    vocab_size: V,
    hidden_size: C,
    intermediate_size: size(fields, `${part}_ffn_dim`, "inner"),
    num_attention_heads: heads,
    num_key_value_heads: heads,
    head_dim: C / heads,
    max_position_embeddings: count,
    layers: Array.from({ length: size(fields, `${part}_layers`, "layers") }, () => ({})),
    names: namesOf(part, kind),
    norm: { kind: "layer", eps: 1e-5 },
    hidden_act: fields.one<string>(["activation_function", "text"], kind.activation ?? "gelu"),
    ...ALL_BIASES,
    ...(flag(fields, "scale_embedding", kind.scaled ?? false) && { embedding_scale: Math.sqrt(C) }),
    ...positionsOf(kind, C, count, fields.one<number>(["pad_token_id", "id"], 1)),
    ...(kind.headBias && part === "decoder" && { head_bias_row: true }),
    initializer_range: number(fields, "init_std", 0.02),
    embd_pdrop: dropout,
    attention_dropout: fields.one<number>(["attention_dropout", "share"], 0),
    resid_pdrop: dropout,
  };
}
