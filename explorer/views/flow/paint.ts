/** Paints the bands of the flow: a column of bars for each layer, bands between them, the numbers of the input at the left. */
import { formatNumber } from "../../../src/store/text/number.ts";
import type { Paints } from "../../canvas/colors.ts";
import type { Bands } from "./bands.ts";

/** The pixels above the columns of tokens, and the maximum width of a band. */
export const TOP = 22;
const MAX_WIDTH = 32;

/** The position of the columns in pixels. */
export interface ColumnPlace {
  readonly left: number;
  readonly right: number;
  readonly height: number;
  readonly pitch: number;
}

/** What is painted. */
export interface BandsPicture {
  readonly bands: Bands;
  readonly place: ColumnPlace;
  readonly paints: Paints;
  /** Device pixels a pixel. */
  readonly ratio: number;
  readonly layers: readonly number[];
  /** The pixels for the numbers of the input; 0: there is no space. */
  readonly number: number;
  /** The share of each input token. */
  readonly inputs: Float64Array;
  readonly query: number;
  readonly key: number;
  /** Whether a token is special. */
  readonly special: readonly boolean[];
  /** The column and position under the pointer. */
  readonly pointed: readonly [column: number, position: number] | undefined;
}

export function paintBands(context: CanvasRenderingContext2D, picture: BandsPicture): void {
  const { paints, ratio, layers, number, inputs, query, key, special, pointed } = picture;
  const { left, right, pitch, height } = picture.place;
  const { shares, bands } = picture.bands;
  const columns = shares.length;
  const x = (column: number) => left + ((right - left) * column) / Math.max(1, columns - 1);
  const y = (position: number) => TOP + (position + 0.5) * pitch;
  const widest = Math.min(MAX_WIDTH, Math.max(6, pitch * 0.85));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.font = `11px ${paints.mono}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillStyle = paints.second;
  const every = Math.max(1, Math.ceil(40 / Math.max(1, x(1) - x(0))));
  for (let column = 0; column < columns; column++)
    if (column === 0 || column === columns - 1 || (column % every === 0 && columns - 1 - column >= every))
      context.fillText(column === 0 ? "input" : `L${layers[column - 1]}`, x(column), 9);
  context.strokeStyle = paints.line;
  context.lineWidth = 1;
  context.beginPath();
  for (let column = 0; column < columns; column++) {
    context.moveTo(x(column), TOP);
    context.lineTo(x(column), TOP + height);
  }
  context.stroke();
  for (const { step, from, to, share } of bands) {
    // Bands from special tokens are gray: they have the largest shares of a rollout, and say little about a text.
    context.strokeStyle = special[from] ? paints.second : paints.weight;
    const touched =
      pointed === undefined ||
      (pointed[0] === step && pointed[1] === from) ||
      (pointed[0] === step + 1 && pointed[1] === to);
    const [a, b] = [x(step), x(step + 1)];
    context.globalAlpha = touched ? Math.max(0.18, Math.min(0.8, 0.25 + share)) : 0.06;
    context.lineWidth = Math.max(0.6, share * widest);
    context.beginPath();
    context.moveTo(a, y(from));
    context.bezierCurveTo((a + b) / 2, y(from), (a + b) / 2, y(to), b, y(to));
    context.stroke();
  }
  context.globalAlpha = 1;
  for (const [column, share] of shares.entries())
    for (let position = 0; position < share.length; position++) {
      if (share[position] < 0.002) continue;
      const size = Math.max(1.5, share[position] * widest);
      const on = pointed?.[0] === column && pointed[1] === position;
      context.fillStyle =
        on || (column === columns - 1 && position === query)
          ? paints.query
          : special[position]
            ? paints.second
            : paints.weight;
      context.fillRect(x(column) - 2.5, y(position) - size / 2, 5, size);
    }
  if (number === 0 || pitch < 12) return;
  context.textAlign = "right";
  context.font = `11px ${paints.mono}`;
  for (let position = 0; position < inputs.length; position++) {
    context.fillStyle = position === key ? paints.ink : paints.second;
    context.fillText(percent(inputs[position]), left - 8, y(position));
  }
}

const percent = (share: number) => formatNumber(share, { style: "percent", digits: 2 });
