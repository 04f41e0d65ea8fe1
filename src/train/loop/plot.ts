/**
 * A loss curve as text: dots of Braille patterns (2 × 4 per character, Unicode U+2800), with a scale on the left and the
 * steps below. The training loss is drawn as the mean over each column of dots; held-out losses are drawn as `o`.
 */
import { checkCount, checkInteger, refuseGot, refuseValue } from "../../core/errors.ts";
import { checkKinds, checkOptionNames } from "../../core/option-names.ts";

/** The data of a plot. */
export interface LossCurve {
  /** Loss of each step. */
  readonly losses: readonly number[];
  /** Held-out losses: the number of completed steps, and the loss at that point. */
  readonly heldOut?: readonly (readonly [step: number, loss: number])[];
  /** Horizontal lines, such as baselines: a name and its loss. */
  readonly lines?: readonly (readonly [name: string, loss: number])[];
}

/** Bits of a Braille character by dot row and column. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

const LOSS_CURVE = { "a list": "losses", "a list of lists": "heldOut lines" } as const;

/**
 * Draws a curve in `columns` by `rows` characters, including the scale; `ascii` uses ASCII characters only.
 *
 * @example
 * console.log(renderLoss({ losses: [2, 1.5, 1.2], heldOut: [] }, { columns: 40 }).join("\n"));
 */
export function renderLoss(
  curve: LossCurve,
  options: { columns?: number; rows?: number; ascii?: boolean } = {},
): string[] {
  checkCount("renderLoss", arguments, 2);
  checkOptionNames("renderLoss", options, ["columns", "rows", "ascii"]);
  if (!Array.isArray(curve?.losses))
    refuseGot("losses", "renderLoss: expected { losses: [...] }, the loss of each step", curve);
  checkKinds("renderLoss", curve, LOSS_CURVE);
  const isNumber = (x: unknown) => typeof x === "number";
  const isPair = (pair: readonly unknown[], isAt: (x: unknown) => boolean) =>
    pair.length === 2 && isAt(pair[0]) && isNumber(pair[1]);
  if (!curve.losses.every(isNumber)) refuseValue("renderLoss", "losses", "numbers", curve.losses);
  if (curve.heldOut?.every((one) => isPair(one, Number.isFinite)) === false)
    refuseValue("renderLoss", "heldOut", "pairs [step, loss]", curve.heldOut);
  if (curve.lines?.every((one) => isPair(one, (name) => typeof name === "string")) === false)
    refuseValue("renderLoss", "lines", "pairs [name, loss]", curve.lines);
  const { columns = 72, rows = 12, ascii = false } = options;
  for (const [name, n] of Object.entries({ columns, rows })) checkInteger("renderLoss", name, n, 1, 10_000);
  // Losses that are not finite are gaps.
  const isDrawn = ([, loss]: readonly [unknown, number]) => Number.isFinite(loss);
  const { losses } = curve;
  const [heldOut, lines] = [(curve.heldOut ?? []).filter(isDrawn), (curve.lines ?? []).filter(isDrawn)];
  const values = [...losses, ...heldOut.map(([, loss]) => loss), ...lines.map(([, loss]) => loss)].filter(
    Number.isFinite,
  );
  if (values.length === 0) return [];
  const margin = 8;
  const width = Math.max(8, columns - margin);
  const low = Math.min(...sampled(values));
  const high = Math.max(...sampled(values), low + 1e-9);
  const steps = Math.max(1, losses.length, ...heldOut.map(([step]) => step));
  const [across, down] = ascii ? [1, 1] : [2, 4];
  const height = rows * down;
  const y = (loss: number) => Math.round((1 - (loss - low) / (high - low)) * (height - 1));
  const cells = Array.from({ length: rows }, () => new Array<number | string>(width).fill(0));
  const dot = (x: number, at: number) => {
    const [row, column] = [Math.floor(at / down), Math.floor(x / across)];
    const cell = cells[row][column];
    if (typeof cell === "number") cells[row][column] = ascii ? "*" : cell | DOTS[at % down][x % across];
  };
  for (const [, loss] of lines) {
    const at = y(loss);
    for (let x = 0; x < width * across; x += 4 * across) dot(x, at);
  }
  const points = width * across;
  for (let x = 0; x < points; x++) {
    const from = Math.floor((x * steps) / points);
    const to = Math.max(from + 1, Math.floor(((x + 1) * steps) / points));
    const part = losses.slice(from, to);
    const mean = part.reduce((sum, loss) => sum + loss, 0) / part.length;
    if (Number.isFinite(mean)) dot(x, y(mean));
  }
  // Names are on the left, where the curve is above the lines.
  for (const [name, loss] of lines)
    [...name].forEach((letter, i) => {
      if (i + 2 < width) cells[Math.floor(y(loss) / down)][i + 2] = letter;
    });
  for (const [step, loss] of heldOut) {
    const column = Math.min(width - 1, Math.floor(((step - 0.5) / steps) * width));
    cells[Math.floor(y(loss) / down)][column] = "o";
  }
  const label = (row: number) => {
    if (row === 0) return high.toFixed(2);
    if (row === rows - 1) return low.toFixed(2);
    return "";
  };
  const bar = ascii ? "|" : "│";
  const drawn = cells.map((row, i) => {
    const text = row
      .map((cell) =>
        typeof cell === "string" ? cell : cell === 0 ? " " : String.fromCharCode(0x2800 + cell),
      )
      .join("");
    return `${label(i).padStart(margin - 2)} ${bar}${text}`.trimEnd();
  });
  const last = String(steps);
  drawn.push(`${" ".repeat(margin)}0${last.padStart(width - 1)}`);
  return drawn;
}

/** At most 4096 of the values, as arguments of `Math.min`. */
function sampled(values: readonly number[]): readonly number[] {
  const stride = Math.ceil(values.length / 4096);
  return stride === 1 ? values : values.filter((_, i) => i % stride === 0);
}
