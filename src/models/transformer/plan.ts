/** Every parameter of a recipe with its shape and initialization, in the order in which new weights are drawn. */
import type { ImageConfig } from "../images/config.ts";
import { sizesOf, type TransformerConfig } from "./config.ts";
import type { ParameterPlan, Planned } from "./parameters.ts";

/** Fields of encoders and of encoder–decoders that add parameters. */
interface OtherSizes {
  /** The picture of a model that reads one, in place of the table of words. */
  readonly image?: ImageConfig;
  readonly embedding_size?: number;
  readonly type_vocab_size?: number;
  /** The encoder before a decoder. */
  readonly encoder?: TransformerConfig & Omit<OtherSizes, "encoder">;
}

/** The parameters of a model; `hasHead` includes the head that predicts tokens, `hasSpanHead` that for spans of answers. */
export function planOf(
  config: TransformerConfig & OtherSizes,
  hasHead = true,
  hasSpanHead = false,
): ParameterPlan {
  const { names, norm: kind, vocab_size: V, hidden_size: C, initializer_range: std, transposed } = config;
  const { num_attention_heads: H, layer_input_size: D = 0 } = config;
  const { embedding_size: E = C, pad_token_id: pad, position_rows = config.max_position_embeddings } = config;
  const plan = new Map<string, Planned>(config.encoder && planOf(config.encoder, false));
  const table = (name: string | undefined, rows: number, width: number, zeroRow?: number) => {
    if (name === undefined) return;
    plan.set(`${name}.weight`, {
      shape: [rows, width],
      start: std,
      ...(zeroRow !== undefined && { zeroRow }),
    });
  };
  const linear = (name: string | undefined, out: number, width: number, bias: boolean, range = std) => {
    if (name === undefined) return;
    plan.set(
      `${name}.weight`,
      transposed
        ? { shape: [width, out], start: range, map: "in-out" }
        : { shape: [out, width], start: range, map: "out-in" },
    );
    if (bias) plan.set(`${name}.bias`, { shape: [out], start: "zeros" });
  };
  const norm = (name: string | undefined, shape: readonly number[] = [C]) => {
    if (name === undefined || kind.weight === "none") return;
    plan.set(`${name}.weight`, { shape, start: kind.weight === "offset" ? "zeros" : "ones" });
    const hasBias = kind.kind === "layer" && kind.bias !== false && shape.length === 1;
    if (hasBias) plan.set(`${name}.bias`, { shape, start: "zeros" });
  };

  const afterPadding = config.position_rows !== undefined && config.position_offset === undefined;
  if (config.image) {
    const { patch, channels, patch_bias, tokens, positions } = config.image;
    plan.set(`${names.embedding}.weight`, { shape: [C, channels, ...patch], start: std });
    if (patch_bias) plan.set(`${names.embedding}.bias`, { shape: [C], start: "zeros" });
    for (const { name, shape } of [...tokens, ...(positions ? [positions] : [])])
      plan.set(name, { shape, start: std });
  } else table(names.embedding, V, E, pad);
  table(names.positions, position_rows, E, afterPadding ? pad : undefined);
  table(names.types, config.type_vocab_size ?? 1, E);
  norm(names.embeddingNorm, [E]);
  linear(names.embeddingMap, C, E, true);
  table(names.relative, config.relative_buckets ?? 32, H);
  table(names.relativePositions, 2 * (config.relative_positions?.span ?? 0), C);
  norm(names.relativeNorm);
  if (D > 0) {
    table(names.layerEmbedding, V, config.layers.length * D);
    linear(names.layerEmbeddingMap, config.layers.length * D, C, false);
    norm(names.layerEmbeddingNorm, [D]);
  }

  const { qkv_bias, output_bias, mlp_bias, residual_range, qk_norm } = config;
  config.layers.forEach((layer, n) => {
    const at = names.layer.replace("*", String(n));
    const part = (name: string | undefined) => name && at + name;
    const { head_dim: d, num_key_value_heads: Hkv, intermediate_size: inner } = sizesOf(config, layer);
    const hasKeys = layer.keys_of === undefined;
    if (layer.attention_norm !== false) norm(part(names.attentionNorm));
    linear(part(names.qkv), (H + 2 * Hkv) * d, C, qkv_bias);
    linear(part(names.query), H * d, C, qkv_bias);
    if (hasKeys) linear(part(names.key), Hkv * d, C, config.key_bias ?? qkv_bias);
    if (hasKeys && !layer.values_are_keys) linear(part(names.value), Hkv * d, C, qkv_bias);
    for (const name of [names.globalQuery, names.globalKey, names.globalValue])
      linear(part(name), H * d, C, qkv_bias);
    linear(part(names.positionKey), H * d, C, true);
    linear(part(names.positionQuery), H * d, C, true);
    linear(part(names.output), C, H * d, output_bias, residual_range);
    const spans = (heads: number) =>
      qk_norm === "all" ? [heads * d] : qk_norm === "heads" ? [heads, d] : [d];
    norm(part(names.queryNorm), spans(H));
    if (hasKeys) norm(part(names.keyNorm), spans(Hkv));
    for (const name of [names.attentionScale, names.feedForwardScale])
      if (name) plan.set(at + name, { shape: [C], start: "ones" });
    norm(part(names.attentionOutputNorm));
    norm(part(names.attentionSumNorm));
    norm(part(names.crossNorm));
    for (const name of [names.crossQuery, names.crossKey, names.crossValue])
      linear(part(name), H * d, C, qkv_bias);
    linear(part(names.crossOutput), C, H * d, output_bias, residual_range);
    norm(part(names.crossSumNorm));
    norm(part(names.feedForwardNorm));
    linear(part(names.gateUp), 2 * inner, C, mlp_bias);
    linear(part(names.gate), inner, C, mlp_bias);
    linear(part(names.up), inner, C, mlp_bias);
    linear(part(names.down), C, inner, mlp_bias, residual_range);
    if (names.activationFactors)
      for (const factor of ["alpha_p", "alpha_n"])
        plan.set(`${at}${names.activationFactors}.${factor}`, { shape: [1], start: "zeros" });
    norm(part(names.feedForwardOutputNorm));
    norm(part(names.feedForwardSumNorm));
    if (D > 0) {
      linear(part(names.layerInputGate), D, C, false);
      linear(part(names.layerInputOutput), C, D, false);
      norm(part(names.layerInputNorm));
    }
    if (names.layerScale) plan.set(at + names.layerScale, { shape: [1], start: "ones" });
  });
  norm(names.finalNorm);
  if (hasSpanHead) {
    linear(names.spanMap, C, C, config.head_map_bias !== false);
    norm(names.spanNorm);
    linear(names.span, 2, C, true);
  }

  if (!hasHead) return plan;
  if (names.headMap) {
    plan.set(`${names.headMap}.weight`, { shape: [E, C], start: std, map: "out-in" });
    if (config.head_map_bias !== false) plan.set(`${names.headMap}.bias`, { shape: [E], start: "zeros" });
  }
  norm(names.headNorm, [E]);
  if (names.headBias)
    plan.set(names.headBias, { shape: config.head_bias_row ? [1, V] : [V], start: "zeros" });
  if (config.tie_word_embeddings === false) table(names.head, V, E);
  return plan;
}
