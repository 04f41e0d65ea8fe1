/** Weights of selected rows, and the check that they sum to 1: lse and the options then belong to one call. */
import type { Selection } from "../backend/contract.ts";
import type { Problem } from "../backend/problem.ts";
import { lseReader } from "../backend/results.ts";
import { DTYPES, type FloatDType, readerOf, roundingOf } from "../core/dtype.ts";
import { OptionError } from "../core/errors.ts";
import { operandOf, type Shape } from "../core/shape.ts";
import type { State } from "../core/state.ts";
import { sameDevice, type Tensor } from "../core/tensor.ts";
import { weightsBackend } from "./dispatch/forward.ts";

/** The weights of some heads and rows of a call. */
export function weightsOf(problem: Problem, lse: Tensor, selection: Selection): Tensor<FloatDType> {
  const backend = weightsBackend({ kind: "weights", problem });
  sameDevice(problem.caller, [
    ["query", problem.shape.query.tensor.device],
    ["lse", lse.device],
  ]);
  return backend.weights(problem, lse, selection) as Tensor<FloatDType>;
}

/**
 * With the options of the forward call each row sums to 1 (with sinks: to 1 minus the share of the sink); a fully masked row
 * sums to 0. Any other sum means that lse belongs to another call, and is refused. `weights` are the computed ones, if they are without dropout.
 */
export function checkRowSums(
  problem: Problem,
  lseTensor: Tensor,
  selection: Selection,
  weights?: Tensor,
): void {
  // On another device the sums could only be read asynchronously.
  if (lseTensor.device !== "cpu") return;
  const { shape, sinks } = problem;
  const { heads, rows } = selection;
  // Dropped weights sum to anything: the sums are those before dropout.
  const { data, dtype } = weights ?? weightsOf({ ...problem, dropoutP: 0 }, lseTensor, selection);
  const slack = slackOf(dtype as FloatDType);
  const lse = lseReader(shape, lseTensor);
  const read = readerOf(dtype, data);
  let at = 0;
  for (let b = 0; b < shape.B; b++)
    for (const h of heads)
      for (const row of rows) {
        const rowLse = lse(b, h, row);
        let sum = 0;
        for (let k = 0; k < shape.Nk; k++) sum += read(at++);
        // NaN in the inputs propagates as in the formula.
        if (sum !== sum || rowLse !== rowLse || (sum === 0 && rowLse === -Infinity)) continue;
        const want = 1 - (sinks ? Math.exp(sinks[h] - rowLse) : 0);
        const isOff = (error: number) => Math.abs(sum - want) > error;
        if (isOff(slack) && isOff(slack + Math.expm1(scoreError(problem, b, h, row, rowLse))))
          throw new OptionError(
            "weights-sum",
            `${problem.caller}: the weights of row ${row} of head ${h}${shape.B > 1 ? ` of batch entry ${b}` : ""} sum to ${sum.toPrecision(4)}, not to ${want.toPrecision(4)}; give the options of the call that returned lse (attnMask, isCausal, queryOffset, scale, scoreMod, sinks)${
              sum < want ? ", or checkSums: false where key holds only some of its keys" : ""
            }`,
            { batch: b, head: h, row, sum, expected: want },
          );
      }
}

/** Throws where the first or last number of a row of the output is not Σ weight · value: it is the output of another call. */
export function checkOutput(
  problem: Problem,
  { output, lse: lseTensor }: Pick<State, "output" | "lse">,
  { heads, rows }: Selection,
  { data, dtype }: Tensor,
): void {
  const { shape, caller } = problem;
  const { value, B, G, Nk, dv } = shape;
  // Numbers below the smallest normal one are rounded to multiples of a number.
  const { lowest, fraction } = DTYPES[output.dtype].bits ?? { lowest: -100, fraction: 6 };
  const least = Math.max(2 ** -100, 2 ** (lowest - fraction + 6));
  const slack = slackOf(output.dtype as FloatDType);
  const [out, lse] = [operandOf(shape, output), lseReader(shape, lseTensor)];
  const [weight, v, o] = [{ data, dtype }, value.tensor, output].map((t) => readerOf(t.dtype, t.data));
  let at = 0;
  for (let b = 0; b < B; b++)
    for (const h of heads)
      for (const row of rows) {
        for (const e of dv === 0 ? [] : [0, dv - 1]) {
          const first = value.base[b] + Math.floor(h / G) * value.head + e * value.column;
          let sum = 0;
          let size = least;
          for (let k = 0; k < Nk; k++) {
            const w = weight(at + k);
            const x = w === 0 ? 0 : w * v(first + k * value.row);
            // Kernels may count a weight below 2⁻¹²⁰ of the largest as 0.
            const isTiny = w < 2 ** -100;
            if (!isTiny) sum += x;
            size += Math.abs(x) * (isTiny ? 100 : 1);
          }
          const got = o(out.base[b] + h * out.head + row * out.row + e * out.column);
          // Large scores have a large error. NaN and infinity propagate as in the formula.
          const isOff = (share: number) => Math.abs(got - sum) > share * size && Number.isFinite(got);
          if (isOff(slack) && isOff(slack + Math.expm1(scoreError(problem, b, h, row, lse(b, h, row)))))
            throw new OptionError(
              "output",
              `${caller}: output is ${got.toPrecision(4)} in row ${row} of head ${h}, but weights · value is ${sum.toPrecision(4)}; give the output of the call with this query, key and value that returned lse`,
              { batch: b, head: h, row, got, expected: sum },
            );
        }
        at += Nk;
      }
}

/** What a sum of rounded numbers may differ by. */
const slackOf = (dtype: FloatDType): number => Math.max(0.02, 2 * roundingOf(dtype));

/**
 * Error of the exponent of a weight from rounding: a score s has one of about dk·s units in the last place, and lse one of its own. It
 * matters for scores above some 10⁴.
 */
function scoreError(
  { shape, scale, dtype }: Problem,
  b: number,
  h: number,
  row: number,
  rowLse: number,
): number {
  const { query, key, G, Nk, dk } = shape;
  const norm = ({ tensor, base, row: step, head, column }: Shape["query"], group: number, n: number) => {
    const read = readerOf(tensor.dtype, tensor.data);
    let squares = 0;
    for (let d = 0; d < dk; d++) squares += read(base[b] + group * head + n * step + d * column) ** 2;
    return Math.sqrt(squares);
  };
  let longest = 0;
  for (let k = 0; k < Nk; k++) longest = Math.max(longest, norm(key, Math.floor(h / G), k));
  const unit = dtype === "float64" ? 2 ** -53 : 2 ** -24;
  // Masks and score mods make scores larger than q·k; the largest of a row is near its lse.
  return 4 * unit * ((dk + 4) * Math.abs(scale) * norm(query, h, row) * longest + 4 * Math.abs(rowLse));
}
