/** Steps across the lanes of vectors, shared by the kernels: transposing four vectors, summing lanes. */
import { type F32Value, type FunctionBuilder, f32x4, shuffle32, type V128Value } from "../assembler/index.ts";

/** Four vectors as a 4 × 4 matrix, transposed: vector n holds lane n of each. The inputs are read twice: pass locals. */
export function transpose4(f: FunctionBuilder, [a, b, c, d]: readonly V128Value[]): V128Value[] {
  const [ab0, ab1] = [f.let(shuffle32(a, b, [0, 4, 1, 5])), f.let(shuffle32(a, b, [2, 6, 3, 7]))];
  const [cd0, cd1] = [f.let(shuffle32(c, d, [0, 4, 1, 5])), f.let(shuffle32(c, d, [2, 6, 3, 7]))];
  return [
    shuffle32(ab0, cd0, [0, 1, 4, 5]),
    shuffle32(ab0, cd0, [2, 3, 6, 7]),
    shuffle32(ab1, cd1, [0, 1, 4, 5]),
    shuffle32(ab1, cd1, [2, 3, 6, 7]),
  ];
}

/** The sum of the eight lanes of two vectors. */
export function sumLanes(f: FunctionBuilder, a: V128Value, b: V128Value): F32Value {
  const four = f.let(f32x4.add(a, b));
  const pair = f.let(f32x4.add(four, shuffle32(four, four, [2, 3, 0, 1])));
  return f32x4.extract_lane(f32x4.add(pair, shuffle32(pair, pair, [1, 0, 3, 2])), 0);
}
