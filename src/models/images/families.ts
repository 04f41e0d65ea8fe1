/** The table of models of pictures: their fields in config.json and the names of their tensors. */
import { type Fields, requireValues } from "../config/fields.ts";
import { LIMITS } from "../config/schema.ts";
import { DROPOUT } from "../families/encoders/bert-fields.ts";
import type { FileNames } from "../families/family.ts";
import type { RecipeFamily, Sizes } from "../families/recipe-family.ts";
import { ALL_BIASES, flag, layerNorm, number, readRecipe } from "../families/recipe-family.ts";
import type { TensorNames } from "../transformer/config.ts";
import type { ImageConfig, ImageEncoderConfig, ImageTokens } from "./config.ts";

/** A family of models of pictures. */
interface ImageFamily extends Omit<RecipeFamily, "read" | "layers"> {
  /** Fields of the recipe, with those of the picture. */
  read(fields: Fields, sizes: Sizes): Partial<ImageEncoderConfig> & Pick<ImageEncoderConfig, "image">;
  /** The field of a config.json of several parts that has this one. */
  readonly part?: string;
}

const BASE = {
  vocab_size: 1,
  max_position_embeddings: 1,
  hidden_size: 768,
  num_hidden_layers: 12,
  num_attention_heads: 12,
};

/** One or two sizes in pixels: `[height, width]`. */
function pair(fields: Fields, name: string, otherwise: number): readonly [number, number] {
  const rule = ["size", LIMITS.width] as const;
  if (!Array.isArray(fields.value(name))) {
    const size = fields.one<number>([name, ...rule], otherwise);
    return [size, size];
  }
  const sizes = fields.list<number>(name, ["", ...rule], 2) as number[];
  return sizes.length === 2 ? [sizes[0], sizes[1]] : fields.refuse(name, "must be one number or two");
}

/** The picture: patches of `patch` pixels, in a picture of `image` pixels where config.json does not say. */
function imageOf(
  fields: Fields,
  defaults: { readonly image?: number; readonly patch: number },
  tokens: readonly ImageTokens[],
  more: (patches: number) => Partial<ImageConfig>,
): { readonly image: ImageConfig; readonly max_position_embeddings: number } {
  const size = pair(fields, "image_size", defaults.image ?? 224);
  const patch = pair(fields, "patch_size", defaults.patch);
  const grid = [Math.floor(size[0] / patch[0]), Math.floor(size[1] / patch[1])] as const;
  if (grid[0] < 1 || grid[1] < 1) fields.refuse("patch_size", "must be at most image_size");
  const patches = grid[0] * grid[1];
  const channels = fields.one<number>(["num_channels", "size", 3], 3);
  if (channels !== 3) fields.refuse("num_channels", "must be 3");
  return {
    image: { grid, patch, channels, patch_bias: true, tokens, ...more(patches) },
    max_position_embeddings: patches + tokens.reduce((sum, { labels }) => sum + labels.length, 0),
  };
}

/** Learned tokens, one a label, of the tensor `name`; `placed`: they have positions. */
const learned = (name: string, C: number, labels: readonly string[], placed: boolean): ImageTokens => ({
  name,
  shape: [1, labels.length, C],
  labels,
  placed,
});
const registers = (count: number) => Array.from({ length: count }, (_, n) => `[REG${n + 1}]`);
const heads: FileNames = {
  otherHeads: /(?:^|\.)(?:(?:cls_|distillation_)?classifier|decoder)\./,
  ignored: /\.mask_token$/,
};

/** Names of ViT's tensors, whose layers many relatives have. */
const vitNames = (prefix: string): TensorNames => ({
  embedding: `${prefix}.embeddings.patch_embeddings.projection`,
  layer: `${prefix}.encoder.layer.*.`,
  attentionNorm: "layernorm_before",
  query: "attention.attention.query",
  key: "attention.attention.key",
  value: "attention.attention.value",
  output: "attention.output.dense",
  feedForwardNorm: "layernorm_after",
  up: "intermediate.dense",
  down: "output.dense",
  finalNorm: `${prefix}.layernorm`,
  head: "classifier",
});

/** ViT (arXiv 2010.11929), and DeiT (arXiv 2012.12877) with its second learned token. */
const vit = (prefix: "vit" | "deit"): ImageFamily => ({
  modelTypes: [prefix],
  names: vitNames(prefix),
  files: heads,
  fields: DROPOUT,
  sizes: { ...BASE, intermediate_size: 3072 },
  activation: "gelu",
  read(fields, { hidden_size: C }) {
    const token = (name: string, label: string) => learned(`${prefix}.embeddings.${name}`, C, [label], true);
    const tokens = [
      token("cls_token", "[CLS]"),
      ...(prefix === "deit" ? [token("distillation_token", "[DISTILL]")] : []),
    ];
    return {
      norm: layerNorm(fields, "layer_norm_eps", {}, 1e-12),
      ...ALL_BIASES,
      qkv_bias: flag(fields, "qkv_bias", true),
      ...imageOf(fields, { patch: 16 }, tokens, (patches) => ({
        positions: {
          name: `${prefix}.embeddings.position_embeddings`,
          shape: [1, patches + tokens.length, C],
          resampling: "sharp",
        },
      })),
    };
  },
});

/** DINOv2 (arXiv 2304.07193) with its registers (arXiv 2309.16588): ViT with factors on the branches, and a gated network in the largest. */
const dinov2 = (prefix: "dinov2" | "dinov2_with_registers"): ImageFamily => {
  const NAMES = {
    ...vitNames(prefix),
    attentionNorm: "norm1",
    attentionScale: "layer_scale1.lambda1",
    feedForwardNorm: "norm2",
    up: "mlp.fc1",
    down: "mlp.fc2",
    feedForwardScale: "layer_scale2.lambda1",
  };
  return {
    modelTypes: [prefix],
    names: NAMES,
    files: heads,
    fields: DROPOUT,
    sizes: { ...BASE, intermediate_size: 1 },
    activation: "gelu",
    read(fields, { hidden_size: C }) {
      requireValues(fields, { apply_layernorm: [true] });
      const inner = Math.trunc(C * number(fields, "mlp_ratio", 4));
      const gated = flag(fields, "use_swiglu_ffn", false);
      const count = prefix === "dinov2" ? 0 : fields.one<number>(["num_register_tokens", "size", 1024], 4);
      const at = `${prefix}.embeddings.`;
      const cls = learned(`${at}cls_token`, C, ["[CLS]"], true);
      const register = learned(`${at}register_tokens`, C, registers(count), false);
      return {
        norm: layerNorm(fields, "layer_norm_eps", {}, 1e-6),
        ...ALL_BIASES,
        qkv_bias: flag(fields, "qkv_bias", true),
        // The gated network has two thirds of the width, rounded up to a multiple of 8.
        intermediate_size: gated ? Math.ceil(Math.trunc((inner * 2) / 3) / 8) * 8 : inner,
        ...(gated && {
          names: { ...NAMES, up: undefined, gateUp: "mlp.weights_in", down: "mlp.weights_out" },
          hidden_act: "silu",
        }),
        ...imageOf(fields, { patch: 14 }, count === 0 ? [cls] : [cls, register], (patches) => ({
          positions: {
            name: `${at}position_embeddings`,
            shape: [1, patches + 1, C],
            resampling: count === 0 ? "sharp" : "smooth",
          },
        })),
      };
    },
  };
};

/** DINOv3 (arXiv 2508.10104): no table of positions; queries and keys turn with the row and the column of their patch. */
const dinov3: ImageFamily = (() => {
  const prefix = "dinov3_vit";
  const NAMES: TensorNames = {
    embedding: `${prefix}.embeddings.patch_embeddings`,
    layer: `${prefix}.layer.*.`,
    attentionNorm: "norm1",
    query: "attention.q_proj",
    key: "attention.k_proj",
    value: "attention.v_proj",
    output: "attention.o_proj",
    attentionScale: "layer_scale1.lambda1",
    feedForwardNorm: "norm2",
    up: "mlp.up_proj",
    down: "mlp.down_proj",
    feedForwardScale: "layer_scale2.lambda1",
    finalNorm: `${prefix}.norm`,
    head: "classifier",
  };
  return {
    modelTypes: [prefix],
    names: NAMES,
    files: heads,
    sizes: { ...BASE, hidden_size: 384, num_attention_heads: 6, intermediate_size: 1536 },
    activation: "gelu",
    read(fields, { hidden_size: C, head_dim: d }) {
      const bias = flag(fields, "query_bias", true);
      requireValues(fields, { value_bias: [bias], apply_layernorm: [true] });
      if (d % 4 !== 0)
        fields.refuse("num_attention_heads", `gives heads of ${d} numbers, which must be a multiple of 4`);
      const count =
        fields.value("num_register_tokens") === 0
          ? 0
          : fields.one<number>(["num_register_tokens", "size", 1024], 0);
      const cls = learned(`${prefix}.embeddings.cls_token`, C, ["[CLS]"], false);
      const register = learned(`${prefix}.embeddings.register_tokens`, C, registers(count), false);
      return {
        norm: layerNorm(fields, "layer_norm_eps"),
        qkv_bias: bias,
        key_bias: flag(fields, "key_bias", false),
        output_bias: flag(fields, "proj_bias", true),
        mlp_bias: flag(fields, "mlp_bias", true),
        ...(flag(fields, "use_gated_mlp", false) && { names: { ...NAMES, gate: "mlp.gate_proj" } }),
        ...imageOf(fields, { patch: 16 }, [cls, register], () => ({
          rotary_base: number(fields, "rope_theta", 100),
        })),
      };
    },
  };
})();

/** The towers of CLIP (arXiv 2103.00020) and SigLIP (arXiv 2303.15343) for pictures. SigLIP has no learned token. */
const tower = (kind: "clip" | "siglip"): ImageFamily => ({
  modelTypes: [kind, `${kind}_vision_model`],
  part: "vision_config",
  names: {
    embedding: "vision_model.embeddings.patch_embedding",
    ...(kind === "clip" && { embeddingNorm: "vision_model.pre_layrnorm" }),
    ...clipLayers("vision_model"),
    // CLIP's last norm is for the pooled state only.
    ...(kind === "siglip" && { finalNorm: "vision_model.post_layernorm" }),
  },
  files: {
    ignored: kind === "clip"
      ? /^(?:text_model\.|text_projection|visual_projection|logit_scale|(?:vision_model\.)?post_layernorm\.)/
      : /^(?:text_model\.|logit_|vision_model\.head\.|head\.)/,
    otherHeads: /^classifier\./,
  }, // biome-ignore format: two patterns
  sizes: { ...BASE, intermediate_size: 3072 },
  activation: kind === "clip" ? "quick_gelu" : "gelu_pytorch_tanh",
  read(fields, { hidden_size: C }) {
    const at = "vision_model.embeddings.";
    const tokens =
      kind === "clip" ? [{ name: `${at}class_embedding`, shape: [C], labels: ["[CLS]"], placed: true }] : [];
    return {
      norm: layerNorm(fields, "layer_norm_eps", {}, kind === "clip" ? 1e-5 : 1e-6),
      ...ALL_BIASES,
      ...imageOf(fields, { patch: kind === "clip" ? 32 : 16 }, tokens, (patches) => ({
        patch_bias: kind === "siglip",
        positions: {
          name: `${at}position_embedding.weight`,
          shape: [patches + tokens.length, C],
          resampling: "sharp",
        },
      })),
    };
  },
});

/** Names of CLIP's layers, in both towers. */
export function clipLayers(prefix: string) {
  return {
    layer: `${prefix}.encoder.layers.*.`,
    attentionNorm: "layer_norm1",
    query: "self_attn.q_proj",
    key: "self_attn.k_proj",
    value: "self_attn.v_proj",
    output: "self_attn.out_proj",
    feedForwardNorm: "layer_norm2",
    up: "mlp.fc1",
    down: "mlp.fc2",
    head: "classifier",
  } satisfies Partial<TensorNames>;
}

/** All families of models of pictures. */
const IMAGE_FAMILIES: readonly ImageFamily[] = [
  vit("vit"), vit("deit"), dinov2("dinov2"), dinov2("dinov2_with_registers"), dinov3, tower("clip"), tower("siglip"),
]; // biome-ignore format: one list

/** Every `model_type` of a model of pictures that heed reads. */
export const IMAGE_MODEL_TYPES: readonly string[] = IMAGE_FAMILIES.flatMap(({ modelTypes }) => modelTypes);

/** The recipe of a model of pictures from the fields of its config.json; undefined for another model. */
export function imageRecipe(
  fields: Fields,
): { readonly recipe: ImageEncoderConfig; readonly files: FileNames } | undefined {
  const type = fields.value("model_type");
  const family = IMAGE_FAMILIES.find(({ modelTypes }) => modelTypes.includes(type as string));
  if (family === undefined) return undefined;
  const part = (family.part === undefined ? undefined : fields.object(family.part)) ?? fields;
  const read = (fields: Fields, sizes: Sizes) => ({
    tie_word_embeddings: false,
    ...family.read(fields, sizes),
  });
  const recipe = readRecipe(
    { ...family, read: read as RecipeFamily["read"], layers: null },
    part,
    type as string,
  );
  return { recipe: recipe as ImageEncoderConfig, files: family.files ?? {} };
}
