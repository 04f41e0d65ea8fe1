/** Gradients of a loss through attention, a residual and a norm, by a tape in float64, compared with central differences. */
import assert from "node:assert/strict";
import { randn, scaledDotProductAttention, type Tensor } from "heed";
import { add, layerNorm, multiply, sum } from "heed/nn";
import { Tape } from "heed/train";

const random = (seed: number) => randn([3, 4], { seed, dtype: "float64" });
const inputs = { q: random(1), k: random(2), v: random(3) };
const g = random(4);
const loss = () => {
  const { output } = scaledDotProductAttention(inputs.q, inputs.k, inputs.v);
  return sum(multiply(g, layerNorm(add(inputs.q, output))));
};

const tape = new Tape();
const gradients = tape.gradients(tape.run(loss), Object.values(inputs));
let worst = 0;
for (const [name, x] of Object.entries(inputs)) {
  const gradient = gradients.get(x) as Tensor<"float64">;
  for (let i = 0; i < x.data.length; i++) {
    const at = x.data[i] as number;
    x.data[i] = at + 1e-5;
    const above = loss().at();
    x.data[i] = at - 1e-5;
    const below = loss().at();
    x.data[i] = at;
    const error = Math.abs((above - below) / 2e-5 - (gradient.data[i] as number));
    assert.ok(error < 1e-7, `d${name}[${i}] differs by ${error}`);
    worst = Math.max(worst, error);
  }
}
console.log(`36 derivatives; the largest difference is below ${worst < 1e-8 ? "1e-8" : "1e-7"}`);
