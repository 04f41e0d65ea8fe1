/**
 * The two blocks that transformers are stacks of, under the names of PyTorch's TransformerEncoderLayer and
 * TransformerDecoderLayer. With f one of its parts (attention, then the hidden layer):
 *
 *   post-norm  x ← norm(x + f(x))        the paper, BERT
 *   pre-norm   x ← x + f(norm(x))        GPT-2 and most since: `normFirst: true`
 */
import { OptionError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkSizes, generatorOf, type LayerOptions } from "./initialize.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import {
  type AttendOptions,
  type AttendResult,
  MultiHeadAttention,
  type MultiHeadOptions,
} from "./multi-head.ts";
import { LayerNorm } from "./norm.ts";
import { type ActivationName, activate, checkActivation } from "./ops/activations.ts";
import { add } from "./ops/arithmetic.ts";
import { checkDropout, layerDropout } from "./ops/dropout.ts";
import { type FloatTensor, operand } from "./ops/operand.ts";

/** How a block is built; all optional. */
export interface BlockOptions extends LayerOptions, Pick<MultiHeadOptions, "numKvHeads" | "rope"> {
  /** Biases of all linear maps and norms. Default true. */
  bias?: boolean;
  /** Size of the hidden layer. Default 4·embedDim. */
  feedForward?: number;
  /** Default "gelu". */
  activation?: ActivationName;
  /** Pre-norm. Default false: post-norm. */
  normFirst?: boolean;
  /** Of the layer norms. Default 1e-5. */
  layerNormEps?: number;
  /** Share dropped inside `withDropout`: of attention's weights, of the hidden layer, and before each sum. Default 0. */
  dropoutP?: number;
}

/** Names of `BlockOptions` beside those of every layer. */
const BLOCK_OPTIONS: readonly Exclude<keyof BlockOptions, keyof LayerOptions>[] = [
  "numKvHeads", "rope", "bias", "feedForward", "activation", "normFirst", "layerNormEps", "dropoutP",
]; // biome-ignore format: one list

/** What a block gives back. */
export interface BlockResult {
  /** [..., N, embedDim] */
  readonly output: FloatTensor;
  /** Its self-attention. */
  readonly attention: AttendResult;
  /** Its attention over the memory, where it has one. */
  readonly crossAttention?: AttendResult;
}

/** What both blocks share: self-attention, a hidden layer, and the sums and norms around them. */
abstract class Block extends Module {
  readonly self_attn: MultiHeadAttention;
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly activation: ActivationName;
  readonly normFirst: boolean;
  readonly dropoutP: number;

  constructor(
    what: string,
    embedDim: number,
    numHeads: number,
    options: BlockOptions,
    own: readonly string[] = [],
  ) {
    super();
    checkOptionNames(what, options, [...BLOCK_OPTIONS, "dtype", "seed", ...own]);
    const { feedForward = 4 * embedDim, activation = "gelu", normFirst = false, dropoutP = 0 } = options;
    const { dtype, bias } = options;
    checkSizes(what, { embedDim, numHeads, feedForward });
    checkActivation(what, activation);
    checkDropout(what, dropoutP);
    const seed = generatorOf(options.seed);
    const { numKvHeads, rope, layerNormEps: eps } = options;
    this.self_attn = new MultiHeadAttention(embedDim, numHeads, {
      numKvHeads,
      rope,
      bias,
      dropoutP,
      dtype,
      seed,
    });
    this.linear1 = new Linear(embedDim, feedForward, { bias, dtype, seed });
    this.linear2 = new Linear(feedForward, embedDim, { bias, dtype, seed });
    this.norm1 = new LayerNorm(embedDim, { eps, bias, dtype });
    this.norm2 = new LayerNorm(embedDim, { eps, bias, dtype });
    this.activation = activation;
    this.normFirst = normFirst;
    this.dropoutP = dropoutP;
  }

  /** x with what `f` makes of it, normed before or after. */
  protected around(x: FloatTensor, norm: LayerNorm, f: (x: FloatTensor) => FloatTensor): FloatTensor {
    const change = layerDropout(f(this.normFirst ? norm.forward(x) : x), this.dropoutP);
    return this.normFirst ? add(x, change) : norm.forward(add(x, change));
  }

  /** The feed-forward part of the block: x `[..., C]` to `[..., C]`. */
  protected hidden(x: FloatTensor): FloatTensor {
    const inner = activate(this.linear1.forward(x), this.activation);
    return this.linear2.forward(layerDropout(inner, this.dropoutP));
  }
}

/**
 * Self-attention over all positions, then a hidden layer.
 *
 * @example
 * new EncoderBlock(8, 2, { seed: 1 }).forward(x).output.shape; // → [2, 3, 8]
 */
export class EncoderBlock extends Block {
  constructor(embedDim: number, numHeads: number, options: BlockOptions = {}) {
    super("EncoderBlock", embedDim, numHeads, options);
  }

  /** x [..., N, embedDim]; options as `MultiHeadAttention.forward` takes them. */
  forward(x: TensorLike, options: AttendOptions = {}): BlockResult {
    let attention!: AttendResult;
    const y = this.around(operand("EncoderBlock", "x", x), this.norm1, (z) => {
      attention = this.self_attn.forward(z, z, z, options);
      return attention.output;
    });
    return { output: this.around(y, this.norm2, (z) => this.hidden(z)), attention };
  }
}

/**
 * Causal self-attention, attention over a memory where it is built with one, then a hidden layer.
 *
 * @example
 * const block = new DecoderBlock(8, 2, { seed: 1 });
 * block.forward(x).output.shape; // → [2, 3, 8]
 */
export class DecoderBlock extends Block {
  /** Over the memory; only with `crossAttention`. */
  readonly multihead_attn?: MultiHeadAttention;
  /** Of the hidden layer; only with `crossAttention`, where norm2 is that of the memory's part. */
  readonly norm3?: LayerNorm;

  /** @param options `crossAttention: true` attends to a memory too, as the decoder of an encoder–decoder; default false */
  constructor(
    embedDim: number,
    numHeads: number,
    options: BlockOptions & {
      crossAttention?: boolean;
      /** Size of the memory's vectors. Default embedDim. */
      memoryDim?: number;
    } = {},
  ) {
    const seed = generatorOf(options.seed);
    super("DecoderBlock", embedDim, numHeads, { ...options, seed }, ["crossAttention", "memoryDim"]);
    if (!options.crossAttention) return;
    const { memoryDim = embedDim, numKvHeads, bias, dropoutP, dtype, layerNormEps: eps } = options;
    checkSizes("DecoderBlock", { memoryDim });
    this.multihead_attn = new MultiHeadAttention(embedDim, numHeads, {
      kdim: memoryDim,
      vdim: memoryDim,
      numKvHeads,
      bias,
      dropoutP,
      dtype,
      seed,
    });
    this.norm3 = new LayerNorm(embedDim, { eps, bias, dtype });
  }

  /**
   * x [..., N, embedDim], memory [..., M, memoryDim] (only with `crossAttention`).
   *
   * @param options of the self-attention, which is causal unless `isCausal: false`; `memory`: those of the attention
   *   over the memory
   */
  forward(
    x: TensorLike,
    memory?: TensorLike,
    options: AttendOptions & { memory?: AttendOptions } = {},
  ): BlockResult {
    const { memory: memoryOptions = {}, isCausal = true, ...own } = options;
    const { multihead_attn: cross, norm3 } = this;
    checkMemory(cross !== undefined, memory !== undefined);
    let attention!: AttendResult;
    let crossAttention: AttendResult | undefined;
    let y = this.around(operand("DecoderBlock", "x", x), this.norm1, (z) => {
      attention = this.self_attn.forward(z, z, z, { ...own, isCausal });
      return attention.output;
    });
    if (cross && memory)
      y = this.around(y, this.norm2, (z) => {
        crossAttention = cross.forward(z, memory, memory, memoryOptions);
        return crossAttention.output;
      });
    const output = this.around(y, norm3 ?? this.norm2, (z) => this.hidden(z));
    return { output, attention, ...(crossAttention && { crossAttention }) };
  }
}

function checkMemory(has: boolean, given: boolean): void {
  if (has !== given)
    throw new OptionError(
      "memory",
      has
        ? "DecoderBlock: a memory [..., M, memoryDim] is missing; this block was built with crossAttention"
        : "DecoderBlock: got a memory, but this block was built without crossAttention",
    );
}
