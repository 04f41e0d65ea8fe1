/** Masks of the registry by name, with random parameters. */
import type { MaskKind } from "../../../../src/masks/registry.ts";
import type { Random } from "../random.ts";

/** Random parameters of a registered mask over n positions: each at least its minimum, lists with one number per position. */
export const randomParameters = (
  r: Random,
  n: number,
  { parameters }: MaskKind,
): Record<string, number | number[]> => {
  const value = (least: number) => Math.max(least, r.int(-1, n));
  return Object.fromEntries(
    parameters.map(({ name, type, least }) => [
      name,
      type === "integer" ? value(least) : Array.from({ length: n }, () => Math.min(value(least), 2)),
    ]),
  );
};
