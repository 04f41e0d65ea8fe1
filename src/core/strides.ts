/** Shapes and strides of tensors: element counts, row-major order, and walks over the rows of a view. */
import { argumentError, formatValue, ShapeError } from "./errors.ts";

/** Throws unless every axis is an integer ≥ 0 and the product is an exact integer. */
export function checkShape(what: string, shape: readonly number[]): void {
  let size = 1;
  for (const n of shape) {
    if (!(Number.isSafeInteger(n) && n >= 0))
      throw new ShapeError(
        "shape",
        `${what}: every axis must be an integer ≥ 0, got ${formatValue([...shape])}`,
        { shape },
      );
    size *= n;
  }
  if (!Number.isSafeInteger(size))
    throw new ShapeError("size", `${what}: [${shape.join(", ")}] has more than 2^53 elements`, { shape });
}

/** The lowest and the highest element of its array that a tensor with elements reads. */
export function elementRange({
  shape,
  strides,
  offset,
}: {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}): [low: number, high: number] {
  let [low, high] = [offset, offset];
  shape.forEach((n, axis) => {
    const reach = (n - 1) * strides[axis];
    if (reach < 0) low += reach;
    else high += reach;
  });
  return [low, high];
}

function checkLengths(shape: Partial<readonly number[]> | undefined): void {
  if (!(Number(shape?.length) >= 0)) throw argumentError("shape", "a list of lengths", shape);
}

/** Strides of a row-major tensor. */
export function rowMajor(shape: readonly number[]): number[] {
  checkLengths(shape);
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  checkLengths(shape);
  let size = 1;
  for (const n of shape) size *= n;
  return size;
}

/** Calls `visit(start, count, step)` for each innermost row of a strided tensor, in row-major order. */
export function eachRow(
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  visit: (start: number, count: number, step: number) => void,
): void {
  if (sizeOf(shape) === 0) return;
  if (shape.length === 0) {
    visit(offset, 1, 1);
    return;
  }
  const last = shape.length - 1;
  const index = new Array<number>(last).fill(0);
  let start = offset;
  for (;;) {
    visit(start, shape[last], strides[last]);
    let axis = last - 1;
    for (; axis >= 0; axis--) {
      start += strides[axis];
      if (++index[axis] < shape[axis]) break;
      start -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}
