/**
 * The decoder of GPT-2 (Radford et al. 2019), Llama (Touvron et al. 2023, arXiv 2302.13971) and their relatives: one module,
 * configured by `DecoderConfig` (config.ts). A token attends to itself and to earlier tokens, or to those of a window, and
 * predicts the next token. Parameters have the names of Hugging Face's …ForCausalLM.
 *
 *     x = embedding[id]                                    + position (GPT-2), · √C (Gemma)
 *     x = layers(x)                                        transformer.ts
 *     logits = output·norm(x)                              · scale (Cohere), c·tanh(… / c) (Gemma 2)
 */
import {
  checkCount,
  formatValue,
  OptionError,
  refuseValue,
  ShapeError,
  UnsupportedError,
} from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { awaitSteps } from "../../core/synchronous.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  add,
  type FloatTensor,
  type Ids,
  reshape,
  type SequenceShard,
  scale,
  slice,
  tanh,
} from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { idsOf } from "../../nn/ops/lookup.ts";
import { checkShard } from "../../nn/sharded.ts";
import type { ModelConfig } from "../config/types.ts";
import { afterHook, attendOver, forKeys } from "../transformer/attend.ts";
import type { DecoderConfig } from "../transformer/config.ts";
import { checkTransformerConfig, sizesOf } from "../transformer/config.ts";
import { endShared, layerMemory } from "../transformer/memory.ts";
import type { CrossOptions, DecoderModel, DecoderOptions } from "../transformer/model.ts";
import { DECODER_OPTIONS } from "../transformer/model.ts";
import {
  type EmbeddingPart,
  type LayerCall,
  type LayerSteps,
  type ModelStart,
  Transformer,
} from "../transformer/transformer.ts";
import { KeyValueCache } from "./cache.ts";

/** Names of `CrossOptions`. */
const CROSS_OPTIONS: readonly (keyof CrossOptions)[] = [...DECODER_OPTIONS, "memory", "memoryMask"];

/**
 * A decoder that a recipe describes.
 *
 * @example
 * const { model } = await readModel("./SmolLM2-135M", { family: "decoder" }); // a Decoder
 */
export class Decoder<C extends ModelConfig["config"] = DecoderConfig>
  extends Transformer<DecoderConfig, DecoderOptions>
  implements DecoderModel
{
  readonly architecture = "decoder";
  /** The fields of config.json, or the recipe itself where the family has no class. */
  readonly config: C;
  readonly endIds: readonly number[];

  /** A model with the weights given, or with new ones from a seed: normal with the config's standard deviation. */
  constructor(recipe: DecoderConfig, options: ModelStart = {}, config?: C, label = recipe?.model_type) {
    checkCount("Decoder", arguments, 4);
    checkTransformerConfig(recipe);
    super(recipe, options, label);
    this.config = config ? { ...config } : (recipe as ModelConfig["config"] as C);
    this.endIds = recipe.eos_token_ids;
  }

  /** An empty cache for one sequence of up to `capacity` tokens; default the number of positions. */
  cache(capacity = this.sizes.positions): KeyValueCache {
    checkCount("Decoder.cache", arguments, 1);
    const { layers } = this.sizes;
    const sizes = this.recipe.layers.map((layer) => sizesOf(this.recipe, layer));
    const heads = sizes.map(({ num_key_value_heads, keys_of }) =>
      keys_of === undefined ? num_key_value_heads : 0,
    );
    const d = sizes.map(({ head_dim }) => head_dim);
    return new KeyValueCache({ layers, heads, d, capacity, dtype: this.dtype, device: this.weights.device });
  }

  /**
   * `forward` for this rank's tokens [B, n] of a sequence that ranks share: their logits [B, n, V]. Every rank calls it.
   *
   * @throws UnsupportedError for a model whose layers use positions in other ways than learned vectors, rotation, windows and biases
   * @beta
   */
  async forwardOver(shard: SequenceShard, ids: Ids): Promise<FloatTensor> {
    checkCount("Decoder.forwardOver", arguments, 2);
    checkShard("Decoder.forwardOver", shard);
    const { names, query_growth, sinusoids } = this.recipe;
    if (names.crossQuery !== undefined || query_growth || sinusoids)
      throw new UnsupportedError(
        "sharded",
        `${this.label}: ranks cannot share a sequence of this model: it has ${names.crossQuery ? "attention over an encoder" : query_growth ? "queries that grow with their position" : "computed positions"}`,
      );
    this.checkLength(shard.length);
    const states = await awaitSteps(this.steps(ids, {}, shard), attendOver(shard), (part) => shard.run(part));
    return shard.run(() => this.logits(states));
  }

  /** @internal */
  *steps(ids: Ids, options: DecoderOptions, shard?: SequenceShard): LayerSteps {
    const crosses = this.recipe.names.crossQuery !== undefined;
    checkOptionNames(this.label, options, crosses ? CROSS_OPTIONS : DECODER_OPTIONS);
    const { cache, onAttention, onFeedForward, onHidden, keyMask } = options;
    const { names, embd_pdrop = 0 } = this.recipe;
    const start = cache?.length ?? 0;
    let x = this.#embedded(ids, options, shard?.positions)
      .map(({ rows }) => rows)
      .reduce((sum, rows) => add(sum, rows)); // [..., N, C]
    const N = x.shape[x.shape.length - 2];
    const encoded = crosses ? this.#encoded(options, x.shape) : {};
    if (cache && this.#turnsAnew(start, N)) {
      const all = [...cache.restart(), ...idsOf(this.label, ids).list];
      return slice(yield* this.steps(Int32Array.from(all), options), 0, all.length - N, all.length);
    }
    const attnMask = keyMask && forKeys(this.label, keyMask, x.shape.slice(0, -1), x);
    const shift = keyMask && paddingBefore(keyMask);
    const layerInputs = this.#layerInputs(ids, x);
    const reuse = shard ? (states: FloatTensor) => states : layerMemory(options);
    x = this.addSinusoids(x, start);
    if (names.embeddingNorm) x = this.norm(names.embeddingNorm, x);
    const sharedKeys: LayerCall["sharedKeys"] = new Map();
    x = reuse(layerDropout(x, embd_pdrop));
    x = afterHook("onHidden", onHidden, 0, x);
    for (let layer = 0; layer < this.sizes.layers; layer++) {
      const shared = { reuse, shard, cache, attnMask, shift, layerInputs, sharedKeys };
      const call = { start, ...shared, onAttention, onFeedForward, ...encoded };
      x = reuse(yield* this.layer(layer, x, call));
      x = afterHook("onHidden", onHidden, layer + 1, x);
    }
    endShared(options, sharedKeys.values());
    cache?.advance(idsOf(this.label, ids).list);
    return this.finalStates(x);
  }

  /**
   * True where N tokens after `start` cached ones change the angles of those: LongRoPE has other factors for texts longer than its
   * original positions. The cached keys were turned by the short ones, so they are computed again.
   */
  #turnsAnew(start: number, N: number): boolean {
    return this.recipe.layers.some(({ rotary }) => {
      if (start === 0 || rotary?.scaling.rope_type !== "longrope") return false;
      const { original_max_position_embeddings: original } = rotary.scaling;
      return start <= original && start + N > original;
    });
  }

  /** The states of an encoder, checked: [..., S, C] with the batch of x. */
  #encoded({ memory, memoryMask }: CrossOptions, shape: readonly number[]) {
    const batch = shape.slice(0, -2);
    const C = this.sizes.width;
    const got = memory?.shape ?? [];
    const fits = got.length === shape.length && got.slice(0, -2).join() === batch.join();
    if (!(memory instanceof Tensor && fits && got[got.length - 1] === C && memory.dtype === this.dtype))
      throw new ShapeError(
        "memory",
        `${this.label}: memory must be the states of the encoder, [${[...batch, "S", C].join(", ")}] ${this.dtype}, as encode(ids) returns them, got ${memory === undefined ? "none" : formatValue(memory.shape)}`,
      );
    return { memory, memoryMask: memoryMask && forKeys(this.label, memoryMask, got.slice(0, -1), memory) };
  }

  /** The rows of the words, times the recipe's factor, then of the positions where the model learned them, [..., N, C]. */
  embeddingParts(ids: Ids, options: DecoderOptions = {}): EmbeddingPart[] {
    checkCount("Decoder.embeddingParts", arguments, 2);
    checkOptionNames(this.label, options, CROSS_OPTIONS);
    return this.#embedded(ids, options);
  }

  #embedded(ids: Ids, { cache, keyMask }: DecoderOptions, at?: ArrayLike<number>): EmbeddingPart[] {
    const { names, embedding_scale = 1, position_offset = 0 } = this.recipe;
    if (cache !== undefined && !(cache instanceof KeyValueCache))
      refuseValue(this.label, "cache", "what cache() returns", cache);
    let words = this.weights.lookup(ids, `${names.embedding}.weight`);
    const lead = words.shape.slice(0, -1);
    const N = lead[lead.length - 1];
    const start = cache?.length ?? 0;
    this.checkLength(start + N);
    if (cache !== undefined && lead.length !== 1)
      throw new ShapeError(
        "ids",
        `${this.label}: with a cache ids must be one sequence [N], got ${formatValue(lead)}`,
      );
    if (cache !== undefined && keyMask !== undefined)
      throw new OptionError(
        "keyMask",
        `${this.label}: keyMask is for a batch of texts, cache for one text; give one of them`,
      );
    if (keyMask !== undefined) forKeys(this.label, keyMask, lead, words);
    const shift = keyMask && paddingBefore(keyMask);
    if (embedding_scale !== 1) words = scale(words, embedding_scale);
    const parts: EmbeddingPart[] = [{ kind: "word", rows: words }];
    if (names.positions) {
      const positions = (first: number) =>
        Array.from({ length: N }, (_, i) => position_offset + (at?.[i] ?? Math.max(0, start + i - first)));
      const list = shift
        ? new Tensor(Int32Array.from(shift.flatMap(positions)), lead, "int32")
        : Int32Array.from(positions(0));
      parts.push({ kind: "position", rows: this.weights.lookup(list, `${names.positions}.weight`) });
    }
    return parts;
  }

  /**
   * What layers read of the second embedding, [..., N, layers, D]: (norm(map·x / √C) + √D · its rows) / √2, for x [..., N, C];
   * undefined where the model has none.
   */
  #layerInputs(ids: Ids, x: FloatTensor): FloatTensor | undefined {
    const { names, layer_input_size: D = 0, hidden_size: C } = this.recipe;
    if (D === 0) return undefined;
    const shape = [...x.shape.slice(0, -1), this.sizes.layers, D];
    const mapped = reshape(scale(this.linear(names.layerEmbeddingMap as string, x), 1 / Math.sqrt(C)), shape);
    const rows = reshape(this.weights.lookup(ids, `${names.layerEmbedding}.weight`), shape);
    const sum = add(this.norm(names.layerEmbeddingNorm as string, mapped), scale(rows, Math.sqrt(D)));
    return scale(sum, Math.SQRT1_2);
  }

  /** Logits of states [..., C]. Throws an UnsupportedError where the checkpoint has no output matrix. */
  override logits(hidden: FloatTensor): FloatTensor {
    checkCount("Decoder.logits", arguments, 1);
    const { final_logit_softcapping: cap, logit_scale = 1 } = this.recipe;
    let logits = super.logits(hidden);
    if (logit_scale !== 1) logits = scale(logits, logit_scale);
    return cap === undefined ? logits : scale(tanh(scale(logits, 1 / cap)), cap);
  }
}

/** Tokens of padding before the first real token of each text. */
function paddingBefore(keyMask: Tensor): number[] {
  const N = keyMask.shape[keyMask.shape.length - 1];
  const flags = keyMask.toFloat64();
  return Array.from({ length: N === 0 ? 0 : flags.length / N }, (_, row) =>
    Math.max(0, flags.subarray(row * N, (row + 1) * N).indexOf(1)),
  );
}
