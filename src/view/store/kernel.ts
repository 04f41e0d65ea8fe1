/**
 * Who computes the rows of a pass. The plain kernel is the formula in float64, a row at a time; `engineKernel` has
 * heed's compiled kernels do many rows at once, in float32. Both hand each row on and keep none.
 */
import type { attentionWeights, scaledDotProductAttention } from "../../index.ts";
import type { Floats, Head } from "./head.ts";

/** One row of weights, valid until the next one comes. */
export type RowVisit = (i: number, weights: Floats, about: RowAbout) => void;

/** What is known of a row beside its weights. */
export interface RowAbout {
  readonly lse: number;
  /** −Σ w·ln w, where the kernel has it. */
  readonly entropy?: number;
}

/** A way to compute rows of weights. */
export interface Kernel {
  /** Name of the library function that gives the numbers. */
  readonly source: string;
  /** True where lse is exact to float64, so that single cells can be rebuilt from it. */
  readonly exact: boolean;
  /** Rows to ask for at once, so that a step takes about a millisecond. */
  rowsPerStep(head: Head): number;
  run(head: Head, from: number, to: number, visit: RowVisit): void;
}

/** Multiplications of a step: about a millisecond of plain JavaScript. */
const STEP = 2 ** 20;

/** Rows of scores straight from q and k. */
export const plainKernel: Kernel = {
  source: "scores",
  exact: true,
  rowsPerStep: ({ data }) => Math.max(1, Math.floor(STEP / (Math.max(1, data.Nk) * (data.d + 16)))),
  run(head, from, to, visit) {
    const { Nk, recipe } = head.data;
    const s = new Float64Array(Nk);
    const w = new Float64Array(Nk);
    const sink = recipe.sink ?? -Infinity;
    for (let i = from; i < to; i++) {
      const m = Math.max(head.scores(i, s), sink);
      let l = sink === -Infinity ? 0 : Math.exp(sink - m);
      let [own, spread] = [0, 0];
      for (let j = 0; j < Nk; j++) {
        if (s[j] === -Infinity) {
          w[j] = 0;
          continue;
        }
        const x = s[j] - m;
        const e = Math.exp(x);
        w[j] = e;
        own += e;
        if (e > 0) spread += e * x;
      }
      l += own;
      if (l === 0) {
        visit(i, w, { lse: -Infinity, entropy: 0 });
        continue;
      }
      for (let j = 0; j < Nk; j++) w[j] /= l;
      // −Σ p·ln p with p = e/l and ln p = x − ln l.
      const entropy = Math.max(0, (own * Math.log(l) - spread) / l);
      visit(i, w, { lse: m + Math.log(l), entropy });
    }
  },
};

/** Rows of weights as they were given. */
export const givenKernel: Kernel = {
  source: "given weights",
  exact: true,
  rowsPerStep: ({ data }) => Math.max(1, Math.floor(STEP / (16 * Math.max(1, data.Nk)))),
  run(head, from, to, visit) {
    const w = new Float64Array(head.data.Nk);
    for (let i = from; i < to; i++)
      visit(i, head.weights(i, {}, w), { lse: head.data.lse?.[i] ?? Number.NaN });
  },
};

/** What of heed the engine's kernel calls: `import * as heed from "heed"` has it. */
export interface Engine {
  readonly scaledDotProductAttention: typeof scaledDotProductAttention;
  readonly attentionWeights: typeof attentionWeights;
}

/** Weights of a step: 1 MiB. */
const CELLS = 2 ** 18;

/**
 * Rows by heed's own kernels: lse by `scaledDotProductAttention`, weights by `attentionWeights`. It is handed over, not
 * imported, because a page that shows small heads need not load the engine.
 */
export function engineKernel(heed: Engine): Kernel {
  return {
    source: "attentionWeights",
    exact: false,
    rowsPerStep: ({ data }) => Math.max(8, Math.floor(CELLS / Math.max(1, data.Nk) / 8) * 8),
    run(head, from, to, visit) {
      const { data, rules } = head;
      const { Nk, d, recipe, keep, bias } = data;
      const rows = to - from;
      const wide =
        data.query instanceof Float64Array ||
        data.key instanceof Float64Array ||
        bias instanceof Float64Array;
      const floats = (x: Floats): Floats => (wide && !(x instanceof Float64Array) ? Float64Array.from(x) : x);
      const query = { data: floats(data.query!.subarray(from * d, to * d)), shape: [rows, d] };
      const key = { data: floats(data.key!), shape: [Nk, d] };
      const masks: unknown[] = rules.mask ? [rules.mask] : [];
      const cells = [from * Nk, to * Nk] as const;
      if (keep) {
        const kept = new Uint8Array(rows * Nk);
        for (let n = 0; n < kept.length; n++)
          kept[n] = (keep.data[cells[0] + n] !== 0) === (keep.polarity === "keep") ? 1 : 0;
        masks.push({ data: kept, shape: [rows, Nk], dtype: "bool" });
      }
      if (bias) masks.push({ data: floats(bias.subarray(...cells)), shape: [rows, Nk] });
      const options = {
        scale: recipe.scale,
        queryOffset: recipe.queryOffset + from,
        attnMask: masks as never,
        scoreMod: rules.changes.map((change) => change.mod),
        ...(recipe.sink === undefined ? {} : { sinks: [recipe.sink] }),
      };
      // Values of no columns: only the sums are wanted.
      const value = { data: wide ? new Float64Array(0) : new Float32Array(0), shape: [Nk, 0] };
      const { lse } = heed.scaledDotProductAttention(query, key, value, options);
      const weights = heed.attentionWeights(query, key, lse, options).data as Floats;
      for (let r = 0; r < rows; r++)
        visit(from + r, weights.subarray(r * Nk, (r + 1) * Nk), { lse: (lse.data as Floats)[r] });
    },
  };
}

/** The kernel for a head: what was given, or what computes. */
export function kernelFor(head: Head, chosen: Kernel): Kernel {
  return head.data.weights ? givenKernel : chosen;
}
