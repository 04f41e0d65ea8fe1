/**
 * Gradients against central differences, in float64: the loss is Σ c·output with fixed random c, each number of each
 * input moves by ±h, and (loss(+h) − loss(−h))/2h is compared with the derivatives of the operations.
 *
 * h = 1e-5: the difference has an error of about h²·|f‴|/6 + 2^-53·|loss|/h, some 1e-10 for losses near 1. The default
 * tolerance of 2e-7·(1 + |want|) is far above that and far below any wrong factor.
 */
import type { Tensor } from "heed";
import { type Operation, withRecorder } from "heed/nn";
import { random } from "../cases/random.ts";

/** Options of `gradcheck`. */
export interface Check {
  /** |got − want| ≤ tolerance·(1 + |want|). Default 2e-7. */
  tolerance?: number;
  /** How many numbers of each input are changed; default 40, spread over the input. */
  limit?: number;
}

const STEP = 1e-5;

/** The gradients of Σ dOutputs·outputs for the tensors of `inputs`, by running the recorded operations in reverse. Undefined = zero. */
export function gradientsOf<K extends string>(
  inputs: Readonly<Record<K, Tensor>>,
  work: () => readonly Tensor[],
  dOutputs: (output: Tensor, n: number) => Tensor,
): { outputs: readonly Tensor[]; gradients: Record<K, Tensor | undefined> } {
  const operations: Operation[] = [];
  const outputs = withRecorder((operation) => operations.push(operation), work);
  const sums = new Map<Tensor, Tensor>();
  const give = (to: Tensor, gradient: Tensor | undefined) => {
    if (!gradient) return;
    if (gradient.shape.join() !== to.shape.join() || gradient.dtype !== to.dtype)
      throw new Error(
        `a gradient [${gradient.shape}] ${gradient.dtype} for a tensor [${to.shape}] ${to.dtype}`,
      );
    const sum = gradient.contiguous();
    const before = sums.get(to)?.data as Float64Array | undefined;
    if (before) for (let n = 0; n < before.length; n++) (sum.data as Float64Array)[n] += before[n];
    sums.set(to, sum);
  };
  outputs.forEach((output, n) => give(output, dOutputs(output, n)));
  for (const step of operations.reverse()) {
    const weights = step.outputs.map((output) => sums.get(output));
    if (weights.some(Boolean))
      step.backward(weights).forEach((gradient, n) => give(step.inputs[n], gradient));
  }
  const names = Object.keys(inputs) as K[];
  return {
    outputs,
    gradients: Object.fromEntries(names.map((name) => [name, sums.get(inputs[name])])) as Record<
      K,
      Tensor | undefined
    >,
  };
}

/** Throws, naming the first number, unless every gradient of `work` agrees with central differences. All float64 and dense. */
export function gradcheck(
  inputs: Readonly<Record<string, Tensor>>,
  work: () => Tensor | readonly Tensor[],
  { tolerance = 2e-7, limit = 40 }: Check = {},
): void {
  const r = random(11);
  const all = () => [work()].flat() as Tensor[];
  const factors = all().map((output) => Float64Array.from({ length: output.size }, () => r.normal()));
  const loss = () =>
    all().reduce((sum, output, n) => {
      const numbers = output.toFloat64();
      return numbers.reduce((s, x, i) => s + x * factors[n][i], sum);
    }, 0);
  const { gradients } = gradientsOf(
    inputs,
    all,
    (output, n) => new (output.constructor as typeof Tensor)(factors[n], output.shape, "float64"),
  );
  for (const [name, input] of Object.entries(inputs)) {
    if (input.dtype !== "float64" || !input.isContiguous() || input.offset !== 0)
      throw new Error(`${name} must be dense float64`);
    const got = gradients[name]?.toFloat64() ?? new Float64Array(input.size);
    const data = input.data as Float64Array;
    const stride = Math.max(1, Math.ceil(input.size / limit));
    for (let i = 0; i < input.size; i += stride) {
      const before = data[i];
      data[i] = before + STEP;
      const above = loss();
      data[i] = before - STEP;
      const below = loss();
      data[i] = before;
      const want = (above - below) / (2 * STEP);
      if (!(Math.abs(got[i] - want) <= tolerance * (1 + Math.abs(want))))
        throw new Error(`gradient of ${name}[${i}]: got ${got[i]}, central difference ${want}`);
    }
  }
}
