/**
 * Memory of a forward pass: intermediate tensors are allocated in the engine's memory (`tidy`), which all layers reuse, and are
 * disposed after the pass. If a hook or a tape may keep a layer's tensors, they are ordinary tensors instead.
 */

import { tidy } from "../../api/tidy.ts";
import { reclaimer, releaseTensor } from "../../core/arena.ts";
import { isRecording } from "../../core/recording/record.ts";
import type { FloatTensor } from "../../nn/index.ts";
import { FORWARD_OPTIONS, type ForwardOptions } from "./attend.ts";

const isWatched = (options: ForwardOptions): boolean =>
  FORWARD_OPTIONS.some((name) => options?.[name] !== undefined) || isRecording();

/** Runs a forward pass, or a part of one, and returns its result. */
export function inPassMemory(options: ForwardOptions, pass: () => FloatTensor): FloatTensor {
  return isWatched(options) ? pass() : tidy(pass);
}

/**
 * Called before the first layer. Returns a function to call with the states after each layer, so that the next one reuses the
 * memory.
 */
export function layerMemory(options: ForwardOptions): (states: FloatTensor) => FloatTensor {
  return isWatched(options) ? (states) => states : reclaimer();
}

/** Ends the memory of tensors that layers shared, which outlived the layer that made them. */
export function endShared(options: ForwardOptions, shared: Iterable<readonly FloatTensor[]>): void {
  if (!isWatched(options)) for (const tensors of shared) for (const one of tensors) releaseTensor(one);
}
