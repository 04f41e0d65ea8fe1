/**
 * Three ways to score a query against a key: the dot product, the scaled dot product, and Bahdanau's additive network.
 * Run: `node examples/course/07-scorers.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   parameters, d = 64
 *              dot ▏ 0
 *       scaled dot ▏ 0
 *   Luong, general ███████████▉ 4,096
 *         additive ████████████████████████ 8,256
 *   keys a row is spread over, of 8
 *          dot ████▍ 1.4
 *   scaled dot ████████████████▊ 5.6
 *     additive ██████████████████████▉ 7.6
 */
import { randn, scaledDotProductAttention, type Tensor } from "heed";
import { AdditiveAttention, LuongAttention } from "heed/nn/history";
import { bars } from "heed/view";

const d = 64;
const [q, k, v] = [1, 2, 3].map((seed) => randn([8, d], { seed }));
const additive = new AdditiveAttention(d, d, d, { seed: 1 });
const luong = new LuongAttention(d, d, { seed: 1 });
const count = (layer: { parameters(): ReadonlyMap<string, Tensor> }) =>
  [...layer.parameters().values()].reduce((sum, { size }) => sum + size, 0);

console.log(
  String(
    bars(
      { dot: 0, "scaled dot": 0, "Luong, general": count(luong), additive: count(additive) },
      { title: `parameters, d = ${d}`, width: 24, format: (n) => n.toLocaleString("en") },
    ),
  ),
);

/** The number of keys that a row is spread over, e^entropy, averaged over rows: 8 means even weights, 1 a single key. */
const spread = (weights: Tensor) => {
  const p = weights.toFloat64();
  const entropy = p.reduce((sum, x) => sum - (x > 0 ? x * Math.log(x) : 0), 0) / weights.shape[0];
  return Math.exp(entropy);
};
const options = { returnWeights: true } as const;
const effective = {
  dot: spread(scaledDotProductAttention(q, k, v, { ...options, scale: 1 }).weights),
  "scaled dot": spread(scaledDotProductAttention(q, k, v, options).weights),
  additive: spread(additive.forward(q, k, v, options).weights),
};
console.log(
  String(
    bars(effective, {
      title: "keys a row is spread over, of 8",
      max: 8,
      width: 24,
      format: (n) => n.toFixed(1),
    }),
  ),
);
