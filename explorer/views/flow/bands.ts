/**
 * The path of a rollout to one target token: the share that passes through each position after each layer, and the share of
 * each link. With Ã_1 … Ã_L the layers' matrices and t the target:
 *
 *     f_L = the target's unit vector      f_{l−1}[j] = Σ_i f_l[i]·Ã_l[i, j]      link (l, i, j) carries f_l[i]·Ã_l[i, j]
 *
 * Every f_l sums to 1, and f_0 is the target's row of the rollout.
 */
import { pairFlow } from "../../../src/store/measures/attention-flow.ts";
import type { LayerMatrices } from "../../../src/store/measures/rollout.ts";

/** A link from position `from` before a layer to position `to` after it. */
export interface Band {
  /** Index of the layer's matrix in `steps`. */
  readonly step: number;
  readonly from: number;
  readonly to: number;
  /** The share of the target that it carries. */
  readonly share: number;
}

export interface Bands {
  /** f_0 … f_L. */
  readonly shares: readonly Float64Array[];
  /** The strongest links, the weakest of them first. */
  readonly bands: readonly Band[];
  /** The share of the flow through all layers that the drawn links carry. */
  readonly drawn: number;
}

/** The maximum number of links, and the minimum share of a link that is drawn. */
const MAX_BANDS = 600;
const MIN_SHARE = 0.002;

export function bandsOf({ steps, tokens }: Pick<LayerMatrices, "steps" | "tokens">, target: number): Bands {
  let after = new Float64Array(tokens);
  after[target] = 1;
  const shares: Float64Array[] = [after];
  const bands: Band[] = [];
  for (let step = steps.length - 1; step >= 0; step--) {
    const before = new Float64Array(tokens);
    for (let to = 0; to < tokens; to++) {
      if (after[to] === 0) continue;
      for (let from = 0; from < tokens; from++) {
        const share = after[to] * steps[step][to * tokens + from];
        before[from] += share;
        if (share >= MIN_SHARE) bands.push({ step, from, to, share });
      }
    }
    after = before;
    shares.unshift(before);
  }
  return strongest(shares, bands, steps.length);
}

/** The strongest links; `total` is the flow through all layers, summed over the layers. */
function strongest(shares: readonly Float64Array[], candidates: Band[], total: number): Bands {
  candidates.sort((a, b) => b.share - a.share);
  const bands = candidates.slice(0, MAX_BANDS).reverse();
  const carried = bands.reduce((sum, { share }) => sum + share, 0);
  return { shares, bands, drawn: total > 0 ? carried / total : 1 };
}

/**
 * The maximum flow from one input token to the target: the flow along each link, and through each position after each layer.
 * Other flows may be equally large.
 */
export function flowBands(
  { steps, tokens: N }: Pick<LayerMatrices, "steps" | "tokens">,
  target: number,
  input: number,
): Bands {
  const { value, links } = pairFlow(steps, N, target, input);
  const shares = Array.from({ length: steps.length + 1 }, () => new Float64Array(N));
  shares[steps.length][target] = value;
  const bands: Band[] = [];
  for (const [step, carried] of links.entries())
    for (let at = 0; at < carried.length; at++) {
      const share = carried[at];
      if (share <= 0) continue;
      const from = at % N;
      shares[step][from] += share;
      if (share >= MIN_SHARE) bands.push({ step, from, to: Math.floor(at / N), share });
    }
  return strongest(shares, bands, steps.length * value);
}
