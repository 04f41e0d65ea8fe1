/** Tensors that have a shape and one number, for plans and calls of which only the shapes matter. */
import type { TensorLike } from "../../src/index.ts";

/** A tensor of zeros that needs no memory: all strides are 0. */
export const zerosOf = (shape: readonly number[]): TensorLike => ({
  data: new Float32Array(1),
  shape,
  strides: shape.map(() => 0),
  dtype: "float32",
});
