/**
 * Attention flow (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"): the layers as a flow network. The
 * edge from position i after a layer to position j before it has the capacity Ã[i, j], the layer matrices of rollout. The
 * value of a pair is the maximum flow from position i after the last layer to input token j (Dinic 1970):
 *
 *     flow[i, j] = max flow from i to j      share[i, j] = flow[i, j] / Σ_j flow[i, j]
 *
 * The maximum flow of each pair is computed separately, so the flows of a row do not sum to 1. The row sums are returned, and
 * the shares are divided by them, as in the paper's code.
 */

import { checkArgument, checkCount } from "../../core/errors.ts";
import type { RequestOptions } from "../compute/request.ts";
import type { HeadStore } from "../head-store.ts";
import { type LayerMatrices, layerMatrices, type RolloutOptions } from "./rollout.ts";
import { TimeSlices } from "./time-slices.ts";

/** The limits of attention flow. Show this text with every attention flow. */
export const ATTENTION_FLOW_WARNING =
  "Attention flow ignores the value vectors, the output projections and the feed-forward layers, and treats all heads alike. It says how much could pass, not how much does.";

/** Maximum number of tokens: there are N² flows, each over N² edges per layer. */
export const MAX_FLOW_TOKENS = 64;

/** An edge with less residual capacity than this is saturated. */
const SATURATED = 1e-12;

/** Attention flow. Matrices are [N, N], row-major: row = position after the last layer, column = input token. */
export interface AttentionFlow extends LayerMatrices {
  /** The maximum flow of each pair, 0 to 1. */
  readonly values: Float64Array;
  /** `values` with each row divided by its sum. */
  readonly shares: Float64Array;
  /** `[N]`: row sums of `values`. */
  readonly rowSums: Float64Array;
  readonly warning: string;
}

/** A maximum flow of one pair. */
export interface PairFlow {
  readonly value: number;
  /** The flow on the edges of each layer, [N, N]. Other maximum flows may exist. */
  readonly links: readonly Float64Array[];
}

/**
 * Computes the attention flow of a block, in float64, with the options of `rollout`.
 *
 * Errors: those of `rollout`, and `OptionError` if the text is longer than 64 tokens.
 *
 * @example
 * const { shares, rowSums } = await attentionFlow(store, { alpha: 0.5 });
 * const N = rowSums.length;
 * shares.subarray(0, N); // the share of each input token in the flows of position 0
 */
export async function attentionFlow(
  store: HeadStore,
  options: RolloutOptions = {},
  request: RequestOptions = {},
): Promise<AttentionFlow> {
  checkCount("attentionFlow", arguments, 3);
  const matrices = await layerMatrices("attentionFlow", MAX_FLOW_TOKENS, store, options, request);
  const { tokens: N, steps } = matrices;
  const values = new Float64Array(N * N);
  const shares = new Float64Array(N * N);
  const rowSums = new Float64Array(N);
  const network = new Network(steps, N);
  const slices = new TimeSlices(request.signal);
  for (let i = 0; i < N; i++) {
    for (let j = 0; j < N; j++) {
      if (slices.over) {
        request.onProgress?.((1 + (i * N + j) / (N * N)) / 2);
        await slices.pause();
      }
      const value = network.maximize(i, j);
      values[i * N + j] = value;
      rowSums[i] += value;
    }
    for (let j = 0; j < N; j++) shares[i * N + j] = rowSums[i] > 0 ? values[i * N + j] / rowSums[i] : 0;
  }
  return { ...matrices, values, shares, rowSums, warning: ATTENTION_FLOW_WARNING };
}

/**
 * A maximum flow from position `target` after the last layer to input token `input`. `steps` are the layer matrices, [N, N]
 * each, of `attentionFlow` or `rollout`.
 *
 * @example
 * const { steps, rowSums } = await attentionFlow(store);
 * const { value, links } = pairFlow(steps, rowSums.length, 1, 0); // links[l]: the flow on the edges of layer l
 */
export function pairFlow(steps: readonly Float64Array[], N: number, target: number, input: number): PairFlow {
  checkArgument(Array.isArray(steps), "pairFlow", "the steps of attentionFlow", steps);
  const network = new Network(steps, N);
  return { value: network.maximize(target, input), links: network.flow };
}

/** The flow network of all layers. Node a·N + i is position i after `a` layers. */
class Network {
  /** The flow on the edges of each layer. */
  readonly flow: readonly Float64Array[];
  readonly #N: number;
  readonly #steps: readonly Float64Array[];
  /** The residual capacity of each edge: its capacity minus its flow. */
  readonly #residual: readonly Float64Array[];
  /** Distance of each node from the source in residual edges; −1 if it cannot be reached. */
  readonly #distance: Int32Array;
  /** The next edge of each node to try. */
  readonly #next: Int32Array;
  readonly #queue: Int32Array;
  #source = 0;
  #sink = 0;

  constructor(steps: readonly Float64Array[], N: number) {
    const nodes = (steps.length + 1) * N;
    this.#N = N;
    this.#steps = steps;
    this.#residual = steps.map(({ length }) => new Float64Array(length));
    this.flow = steps.map(({ length }) => new Float64Array(length));
    this.#distance = new Int32Array(nodes);
    this.#next = new Int32Array(nodes);
    this.#queue = new Int32Array(nodes);
  }

  /** Finds a maximum flow from `target` to `input`; returns its value. */
  maximize(target: number, input: number): number {
    if (this.#steps.length === 0) return Number(target === input);
    this.#source = this.#steps.length * this.#N + target;
    this.#sink = input;
    for (const [n, step] of this.#steps.entries()) {
      this.#residual[n].set(step);
      this.flow[n].fill(0);
    }
    let value = 0;
    while (this.#findDistances()) {
      this.#next.fill(0);
      for (let added = 1; added > 0; value += added) added = this.#augment(this.#source, Infinity);
    }
    return value;
  }

  /** Computes each node's distance from the source over residual edges. Returns whether the sink is reached. */
  #findDistances(): boolean {
    const N = this.#N;
    const top = this.#steps.length;
    const queue = this.#queue;
    const distance = this.#distance.fill(-1);
    distance[this.#source] = 0;
    queue[0] = this.#source;
    let length = 1;
    for (let at = 0; at < length; at++) {
      const node = queue[at];
      const layer = Math.floor(node / N);
      const position = node - layer * N;
      const next = distance[node] + 1;
      // Edges down to the positions before this layer. Of the input tokens, only the sink matters.
      if (layer > 0) {
        const residual = this.#residual[layer - 1];
        const base = (layer - 1) * N;
        const [from, to] = layer === 1 ? [this.#sink, this.#sink + 1] : [0, N];
        for (let n = from; n < to; n++)
          if (distance[base + n] < 0 && residual[position * N + n] > SATURATED) {
            distance[base + n] = next;
            queue[length++] = base + n;
          }
        if (layer === 1 && distance[this.#sink] >= 0) return true;
      }
      // Reverse edges up to the next layer, whose residual capacity is the flow.
      if (layer < top) {
        const flow = this.flow[layer];
        const base = (layer + 1) * N;
        for (let n = 0; n < N; n++)
          if (distance[base + n] < 0 && flow[n * N + position] > SATURATED) {
            distance[base + n] = next;
            queue[length++] = base + n;
          }
      }
    }
    return false;
  }

  /** Adds at most `limit` to the flow along one shortest path from a node to the sink. Returns the added amount. */
  #augment(node: number, limit: number): number {
    if (node === this.#sink) return limit;
    const N = this.#N;
    const layer = Math.floor(node / N);
    const position = node - layer * N;
    const wanted = this.#distance[node] + 1;
    // Edges 0 … N − 1 lead down, N … 2N − 1 are the reverse edges up.
    for (; this.#next[node] < 2 * N; this.#next[node]++) {
      const n = this.#next[node];
      const down = n < N;
      if (down ? layer === 0 : layer === this.#steps.length) continue;
      const other = down ? (layer - 1) * N + n : layer * N + n;
      if (this.#distance[other] !== wanted) continue;
      const step = down ? layer - 1 : layer;
      const edge = down ? position * N + n : (n - N) * N + position;
      const residual = (down ? this.#residual : this.flow)[step][edge];
      if (residual <= SATURATED) continue;
      const added = this.#augment(other, Math.min(limit, residual));
      if (added > 0) {
        this.#residual[step][edge] += down ? -added : added;
        this.flow[step][edge] += down ? added : -added;
        return added;
      }
    }
    return 0;
  }
}
