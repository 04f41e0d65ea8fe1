/**
 * One step of AdamW over four numbers at a time (train/adamw.ts has the formula), in float32:
 *
 *   g ← scale·g    m ← β₁·m + (1 − β₁)·g    v ← β₂·v + (1 − β₂)·g²    w ← weightDecayFactor·w − rate·m/(√v·biasCorrection2 + eps)
 *
 * with rate = lr/(1 − β₁ᵗ) and biasCorrection2 = 1/√(1 − β₂ᵗ).
 */
import { f32x4, i32, v128 } from "../../assembler/index.ts";
import { type PipelineSpec, pipelineKernel } from "./row-pipeline.ts";

/** Scalars of a step, in the order in which the kernel reads them. */
export const ADAMW = [
  "scale",
  "beta1",
  "oneMinusBeta1",
  "beta2",
  "oneMinusBeta2",
  "weightDecayFactor",
  "rate",
  "biasCorrection2",
  "eps",
] as const;

/** Arrays w, g, m, v, then the targets of w, m and v; the scalars. */
export function adamwKernel(spec: PipelineSpec): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 8, (f, { madd }, rows, _, [w, g, m, v, toW, toM, toV, scalars]) => {
    const [scale, beta1, oneMinusBeta1, beta2, oneMinusBeta2, weightDecayFactor, rate, biasCorrection2, eps] =
      ADAMW.map((_, n) => f.let(v128.load32_splat(scalars, 4 * n)));
    const end = f.int(i32.add(w, i32.shl(i32.div_s(i32.add(rows, 3), 4), 4)));
    f.repeat(() => {
      const gradient = f.let(f32x4.mul(v128.load(g), scale));
      const first = f.let(madd(v128.load(m), beta1, f32x4.mul(gradient, oneMinusBeta1)));
      const second = f.let(
        madd(v128.load(v), beta2, f32x4.mul(f32x4.mul(gradient, gradient), oneMinusBeta2)),
      );
      const below = madd(f32x4.sqrt(second), biasCorrection2, eps);
      const change = f32x4.div(f32x4.mul(first, rate), below);
      f.storeVector(toW, f32x4.sub(f32x4.mul(v128.load(w), weightDecayFactor), change));
      f.storeVector(toM, first);
      f.storeVector(toV, second);
      for (const at of [w, g, m, v, toW, toM, toV]) f.step(at, 16);
      return i32.ne(w, end);
    });
  });
}
