/** Tensors that have a shape and no memory of their own, and the message of a call that refuses them. */
import { HeedError } from "../../src/core/errors.ts";
import type { TensorLike } from "../../src/index.ts";

/** A tensor of zeros that takes no memory: one number, read everywhere. */
export const zerosOf = (shape: readonly number[]): TensorLike => ({
  data: new Float32Array(1),
  shape,
  strides: shape.map(() => 0),
  dtype: "float32",
});

/** The message of an error of heed's; anything else is a defect of this page and is thrown again. */
export function messageOf(error: unknown): string {
  if (error instanceof HeedError) return error.message;
  throw error;
}
