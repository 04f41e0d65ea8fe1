/** Operations, memory and time of each way, as bars. */
import { barPanels } from "../frame/bars.ts";
import { byteCount, count, number } from "../frame/words.ts";
import { SHORT, SIZES, type VariantsView, WAYS } from "./state.ts";

/** What each way costs at the race's n. The axes of work and memory end at the whole matrix of the largest n, so sizes are compared, too. */
export function costs({ numbers: { costs }, state, wide }: VariantsView): string {
  const growth = (Math.max(...SIZES) / state.n) ** 2;
  const [operations, bytes] = [costs.map((cost) => cost.operations), costs.map((cost) => cost.bytes)];
  return barPanels(
    wide ? WAYS : SHORT,
    `n = ${state.n.toLocaleString("en-US")}, vectors of 64 numbers`,
    wide,
    [
      ["multiply and add", operations, count, operations[0] * growth],
      ["memory in between", bytes, byteCount, bytes[0] * growth],
      [
        "time here",
        costs.map(({ ms }) => ms),
        (time) => (Number.isNaN(time) ? "press Race" : `${number(time)} ms`),
      ],
    ],
  );
}
