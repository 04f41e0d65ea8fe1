/** Values of tensors on a terminal: of small ones by default, of large ones the edges with `--values`. */
import { isDType, type TypedData } from "../../../core/dtype.ts";
import type { NestedValues } from "../../../core/format.ts";
import { Tensor } from "../../../core/tensor.ts";
import type { FileTensor } from "../../../io/index.ts";
import { elementReader } from "../input/elements.ts";

/** Maximum elements of a tensor that is printed by default. */
export const SMALL = 64;
/** Maximum small tensors of a file that are printed by default. */
export const FEW = 8;

export const VALUES_HELP = {
  values: `print the values; of large tensors the first and last of each axis (tensors of at most ${SMALL} values are always printed)`,
} as const;

/** `name [2, 2] float32` and the rows below it; 8-bit floats, which are stored as raw bytes, have none. */
export function valueLines(name: string, t: FileTensor | Tensor): string[] {
  const head = `${name} [${t.shape.join(", ")}] ${t.dtype}`;
  const tensor = asOwn(t);
  if (tensor === undefined) return [`${head}: 8-bit floats, not shown`];
  const [first, ...rows] = tensor.toString().split("\n");
  return first.endsWith("empty") ? [`${head}: empty`] : [head, ...rows];
}

/** The values as nested lists; null for 8-bit floats. */
export function nestedValues(t: FileTensor | Tensor): NestedValues | null {
  return asOwn(t)?.toArray() ?? null;
}

/** The tensor in a dtype that heed computes with; undefined for 8-bit floats. */
function asOwn(t: FileTensor | Tensor): Tensor | undefined {
  if (t instanceof Tensor) return t;
  if (isDType(t.dtype)) return new Tensor(t.data as TypedData, t.shape, t.dtype);
  const read = elementReader(t);
  return (
    read &&
    new Tensor(
      Float64Array.from(t.data, (_: unknown, i: number) => read(i)),
      t.shape,
      "float64",
    )
  );
}

/** Elements of a shape. */
export function countOf(shape: readonly number[]): number {
  return shape.reduce((n, x) => n * x, 1);
}
