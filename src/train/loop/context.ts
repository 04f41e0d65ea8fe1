/**
 * Context-parallel training: several ranks share each sequence. A tape records what a rank computes of its own positions, and the
 * attention over all ranks as one operation, whose gradients need messages too. Gradients of parameters are parts: their sum over the
 * ranks of a sequence is the gradient.
 */

import { type Communicator, checkCommunicator } from "../../cluster/communicator/communicator.ts";
import { backwardWithin } from "../../cluster/context/backward.ts";
import type { Within } from "../../cluster/context/call.ts";
import { attendWithin } from "../../cluster/context/forward.ts";
import { checkOptions, type Via } from "../../cluster/context/options.ts";
import { type ShardPlan, shardSequence } from "../../cluster/context/shard.ts";
import type { PartedScope } from "../../core/arena.ts";
import { checkCount, OptionError, refuseValue } from "../../core/errors.ts";
import { checkKinds, checkOptionNames } from "../../core/option-names.ts";
import type { Tensor } from "../../core/tensor.ts";
import { extrasOf } from "../../nn/ops/attend-derivative.ts";
import { type DropoutPass, inDropout, isDropping } from "../../nn/ops/dropout.ts";
import type { FloatTensor } from "../../nn/ops/operand.ts";
import { record } from "../../nn/record.ts";
import type { SequenceShard, ShardedOptions } from "../../nn/sharded.ts";
import { Tape } from "../tape.ts";

/** Memory and dropout of a step. */
export interface StepOptions {
  readonly memory: PartedScope;
  readonly dropoutSeed?: number;
}

/**
 * A tape over this rank's positions of a sequence that ranks share: `forwardOver` of layers and decoders runs on it. Every rank makes
 * the same calls. `await tape.gradientsAsync(loss, parameters)` gives this rank's part of the gradients.
 *
 * @example
 * const plan = shardSequence({ length: 6, ranks: 2, isCausal: true });
 * const states = ones([1, 6, 8]);
 * const block = new DecoderBlock(8, 2, { seed: 1 });
 * await localCluster(2, async (comm) => {
 *   const tape = new ContextTape(comm, plan);
 *   const { output } = await block.forwardOver(tape, plan.take(comm.rank, states));
 *   const loss = tape.run(() => sum(square(output))); // this rank's part of the loss
 *   return tape.gradientsAsync(loss, block.parameters().values());
 * });
 */
export class ContextTape extends Tape implements SequenceShard {
  readonly positions: ArrayLike<number>;
  readonly length: number;
  readonly #comm: Communicator;
  readonly #plan: ShardPlan;
  readonly #via: Via;
  readonly #dropout: DropoutPass | undefined;

  /**
   * @param options `via` as in `contextAttention`; default "auto". `dropoutSeed` turns the dropout of layers on, as `withDropout` does: each
   * rank drops what one process drops of its positions. Default none
   */
  constructor(
    comm: Communicator,
    plan: ShardPlan,
    options: { readonly via?: Via; readonly dropoutSeed?: number } = {},
  ) {
    checkCount("ContextTape", arguments, 3);
    checkOptionNames("ContextTape", options, ["via", "dropoutSeed"]);
    checkCommunicator("ContextTape", comm);
    const { dropoutSeed: seed, ...call } = options;
    if (seed !== undefined && !Number.isSafeInteger(seed))
      refuseValue("ContextTape", "dropoutSeed", "an integer below 2^53", seed);
    checkOptions("ContextTape", comm, plan, call);
    super();
    this.#comm = comm;
    this.#plan = plan;
    this.#via = options.via ?? "auto";
    this.positions = plan.positions(comm.rank);
    this.length = plan.length;
    const { positions, length } = this;
    this.#dropout = seed === undefined ? undefined : { seed, next: 0, rows: { positions, length } };
  }

  /** @internal */
  protected override within<T>(part: () => T): T {
    if (this.#dropout === undefined && isDropping())
      throw new OptionError(
        "dropout",
        "ContextTape.run: inside withDropout, whose ranks would drop by their own rows; give the seed to the tape: new ContextTape(comm, plan, { dropoutSeed })",
      );
    return this.#dropout ? inDropout(this.#dropout, part) : part();
  }

  /** `contextAttention`, recorded with its gradients. */
  async attend(query: FloatTensor, key: FloatTensor, value: FloatTensor, options: ShardedOptions = {}) {
    checkCount("ContextTape.attend", arguments, 4);
    checkKinds("ContextTape.attend", options, { "": "attnMask isCausal scoreMod sinks scale dropoutP seed" });
    const [comm, plan, call] = [this.#comm, this.#plan, { ...options, via: this.#via }];
    const within: Within = (part) => this.within(part);
    const state = await attendWithin(within, comm, plan, query, key, value, call);
    const extras = extrasOf(options);
    this.run(() =>
      record({
        name: "attention over ranks",
        inputs: [query, key, value, ...extras.map(({ tensor }) => tensor)],
        outputs: [state.output],
        backward: () => {
          throw new OptionError(
            "tape",
            "Tape.gradients: this tape recorded attention over ranks, whose gradients need messages; use await tape.gradientsAsync(loss, wanted)",
          );
        },
        backwardAsync: async ([d], wanted) => {
          const kinds = extras.filter((_, n) => wanted?.[3 + n] ?? true).map(({ kind }) => kind);
          const gradients = await backwardWithin(within, comm, plan, d as Tensor, query, key, value, state, {
            ...call,
            wanted: [...new Set(kinds)],
          });
          // Those of masks, sinks and tables are sums over ranks already: rank 0 counts them.
          const isFirst = comm.rank === 0;
          return [
            gradients.dQuery,
            gradients.dKey,
            gradients.dValue,
            ...extras.map((extra) =>
              isFirst && kinds.includes(extra.kind) ? extra.gradient(gradients) : undefined,
            ),
          ];
        },
      }),
    );
    return state as { readonly output: FloatTensor; readonly lse: FloatTensor };
  }
}

/** A tape whose results are in memory that later steps reuse. */
class StepTape extends ContextTape {
  readonly #memory: PartedScope;

  constructor(comm: Communicator, plan: ShardPlan, { memory, dropoutSeed }: StepOptions) {
    super(comm, plan, { dropoutSeed });
    this.#memory = memory;
  }

  protected override within<T>(part: () => T): T {
    return this.#memory.run(() => super.within(part));
  }
}

/** Makes the tape of a sequence of `length` tokens that the ranks of `comm` share, each computing its part of a zigzag. */
export function tapeOfRanks(comm: Communicator, length: number, step: StepOptions): ContextTape {
  if (length < comm.size)
    throw new OptionError(
      "sequenceRanks",
      `train: ${comm.size} ranks cannot share a sequence of ${length} tokens; each needs at least one`,
      { ranks: comm.size, length },
    );
  return new StepTape(comm, shardSequence({ length, ranks: comm.size, isCausal: true }), step);
}
