/** Query, key, value and result of PyTorch from a safetensors file: heed's result is the same. Argument: the file. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { scaledDotProductAttention, tensor } from "heed";
import { readSafetensors } from "heed/io";

const [, , path = "causal-lower-right-wide.safetensors"] = process.argv;
const { tensors } = readSafetensors(readFileSync(path));
const named = (name: string) => {
  const match = tensors.get(name);
  assert.ok(match, `${name} is missing; the file has ${[...tensors.keys()].join(", ")}`);
  return tensor(match);
};
const { output } = scaledDotProductAttention(named("q"), named("k"), named("v"), {
  isCausal: "lower-right",
});
const [ours, torch] = [output.toFloat64(), named("out").toFloat64()];
const worst = ours.reduce(
  (worstSoFar, x, i) => Math.max(worstSoFar, Math.abs(x - (torch[i] ?? Number.NaN))),
  0,
);
assert.equal(ours.length, torch.length);
assert.ok(worst < 2e-6, `PyTorch's output differs by ${worst}`);
console.log(`as PyTorch: ${output.shape} ${output.dtype}`);
