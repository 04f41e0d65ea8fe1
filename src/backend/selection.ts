/** Heads and rows whose weights a caller requests. */
import { formatValue, isList, OptionError, refuseGot } from "../core/errors.ts";
import type { Shape } from "../core/shape.ts";

/** Heads and rows as a caller writes them; negative numbers count from the end. Both default to all. */
export interface HeadsAndRows {
  heads?: readonly number[];
  rows?: readonly number[];
}

/** Heads and rows, resolved. */
export interface WeightSelection {
  heads: readonly number[];
  rows: readonly number[];
  /** True where the caller named neither. */
  all: boolean;
}

/** The heads and rows of the option `returnWeights`; undefined where no weights are requested. */
export function requestedWeights(
  what: string,
  request: boolean | HeadsAndRows | undefined,
  shape: Shape,
): WeightSelection | undefined {
  if (request === undefined || request === false) return undefined;
  if (request === true) return selectionOf(what, {}, shape);
  if (Object.prototype.toString.call(request) !== "[object Object]")
    refuseGot("weights", `${what}: returnWeights must be true, false or { heads?, rows? }`, request);
  for (const name of Object.keys(request))
    if (name !== "heads" && name !== "rows")
      refuseGot("weights", `${what}: returnWeights takes heads and rows`, name);
  return selectionOf(what, request, shape);
}

/** The heads and rows that a caller selects; both default to all. */
export function selectionOf(what: string, request: HeadsAndRows, shape: Shape): WeightSelection {
  const pick = (name: string, indices: readonly number[] | undefined, n: number): number[] => {
    if (indices === undefined) return Array.from({ length: n }, (_, i) => i);
    if (!isList(indices)) refuseGot("selection", `${what}: ${name} must be a list of integers`, indices);
    return Array.from(indices, (x) => {
      if (!(Number.isInteger(x) && x >= -n && x < n))
        throw new OptionError(
          "selection",
          `${what}: ${name} holds ${formatValue(x)}, expected integers from 0 to ${n - 1}`,
          { got: x },
        );
      return x < 0 ? x + n : x;
    });
  };
  const heads = pick("heads", request.heads, shape.Hq);
  const rows = pick("rows", request.rows, shape.Nq);
  return { heads, rows, all: request.heads === undefined && request.rows === undefined };
}
