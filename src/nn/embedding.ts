/** A table of vectors by id, as a layer. */
import { checkCount } from "../core/errors.ts";
import { checkLayerOptions, checkSizes, fillNormal, type LayerOptions, parameter } from "./initialize.ts";
import { Module } from "./module.ts";
import { embedding, type Ids } from "./ops/lookup.ts";
import type { FloatTensor } from "./ops/operand.ts";

/**
 * One vector of C numbers for each of V ids. Starts with normal numbers of standard deviation `std` (1).
 *
 * @example
 * new Embedding(100, 8, { seed: 1 }).forward(tensor([[1, 2, 3]], "int32")).shape; // → [1, 3, 8]
 */
export class Embedding extends Module {
  /** [V, C] */
  readonly weight: FloatTensor;

  constructor(count: number, size: number, options: LayerOptions & { std?: number } = {}) {
    super();
    checkLayerOptions("Embedding", arguments, 3, options, ["std"]);
    checkSizes("Embedding", { count, size });
    this.weight = fillNormal(parameter([count, size], options.dtype), options.seed, options.std);
  }

  /** ids [...] to [..., C]. */
  forward(ids: Ids): FloatTensor {
    checkCount("Embedding.forward", arguments, 1);
    return embedding(ids, this.weight);
  }
}
