/**
 * Memory of a forward pass: what layers compute on the way is placed in the engine's memory (`tidy`), the same for each layer, and ends
 * with the pass. Where a hook may keep a layer's tensors, or a tape does, they are ordinary tensors instead.
 */
import { reclaimer } from "../../core/arena.ts";
import { isRecording } from "../../core/record.ts";
import type { FloatTensor } from "../../nn/index.ts";
import { tidy } from "../../tidy.ts";
import type { ForwardOptions } from "./attend.ts";

const isWatched = ({ onAttention, onHidden }: ForwardOptions): boolean =>
  onAttention !== undefined || onHidden !== undefined || isRecording();

/** Runs a forward pass, or a part of one, and returns its result. */
export function inPassMemory(options: ForwardOptions, pass: () => FloatTensor): FloatTensor {
  return isWatched(options) ? pass() : tidy(pass);
}

/** To be called before the first layer: returns what is done with the states after each layer, so that the next one reuses the memory. */
export function layerMemory(options: ForwardOptions): (states: FloatTensor) => FloatTensor {
  return isWatched(options) ? (states) => states : reclaimer();
}
