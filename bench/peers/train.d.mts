/** Types of train.mjs, for those who have not installed the peers. */

import type { DecoderSizes } from "../train.ts";

/** A parameter's first values, under Hugging Face's name. */
export interface Parameter {
  readonly data: Float32Array<ArrayBuffer>;
  readonly shape: readonly number[];
}

/** A model that learns a batch [batch, context + 1] a step, and says the loss before it. */
export interface Trainer {
  step(tokens: Int32Array): Promise<number>;
  dispose(): void;
}

/** A package that can train GPT-2's architecture. */
export interface TrainingPeer {
  readonly name: string;
  readonly package: string;
  prepare(
    sizes: DecoderSizes,
    initial: ReadonlyMap<string, Parameter>,
  ): Promise<Trainer | { refuses: string }>;
}

export const trainingPeers: readonly TrainingPeer[];
