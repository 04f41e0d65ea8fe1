/** What each way costs: operations and memory by heed's plans, and times measured here on request. */
import { explain, longformer, randn, scaledDotProductAttention, type Tensor } from "../../src/index.ts";
import { performerAttention } from "../../src/nn/history/index.ts";
import type { VariantCost } from "./compute.ts";
import { Draws, featuresOf, PASSES } from "./data.ts";
import { RACE } from "./shown.ts";

let drawn: { n: number; all: readonly Tensor[] } | undefined;

/** Random queries, keys and values for the race. */
function normalsOf(n: number, d: number): readonly Tensor[] {
  if (drawn?.n !== n) drawn = { n, all: [1, 2, 3].map((seed) => randn([n, d], { seed })) };
  return drawn.all;
}

const time = <T>(call: () => T): readonly [ms: number, result: T] => {
  call();
  const start = performance.now();
  const result = call();
  return [performance.now() - start, result];
};

/**
 * Costs at n rows of 64 numbers, with a window and a number of features that do not grow with n; times only where `race` asks for
 * them, those of the whole matrix also by pass.
 */
export function costsOf(n: number, race: boolean): VariantCost[] {
  const d = 64;
  const { window, features: m } = RACE;
  const [query, key, value] = normalsOf(n, d);
  const attnMask = longformer(window, [0]);
  const features = race ? featuresOf(m, d, new Draws(1)) : undefined;
  const plan = explain(query, key, value);
  const masked = explain(query, key, value, { attnMask });
  const tile = 4 * plan.rowTile * plan.keyTile;
  const timePasses = () => {
    const [products, scores] = time(() => PASSES.products(query, key));
    const [pass, weights] = time(() => PASSES.softmax(scores, d));
    const [sums] = time(() => PASSES.sums(weights, value));
    return [products, pass, sums];
  };
  const passes = race ? timePasses() : [];
  const calls: [() => unknown, number, number][] = [
    [() => scaledDotProductAttention(query, key, value), plan.operations, tile],
    [() => scaledDotProductAttention(query, key, value, { attnMask }), masked.operations, tile],
    [
      () => performerAttention(query, key, value, { features }),
      4 * n * m * d + 4 * n * m * (d + 1),
      4 * (2 * n * m + m * (d + 1)),
    ],
  ];
  const one = race ? passes.reduce((a, b) => a + b, 0) : Number.NaN;
  return [
    { operations: plan.operations, bytes: 8 * n * n, ms: one, passes },
    ...calls.map(([call, operations, bytes]) => ({
      operations,
      bytes,
      ms: race ? time(call)[0] : Number.NaN,
      passes: [],
    })),
  ];
}
