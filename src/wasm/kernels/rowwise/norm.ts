/**
 * Layer norm and RMS norm of rows, and their gradients (reference/rowwise.ts has the formulas):
 *
 *   forward   x̂ = (x − mean)·r, r = 1/√(mean of squares + eps)        y = x̂·weight + bias
 *   backward  g = dy·weight      dx = r·(g − mean(g) − x̂·mean(g·x̂))    dWeight += dy·x̂, dBias += dy, summed over a task's rows
 *
 * The mean is computed twice: the second mean is that of x minus the first, so that rows far from 0 lose no accuracy. RMS norm
 * has no means. The two means and r are stored in an array of four numbers per row, for the backward kernel.
 */
import { type FunctionBuilder, f32x4, i32, type Local, v128, ZERO } from "../../assembler/index.ts";
import type { PipelineSpec } from "./row-pipeline.ts";
import { clearVectors, each, eachVector, loads, pipelineKernel, stores, total } from "./row-pipeline.ts";

const clear = (f: FunctionBuilder, sums: readonly Local<"v128">[]) => {
  for (const sum of sums) f.set(sum, ZERO);
};
const four = (f: FunctionBuilder) => [0, 1, 2, 3].map(() => f.local("v128"));
const addTo = (f: FunctionBuilder, sums: readonly Local<"v128">[], xs: readonly Local<"v128">[]) =>
  xs.forEach((x, n) => f.set(sums[n], f32x4.add(sums[n], x)));

/** x̂ = (x − mean − left)·r. */
function hats(
  f: FunctionBuilder,
  x: readonly Local<"v128">[],
  mean: Local<"v128">,
  left: Local<"v128"> | undefined,
  r: Local<"v128">,
): Local<"v128">[] {
  let off = each(f, x, (v) => f32x4.sub(v, mean));
  if (left) off = each(f, off, (v) => f32x4.sub(v, left));
  return each(f, off, (v) => f32x4.mul(v, r));
}

/** Bytes of a row in the engine's memory: full vectors. */
const rowBytes = (f: FunctionBuilder, count: Local<"i32">) =>
  f.int(i32.shl(i32.shr_s(i32.add(count, 3), 2), 4));

/** Arrays x, y, stats; weight, bias, the scalars 1/C and eps, and a mask of the valid lanes of the last vector. */
export function normKernel(spec: PipelineSpec, centered: boolean): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 7, (f, _, rows, count, [x, y, stats, weight, bias, scalars, counted]) => {
    const bytes = rowBytes(f, count);
    const vectors = f.int(i32.shr_s(bytes, 4));
    const full = f.int(i32.sub(vectors, 1));
    const [sums, squares] = [four(f), four(f)];
    const [at, to, w, b] = [0, 1, 2, 3].map(() => f.local("i32"));
    const [mean, left, r] = [0, 1, 2].map(() => f.local("v128"));
    const share = f.let(v128.load32_splat(scalars));
    const eps = f.let(v128.load32_splat(scalars, 4));
    const lanes = f.let(v128.load(counted));
    f.down(rows, 1, () => {
      f.set(mean, ZERO);
      if (centered) {
        clear(f, sums);
        f.set(at, x);
        eachVector(f, [at], vectors, (offsets) => addTo(f, sums, loads(f, at, offsets)));
        f.set(mean, f32x4.mul(f32x4.splat(total(f, sums)), share));
      }
      clear(f, sums);
      clear(f, squares);
      const add = (d: readonly Local<"v128">[]) => {
        if (centered) addTo(f, sums, d);
        addTo(
          f,
          squares,
          each(f, d, (v) => f32x4.mul(v, v)),
        );
      };
      f.set(at, x);
      eachVector(f, [at], full, (offsets) => add(each(f, loads(f, at, offsets), (v) => f32x4.sub(v, mean))));
      add([f.let(v128.and(f32x4.sub(v128.load(at), mean), lanes))]);
      f.set(left, centered ? f32x4.mul(f32x4.splat(total(f, sums)), share) : ZERO);
      const mean2 = f.let(f32x4.mul(f32x4.splat(total(f, squares)), share));
      const variance = centered ? f32x4.sub(mean2, f32x4.mul(left, left)) : mean2;
      f.set(r, f32x4.div(f32x4.splat(1), f32x4.sqrt(f32x4.add(variance, eps))));
      f.store("f32.store", stats, f32x4.extract_lane(mean, 0));
      f.store("f32.store", stats, f32x4.extract_lane(left, 0), 4);
      f.store("f32.store", stats, f32x4.extract_lane(r, 0), 8);
      f.store("f32.store", stats, 0, 12);
      f.set(at, x);
      f.set(to, y);
      f.set(w, weight);
      f.set(b, bias);
      eachVector(f, [at, to, w, b], vectors, (offsets) => {
        const hat = hats(f, loads(f, at, offsets), mean, centered ? left : undefined, r);
        const [factors, terms] = [loads(f, w, offsets), loads(f, b, offsets)];
        const scaled = each(f, hat, (v, n) => f32x4.mul(v, factors[n]));
        stores(
          f,
          to,
          offsets,
          each(f, scaled, (v, n) => f32x4.add(v, terms[n])),
        );
      });
      f.step(x, bytes);
      f.step(y, bytes);
      f.step(stats, 16);
    });
  });
}

/** Arrays x, dy, stats, dx, the task's sums of dWeight, of dBias; weight, scalars: 1/C. */
export function normBackwardKernel(spec: PipelineSpec, centered: boolean): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 8, (f, _, rows, count, [x, dy, stats, dx, dWeight, dBias, weight, scalars]) => {
    const bytes = rowBytes(f, count);
    const vectors = f.int(i32.shr_s(bytes, 4));
    const [sums, products] = [four(f), four(f)];
    const [at, d, to, w, dw, db] = Array.from({ length: 6 }, () => f.local("i32"));
    const share = f.let(v128.load32_splat(scalars));
    for (const target of [dWeight, dBias]) {
      f.set(at, target);
      clearVectors(f, at, vectors);
    }
    const [mean, left, r] = [0, 1, 2].map(() => f.local("v128"));
    const [meanG, meanGx] = [f.local("v128"), f.local("v128")];
    const hatsAt = (offsets: readonly number[]) =>
      hats(f, loads(f, at, offsets), mean, centered ? left : undefined, r);
    const product = (a: readonly Local<"v128">[], b: readonly Local<"v128">[]) =>
      each(f, a, (v, n) => f32x4.mul(v, b[n])) as Local<"v128">[];
    /** Adds to numbers in memory. */
    const increase = (pointer: Local<"i32">, offsets: readonly number[], by: readonly Local<"v128">[]) =>
      stores(
        f,
        pointer,
        offsets,
        each(f, loads(f, pointer, offsets), (v, n) => f32x4.add(v, by[n])),
      );
    f.down(rows, 1, () => {
      [mean, left, r].forEach((value, n) => f.set(value, v128.load32_splat(stats, 4 * n)));
      clear(f, sums);
      clear(f, products);
      [at, d, w, dw, db].forEach((pointer, n) => f.set(pointer, [x, dy, weight, dWeight, dBias][n]));
      eachVector(f, [at, d, w, dw, db], vectors, (offsets) => {
        const hat = hatsAt(offsets);
        const gradient = loads(f, d, offsets);
        const g = product(gradient, loads(f, w, offsets));
        if (centered) addTo(f, sums, g);
        addTo(f, products, product(g, hat));
        increase(dw, offsets, product(gradient, hat));
        increase(db, offsets, gradient);
      });
      f.set(meanG, centered ? f32x4.mul(f32x4.splat(total(f, sums)), share) : ZERO);
      f.set(meanGx, f32x4.mul(f32x4.splat(total(f, products)), share));
      [at, d, w, to].forEach((pointer, n) => f.set(pointer, [x, dy, weight, dx][n]));
      eachVector(f, [at, d, w, to], vectors, (offsets) => {
        const hat = hatsAt(offsets);
        let g = product(loads(f, d, offsets), loads(f, w, offsets));
        if (centered) g = each(f, g, (v) => f32x4.sub(v, meanG));
        const pull = each(f, hat, (v) => f32x4.mul(v, meanGx));
        const off = each(f, g, (v, n) => f32x4.sub(v, pull[n]));
        stores(
          f,
          to,
          offsets,
          each(f, off, (v) => f32x4.mul(v, r)),
        );
      });
      f.step(x, bytes);
      f.step(dy, bytes);
      f.step(dx, bytes);
      f.step(stats, 16);
    });
  });
}
