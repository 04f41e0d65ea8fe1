/**
 * Cross-entropy of rows of logits and its gradient, in one kernel: with e_v = e^(x_v − max x) and t the row's target,
 *
 *   loss = ln Σ e_v − (x_t − max x)          gradient_v = (e_v/Σ e − [v = t])·weight
 *
 * One exponential for each logit. A row whose target is negative does not count: its loss and gradients are 0. Rows are full vectors
 * in the engine's memory; the last one is padded with −∞, which adds 0. The loss of a row is stored as a pair of
 * numbers (ln Σ e, x_t − max x), so that their difference is computed in float64.
 */
import { f32x4, i32, v128, ZERO } from "../../assembler/index.ts";
import { exp2Each, log } from "../../codegen/math.ts";
import type { PipelineSpec } from "./row-pipeline.ts";
import { clearVectors, each, eachVector, loads, pipelineKernel, stores, total } from "./row-pipeline.ts";

/** Arrays logits, targets (int32), gradients, losses (two numbers a row); scalars: the weight. */
export function crossEntropyKernel(spec: PipelineSpec): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 5, (f, m, rows, count, [x, targets, gradients, losses, scalars]) => {
    const vectors = f.int(i32.shr_s(i32.add(count, 3), 2));
    const bytes = f.int(i32.shl(vectors, 4));
    const four = [0, 1, 2, 3].map(() => f.local("v128"));
    const [at, to, target] = [f.local("i32"), f.local("i32"), f.local("i32")];
    const weight = f.let(v128.load32_splat(scalars));
    f.down(rows, 1, () => {
      f.set(target, i32.load(targets));
      f.set(to, gradients);
      f.when(
        i32.lt_s(target, 0),
        () => {
          clearVectors(f, to, vectors);
          f.store("i32.store", losses, 0);
          f.store("i32.store", losses, 0, 4);
        },
        () => {
          for (const x of four) f.set(x, m.c(-Infinity));
          f.set(at, x);
          // pmax returns its first operand where the second is NaN, and the exponential propagates it.
          eachVector(f, [at], vectors, (offsets) =>
            loads(f, at, offsets).forEach((v, n) => f.set(four[n], f32x4.pmax(four[n], v))),
          );
          const largest = f.let(f32x4.pmax(f32x4.pmax(four[0], four[1]), f32x4.pmax(four[2], four[3])));
          const lane = (n: number) => f32x4.splat(f32x4.extract_lane(largest, n));
          const max = f.let(f32x4.pmax(f32x4.pmax(lane(0), lane(1)), f32x4.pmax(lane(2), lane(3))));
          for (const sum of four) f.set(sum, ZERO);
          f.set(at, x);
          eachVector(f, [at, to], vectors, (offsets) => {
            const off = each(f, loads(f, at, offsets), (v) => f32x4.sub(v, max));
            const base = m.c(Math.LOG2E);
            const powers = each(f, off, (v) => f32x4.mul(v, base));
            const e = exp2Each(f, m, powers).map((v) => f.once(v));
            stores(f, to, offsets, e);
            e.forEach((v, n) => f.set(four[n], f32x4.add(four[n], v)));
          });
          const sum = f.let(f32x4.splat(total(f, four)));
          const factor = f.let(f32x4.div(weight, sum));
          f.set(to, gradients);
          eachVector(f, [to], vectors, (offsets) =>
            stores(
              f,
              to,
              offsets,
              each(f, loads(f, to, offsets), (v) => f32x4.mul(v, factor)),
            ),
          );
          const offset = f.int(i32.shl(target, 2));
          const gradient = f.int(i32.add(gradients, offset));
          f.store(
            "f32.store",
            gradient,
            f32x4.extract_lane(f32x4.sub(v128.load32_splat(gradient), weight), 0),
          );
          f.store("f32.store", losses, f32x4.extract_lane(log(f, m, sum), 0));
          const score = f32x4.sub(v128.load32_splat(i32.add(x, offset)), max);
          f.store("f32.store", losses, f32x4.extract_lane(score, 0), 4);
        },
      );
      f.step(x, bytes);
      f.step(gradients, bytes);
      f.step(targets, 4);
      f.step(losses, 8);
    });
  });
}
