/**
 * Gemma (arXiv 2403.08295): Llama whose norms multiply by 1 + w, and whose embedding is multiplied by √C. Gemma 2 (arXiv 2408.00118)
 * and 3 (arXiv 2503.19786) have norms before and after each branch, and a window in most layers. Gemma 2 has soft caps, Gemma 3
 * norms of q and k and two bases of angles.
 */
import type { Fields } from "../../config/fields.ts";
import type { DecoderConfig } from "../../transformer/config.ts";
import type { Family } from "../family.ts";
import type { Sizes } from "../recipe-family.ts";
import { attentionBiases, decoderFamily, LLAMA_NAMES, number, positive, QK_NORMS } from "../recipe-family.ts";

/** Names of Gemma 2 and later. */
export const GEMMA_NAMES = {
  ...LLAMA_NAMES,
  attentionOutputNorm: "post_attention_layernorm",
  feedForwardNorm: "pre_feedforward_layernorm",
  feedForwardOutputNorm: "post_feedforward_layernorm",
};

/** Fields of every version. */
export function readGemma(fields: Fields, { hidden_size }: Sizes) {
  const attentionCap = positive(fields, "attn_logit_softcapping");
  const logitCap = positive(fields, "final_logit_softcapping");
  return {
    norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-6), weight: "offset" },
    hidden_act:
      fields.optional<string>(["hidden_activation", "text"]) ??
      fields.one<string>(["hidden_act", "text"], "gelu_pytorch_tanh"),
    embedding_scale: Math.sqrt(hidden_size),
    query_scale: 1 / Math.sqrt(positive(fields, "query_pre_attn_scalar") ?? 256),
    ...(attentionCap !== undefined && { attn_logit_softcapping: attentionCap }),
    ...(logitCap !== undefined && { final_logit_softcapping: logitCap }),
    ...attentionBiases(fields),
  } as const;
}

export const gemma = decoderFamily({
  modelTypes: ["gemma"],
  names: LLAMA_NAMES,
  read(fields, sizes) {
    const { query_scale, hidden_act, ...config } = readGemma(fields, sizes);
    // Its first files say gelu and mean the approximation by tanh.
    return { ...config, hidden_act: hidden_act === "gelu" ? "gelu_pytorch_tanh" : hidden_act };
  },
});

/** One layer in `period` has no window. */
function sliding(fields: Fields, period: number) {
  const pattern = fields.one<number>(["sliding_window_pattern", "size", 1024], period);
  return { window: 4096, slides: (layer: number) => (layer + 1) % pattern !== 0 };
}

export const gemma2 = decoderFamily({
  modelTypes: ["gemma2"],
  names: GEMMA_NAMES,
  read: readGemma,
  layers: (fields) => sliding(fields, 2),
});

const text = decoderFamily({
  modelTypes: ["gemma3_text"],
  names: { ...GEMMA_NAMES, ...QK_NORMS },
  // Gemma 3 next to its image encoder, in two spellings.
  files: {
    renames: [
      [/^(language_model\.model|model\.language_model)\./, "model."],
      [/^language_model\.lm_head\./, "lm_head."],
    ],
    otherHeads: /^(model\.)?(vision_tower|multi_modal_projector)\./,
  },
  // Sizes that published files leave out.
  sizes: {
    vocab_size: 262_208,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    max_position_embeddings: 131_072,
  },
  read: readGemma,
  layers: (fields) => ({
    ...sliding(fields, 6),
    theta: 1e6,
    localAngles: { field: "rope_local_base_freq", theta: 10_000 },
  }),
});

/** `modelType` is the text part inside a file that also describes encoders of other inputs. */
export const withParts = (text: Family<DecoderConfig>, modelType: string): Family<DecoderConfig> => ({
  ...text,
  modelTypes: [...text.modelTypes, modelType],
  read: (fields, type) =>
    text.read(
      type === modelType
        ? (fields.object("text_config") ?? fields.refuse("text_config", "is missing"))
        : fields,
      text.modelTypes[0],
    ),
});

export const gemma3 = withParts(text, "gemma3");
