/**
 * The two kinds of transformer blocks, with the parameter names of PyTorch's TransformerEncoderLayer and
 * TransformerDecoderLayer. f is a sublayer: attention or the feed-forward network.
 *
 *   post-norm  x ← norm(x + f(x))        the paper, BERT
 *   pre-norm   x ← x + f(norm(x))        GPT-2 and most since: `normFirst: true`
 */
import { checkCount, OptionError } from "../core/errors.ts";
import { checkKind, checkOptionNames } from "../core/option-names.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkSizes, generatorOf, type LayerOptions } from "./initialize.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import type { AttendOptions, AttendResult, MultiHeadOptions } from "./multi-head.ts";
import { isOperand, MultiHeadAttention } from "./multi-head.ts";
import { LayerNorm } from "./norm.ts";
import { type ActivationName, activate, checkActivation } from "./ops/activations.ts";
import { add } from "./ops/arithmetic.ts";
import { checkDropout, layerDropout } from "./ops/dropout.ts";
import { type FloatTensor, operand, type Precision, type PrecisionOf } from "./ops/operand.ts";
import { checkShard, type SequenceShard, type ShardedOptions } from "./sharded.ts";

/** Options of a block; all optional. */
export interface BlockOptions extends LayerOptions, Pick<MultiHeadOptions, "numKvHeads" | "rope"> {
  /** Biases of all linear maps and norms. Default true. */
  bias?: boolean;
  /** Size of the hidden layer. Default 4·embedDim. */
  feedForward?: number;
  /** Default "gelu". */
  activation?: ActivationName;
  /** Pre-norm. Default false: post-norm. */
  normFirst?: boolean;
  /** eps of the layer norms. Default 1e-5. */
  layerNormEps?: number;
  /** Dropout probability inside `withDropout`: of attention weights, of the hidden layer, and before each residual sum. Default 0. */
  dropoutP?: number;
}

/** Names of `BlockOptions` beside those of every layer. */
const BLOCK_OPTIONS: readonly Exclude<keyof BlockOptions, keyof LayerOptions>[] = [
  "numKvHeads", "rope", "bias", "feedForward", "activation", "normFirst", "layerNormEps", "dropoutP",
]; // biome-ignore format: one list

/** Result of a block. */
export interface BlockResult<D extends Precision = Precision> {
  /** [..., N, embedDim] */
  readonly output: FloatTensor<D>;
  /** Result of the self-attention. */
  readonly attention: AttendResult<D>;
  /** Result of the attention over the memory, where the block has one. */
  readonly crossAttention?: AttendResult<D>;
}

/** The common part of both blocks: self-attention, a feed-forward network, and the residual sums and norms. */
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
    names: readonly string[] = [],
  ) {
    super();
    checkOptionNames(what, options, [...BLOCK_OPTIONS, "dtype", "seed", ...names]);
    checkSizes(what, { embedDim, numHeads });
    const { feedForward = 4 * embedDim, activation = "gelu", normFirst = false, dropoutP = 0 } = options;
    const { dtype, bias } = options;
    checkSizes(what, { feedForward });
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

  /** The residual sum of x and `f(x)`, normalized before `f` or after the sum. */
  protected residual(x: FloatTensor, norm: LayerNorm, f: (x: FloatTensor) => FloatTensor): FloatTensor {
    return this.#joined(x, norm, f(this.normFirst ? norm.forward(x) : x));
  }

  #joined(x: FloatTensor, norm: LayerNorm, branch: FloatTensor): FloatTensor {
    const change = layerDropout(branch, this.dropoutP);
    return this.normFirst ? add(x, change) : norm.forward(add(x, change));
  }

  /**
   * `forward` for this rank's rows `x` [B, n, embedDim] of a sequence, whose attention is over all rows. Every rank calls it.
   * @beta
   */
  async forwardOver(shard: SequenceShard, x: TensorLike, options: ShardedOptions = {}): Promise<BlockResult> {
    checkCount(`${this.constructor.name}.forwardOver`, arguments, 3);
    checkShard(`${this.constructor.name}.forwardOver`, shard);
    const rows = shard.run(() => operand(this.constructor.name, "x", x));
    const input = this.normFirst ? shard.run(() => this.norm1.forward(rows)) : rows;
    const attention = await this.self_attn.forwardOver(shard, input, options);
    const output = shard.run(() => {
      const y = this.#joined(rows, this.norm1, attention.output);
      return this.residual(y, this.norm2, (z) => this.feedForward(z));
    });
    return { output, attention };
  }

  /** The feed-forward network: x `[..., C]` to `[..., C]`. */
  protected feedForward(x: FloatTensor): FloatTensor {
    const inner = activate(this.linear1.forward(x), this.activation);
    return this.linear2.forward(layerDropout(inner, this.dropoutP));
  }
}

/**
 * Self-attention over all positions, then a feed-forward network.
 *
 * @example
 * new EncoderBlock(8, 2, { seed: 1 }).forward(x).output.shape; // → [2, 3, 8]
 */
export class EncoderBlock extends Block {
  constructor(embedDim: number, numHeads: number, options: BlockOptions = {}) {
    checkCount("EncoderBlock", arguments, 3);
    super("EncoderBlock", embedDim, numHeads, options);
  }

  /** x [..., N, embedDim]; options as `MultiHeadAttention.forward` takes them. */
  forward<T extends TensorLike>(x: T, options?: AttendOptions): BlockResult<PrecisionOf<T>>;
  forward(x: TensorLike, options: AttendOptions = {}): BlockResult {
    checkCount("EncoderBlock.forward", arguments, 2);
    let attention!: AttendResult;
    const y = this.residual(operand("EncoderBlock", "x", x), this.norm1, (z) => {
      attention = this.self_attn.forward(z, z, z, options);
      return attention.output;
    });
    return { output: this.residual(y, this.norm2, (z) => this.feedForward(z)), attention };
  }
}

/**
 * Causal self-attention, attention over a memory with `crossAttention`, then a feed-forward network.
 *
 * @example
 * const block = new DecoderBlock(8, 2, { seed: 1 });
 * block.forward(x).output.shape; // → [2, 3, 8]
 */
export class DecoderBlock extends Block {
  /** Attention over the memory; only with `crossAttention`. */
  readonly multihead_attn?: MultiHeadAttention;
  /** Norm of the feed-forward network; only with `crossAttention`, where norm2 belongs to the attention over the memory. */
  readonly norm3?: LayerNorm;

  /** @param options `crossAttention: true` adds attention over a memory, as in the decoder of an encoder–decoder; default false */
  constructor(
    embedDim: number,
    numHeads: number,
    options: BlockOptions & {
      crossAttention?: boolean;
      /** Size of the memory's vectors. Default embedDim. */
      memoryDim?: number;
    } = {},
  ) {
    checkCount("DecoderBlock", arguments, 3);
    // `Block` checks the names of a copy.
    checkOptionNames("DecoderBlock", options, Object.keys(Object(options)));
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
  forward<T extends TensorLike>(
    x: T,
    memory?: TensorLike,
    options?: AttendOptions & { memory?: AttendOptions },
  ): BlockResult<PrecisionOf<T>>;
  forward(
    x: TensorLike,
    memory?: TensorLike,
    options: AttendOptions & { memory?: AttendOptions } = {},
  ): BlockResult {
    checkCount("DecoderBlock.forward", arguments, 3);
    checkKind("DecoderBlock.forward", "options", "an object", options);
    if (memory !== undefined) checkKind("DecoderBlock.forward", "memory", "a tensor or a list", memory);
    if (memory && !isOperand(memory))
      throw new OptionError(
        "memory",
        "DecoderBlock.forward: memory must be a tensor or nested arrays; options are the third argument: forward(x, memory, options)",
      );
    const { memory: memoryOptions = {}, isCausal = true, ...selfOptions } = options;
    const { multihead_attn: cross, norm3 } = this;
    checkMemory(cross !== undefined, memory !== undefined);
    let attention!: AttendResult;
    let crossAttention: AttendResult | undefined;
    let y = this.residual(operand("DecoderBlock", "x", x), this.norm1, (z) => {
      attention = this.self_attn.forward(z, z, z, { ...selfOptions, isCausal });
      return attention.output;
    });
    if (cross && memory)
      y = this.residual(y, this.norm2, (z) => {
        crossAttention = cross.forward(z, memory, memory, memoryOptions);
        return crossAttention.output;
      });
    const output = this.residual(y, norm3 ?? this.norm2, (z) => this.feedForward(z));
    return { output, attention, ...(crossAttention && { crossAttention }) };
  }

  /** Causal unless `isCausal: false`; a block with `crossAttention` has no `forwardOver`. @beta */
  override async forwardOver(
    shard: SequenceShard,
    x: TensorLike,
    options: ShardedOptions = {},
  ): Promise<BlockResult> {
    checkCount("DecoderBlock.forwardOver", arguments, 3);
    checkMemory(this.multihead_attn !== undefined, false);
    return super.forwardOver(shard, x, { isCausal: true, ...options });
  }
}

function checkMemory(has: boolean, isPassed: boolean): void {
  if (has !== isPassed)
    throw new OptionError(
      "memory",
      has
        ? "DecoderBlock: a memory [..., M, memoryDim] is missing; this block was built with crossAttention"
        : "DecoderBlock: got a memory, but this block was built without crossAttention; new DecoderBlock(embedDim, numHeads, { crossAttention: true }) has it",
    );
}
