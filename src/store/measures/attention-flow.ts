/**
 * Attention flow (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"): the layers as a network of pipes.
 * A link from position i after a layer to position j before it carries at most Ã[i, j], the matrices of the rollout. The
 * flow from position i after the last layer to input token j is the largest one that the network can carry (Dinic 1970):
 *
 *     flow[i, j] = max flow from i to j      share[i, j] = flow[i, j] / Σ_j flow[i, j]
 *
 * Every pair is a problem of its own, so the flows of a row do not sum to 1: their sum is returned, and the shares are
 * divided by it, as in the paper's own code.
 */
import { OptionError } from "../../core/errors.ts";
import type { Asking, HeadStore } from "../types.ts";
import { type LayerMatrices, layerMatrices, type RolloutOptions, Slices } from "./rollout.ts";

/** What attention flow leaves out. Show it wherever one is shown. */
export const ATTENTION_FLOW_WARNING =
  "Attention flow ignores the value vectors, the output projections and the feed-forward layers, and treats all heads alike. It says how much could pass, not what does.";

/** The longest text: N² flows, each over N² links a layer. */
export const MAX_FLOW_TOKENS = 64;

/** Capacity below which a link counts as full. */
const EMPTY = 1e-12;

/** Attention flow. Matrices are [N, N], row-major: row = position after the last layer, column = input token. */
export interface AttentionFlow extends LayerMatrices {
  /** The largest flow of each pair, 0 to 1. */
  readonly values: Float64Array;
  /** `values` with each row divided by its sum. */
  readonly shares: Float64Array;
  /** `[N]`: row sums of `values`. */
  readonly rowSums: Float64Array;
  readonly warning: string;
}

/** One largest flow. */
export interface PairFlow {
  readonly value: number;
  /** Of each layer, [N, N]: what each link carries. There may be other flows of the same value. */
  readonly links: readonly Float64Array[];
}

/**
 * Computes the attention flow of a block, in float64, with the options of `rollout`.
 *
 * Errors: those of `rollout`, and `OptionError` where the text is longer than 64 tokens.
 *
 * @example
 * const { shares, rowSums } = await attentionFlow(store, { alpha: 0.5 });
 * const N = rowSums.length;
 * shares.subarray(0, N); // how the flow into position 0 is divided among the input tokens
 */
export async function attentionFlow(
  store: HeadStore,
  options: RolloutOptions = {},
  asking: Asking = {},
): Promise<AttentionFlow> {
  const N = store.blocks[options.block ?? 0]?.Nq ?? 0;
  if (N > MAX_FLOW_TOKENS)
    throw new OptionError(
      "size",
      `attentionFlow: the text has ${N} tokens; at most ${MAX_FLOW_TOKENS} are supported`,
      { N },
    );
  const matrices = await layerMatrices(store, options, asking);
  const { steps } = matrices;
  const values = new Float64Array(N * N);
  const shares = new Float64Array(N * N);
  const rowSums = new Float64Array(N);
  const network = new Network(steps, N);
  const slices = new Slices(asking.signal);
  for (let i = 0; i < N; i++) {
    for (let j = 0; j < N; j++) {
      if (slices.over) {
        asking.onProgress?.((i * N + j) / (N * N));
        await slices.rest();
      }
      const value = network.fill(i, j);
      values[i * N + j] = value;
      rowSums[i] += value;
    }
    for (let j = 0; j < N; j++) shares[i * N + j] = rowSums[i] > 0 ? values[i * N + j] / rowSums[i] : 0;
  }
  return { ...matrices, values, shares, rowSums, warning: ATTENTION_FLOW_WARNING };
}

/**
 * The largest flow from position `target` after the last layer to input token `input`, through the layers' matrices `steps`
 * ([N, N] each, of `attentionFlow` or `rollout`).
 *
 * @example
 * const { steps, rowSums } = await attentionFlow(store);
 * const { value, links } = pairFlow(steps, rowSums.length, 1, 0); // links[l]: what each link of layer l carries
 */
export function pairFlow(steps: readonly Float64Array[], N: number, target: number, input: number): PairFlow {
  const network = new Network(steps, N);
  return { value: network.fill(target, input), links: network.carried };
}

/** The links of all layers, with what each still takes. Node a·N + i is position i after `a` layers. */
class Network {
  /** What each link carries. */
  readonly carried: readonly Float64Array[];
  readonly #N: number;
  readonly #steps: readonly Float64Array[];
  /** What each link still takes. */
  readonly #rest: readonly Float64Array[];
  /** Links from the source to a node, −1 where none leads there; and the next link of it to try. */
  readonly #distance: Int32Array;
  readonly #next: Int32Array;
  readonly #queue: Int32Array;
  #source = 0;
  #sink = 0;

  constructor(steps: readonly Float64Array[], N: number) {
    const nodes = (steps.length + 1) * N;
    this.#N = N;
    this.#steps = steps;
    this.#rest = steps.map(({ length }) => new Float64Array(length));
    this.carried = steps.map(({ length }) => new Float64Array(length));
    this.#distance = new Int32Array(nodes);
    this.#next = new Int32Array(nodes);
    this.#queue = new Int32Array(nodes);
  }

  /** Fills the network with a largest flow; gives how much it is. */
  fill(target: number, input: number): number {
    if (this.#steps.length === 0) return Number(target === input);
    this.#source = this.#steps.length * this.#N + target;
    this.#sink = input;
    for (const [n, step] of this.#steps.entries()) {
      this.#rest[n].set(step);
      this.carried[n].fill(0);
    }
    let value = 0;
    while (this.#measure()) {
      this.#next.fill(0);
      for (let more = 1; more > 0; value += more) more = this.#push(this.#source, Infinity);
    }
    return value;
  }

  /** Finds each node's distance from the source, over links that take more; whether the sink is reached. */
  #measure(): boolean {
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
      const place = node - layer * N;
      const next = distance[node] + 1;
      // Down to the positions before this layer; of the input tokens only the sink leads on.
      if (layer > 0) {
        const rest = this.#rest[layer - 1];
        const base = (layer - 1) * N;
        const [from, to] = layer === 1 ? [this.#sink, this.#sink + 1] : [0, N];
        for (let n = from; n < to; n++)
          if (distance[base + n] < 0 && rest[place * N + n] > EMPTY) {
            distance[base + n] = next;
            queue[length++] = base + n;
          }
        if (layer === 1 && distance[this.#sink] >= 0) return true;
      }
      // Back up, against what a link carries already.
      if (layer < top) {
        const carried = this.carried[layer];
        const base = (layer + 1) * N;
        for (let n = 0; n < N; n++)
          if (distance[base + n] < 0 && carried[n * N + place] > EMPTY) {
            distance[base + n] = next;
            queue[length++] = base + n;
          }
      }
    }
    return false;
  }

  /** Sends at most `limit` from a node to the sink along shortest ways; gives how much went. */
  #push(node: number, limit: number): number {
    if (node === this.#sink) return limit;
    const N = this.#N;
    const layer = Math.floor(node / N);
    const place = node - layer * N;
    const wanted = this.#distance[node] + 1;
    // The links down come first, then those back up.
    for (; this.#next[node] < 2 * N; this.#next[node]++) {
      const n = this.#next[node];
      const down = n < N;
      if (down ? layer === 0 : layer === this.#steps.length) continue;
      const other = down ? (layer - 1) * N + n : layer * N + n;
      if (this.#distance[other] !== wanted) continue;
      const step = down ? layer - 1 : layer;
      const link = down ? place * N + n : (n - N) * N + place;
      const space = (down ? this.#rest : this.carried)[step][link];
      if (space <= EMPTY) continue;
      const went = this.#push(other, Math.min(limit, space));
      if (went > 0) {
        this.#rest[step][link] += down ? -went : went;
        this.carried[step][link] += down ? went : -went;
        return went;
      }
    }
    return 0;
  }
}
