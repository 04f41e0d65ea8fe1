/**
 * How a rollout reaches one target token: which share of it passes through each position after each layer, and along which
 * links. With Ã_1 … Ã_L the layers' matrices and t the target:
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
  /** Of what passes through all layers, the share that the drawn links carry. */
  readonly drawn: number;
}

/** Links drawn at most, and the least share that is drawn. */
const MAX_BANDS = 600;
const LEAST = 0.002;

export function bandsOf({ steps, tokens }: Pick<LayerMatrices, "steps" | "tokens">, target: number): Bands {
  let after = new Float64Array(tokens);
  after[target] = 1;
  const shares: Float64Array[] = [after];
  const found: Band[] = [];
  for (let step = steps.length - 1; step >= 0; step--) {
    const before = new Float64Array(tokens);
    for (let to = 0; to < tokens; to++) {
      if (after[to] === 0) continue;
      for (let from = 0; from < tokens; from++) {
        const share = after[to] * steps[step][to * tokens + from];
        before[from] += share;
        if (share >= LEAST) found.push({ step, from, to, share });
      }
    }
    after = before;
    shares.unshift(before);
  }
  found.sort((a, b) => b.share - a.share);
  const bands = found.slice(0, MAX_BANDS).reverse();
  const carried = bands.reduce((sum, { share }) => sum + share, 0);
  return { shares, bands, drawn: steps.length === 0 ? 1 : carried / steps.length };
}

/**
 * The largest flow from one input token to the target: what each link carries of it, and how much is at each position after
 * each layer. There may be other flows that are as large.
 */
export function flowBands(
  { steps, tokens: N }: Pick<LayerMatrices, "steps" | "tokens">,
  target: number,
  input: number,
): Bands {
  const { value, links } = pairFlow(steps, N, target, input);
  const shares = Array.from({ length: steps.length + 1 }, () => new Float64Array(N));
  shares[steps.length][target] = value;
  const found: Band[] = [];
  for (const [step, carried] of links.entries())
    for (let at = 0; at < carried.length; at++) {
      const share = carried[at];
      if (share <= 0) continue;
      const from = at % N;
      shares[step][from] += share;
      if (share >= LEAST) found.push({ step, from, to: Math.floor(at / N), share });
    }
  found.sort((a, b) => b.share - a.share);
  const bands = found.slice(0, MAX_BANDS).reverse();
  const drawn = bands.reduce((sum, { share }) => sum + share, 0);
  return { shares, bands, drawn: steps.length * value > 0 ? drawn / (steps.length * value) : 1 };
}
