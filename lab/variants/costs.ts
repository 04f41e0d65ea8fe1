/** What each way costs: operations and memory by heed's plans, and times measured here on request. */
import { explain, longformer, randn, scaledDotProductAttention, type Tensor } from "../../src/index.ts";
import { performerAttention } from "../../src/nn/history/index.ts";
import type { VariantCost } from "./compute.ts";
import { budgetOf, featuresOf } from "./data.ts";
import { wholeMatrix } from "./whole.ts";

let drawn: { n: number; all: readonly Tensor[] } | undefined;

/** Random queries, keys and values for the race. */
function normalsOf(n: number, d: number): readonly Tensor[] {
  if (drawn?.n !== n) drawn = { n, all: [1, 2, 3].map((seed) => randn([n, d], { seed })) };
  return drawn.all;
}

/** Costs at n rows of 64 numbers; times only where `race` asks for them. */
export function costsOf(n: number, budget: number, race: boolean): VariantCost[] {
  const d = 64;
  const { window, features: m } = budgetOf(n, budget);
  const [query, key, value] = normalsOf(n, d);
  const attnMask = longformer(window, [0]);
  const features = race ? featuresOf(m, d) : undefined;
  const plan = explain(query, key, value);
  const masked = explain(query, key, value, { attnMask });
  const tile = 4 * plan.rowTile * plan.keyTile;
  const calls: [() => unknown, number, number][] = [
    [() => wholeMatrix(query, key, value), plan.operations, 8 * n * n],
    [() => scaledDotProductAttention(query, key, value), plan.operations, tile],
    [() => scaledDotProductAttention(query, key, value, { attnMask }), masked.operations, tile],
    [
      () => performerAttention(query, key, value, { features }),
      4 * n * m * d + 4 * n * m * (d + 1),
      4 * (2 * n * m + m * (d + 1)),
    ],
  ];
  return calls.map(([call, operations, bytes]) => {
    let ms = Number.NaN;
    if (race) {
      call();
      const start = performance.now();
      call();
      ms = performance.now() - start;
    }
    return { operations, bytes, ms };
  });
}
