/** Sizes that can be pulled, their ranges, and where the boxes of the two pictures are. */
import { integer, oneOf, type StateFields, toggle } from "../frame/fields.ts";
import { guessOf, type LabView } from "../frame/page.ts";
import type { Shapes, ShapesNumbers } from "./compute.ts";

/** What the drawing functions get. */
export type ShapesView = LabView<Shapes, ShapesNumbers>;
/** Sizes that can be pulled. */
export type Size = "b" | "h" | "n" | "m" | "dk" | "dv" | "kd" | "d";

/** Smallest and largest of each size. */
export const RANGE: Readonly<Record<Size, readonly [number, number]>> = {
  b: [1, 32],
  h: [1, 16],
  n: [1, 40],
  m: [1, 40],
  dk: [1, 128],
  dv: [1, 128],
  kd: [1, 128],
  d: [8, 96],
};
const size = (name: Size, initial: number) => integer(initial, ...RANGE[name]);

/** What does not fit, and its button. */
export const WRONG_NAMES = [
  ["", "fits"],
  ["key", "keys too short"],
  ["value", "V transposed"],
  ["axes", "axes swapped"],
] as const;

/** What a reader can change. */
export const fields: StateFields<Shapes> = {
  view: oneOf(["call", "layer", "translation"]),
  b: size("b", 32),
  h: size("h", 1),
  n: size("n", 10),
  m: size("m", 10),
  dk: size("dk", 64),
  dv: size("dv", 64),
  self: toggle(true),
  wrong: oneOf(WRONG_NAMES.map(([name]) => name)),
  kd: size("kd", 48),
  d: size("d", 64),
};

/** The sizes of the translator's call: ten words look at ten words. */
export const TRANSLATION = { b: 1, h: 1, n: 10, m: 10, dk: 32, dv: 32, self: false, wrong: "" } as const;

/** A shape as the languages print it. */
export const tuple = (shape: readonly number[]) => `(${shape.join(", ")})`;
/** How many numbers a shape holds. */
export const cells = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** Where things are: one unit is `u` wide in both directions. Rows begin at `row`, what is above them ends at `above`. */
export const callAt = (wide: boolean) =>
  wide
    ? { u: 2.2, qRight: 326, sLeft: 362, oLeft: 520, row: 336, above: 302 }
    : { u: 1, qRight: 148, sLeft: 166, oLeft: 232, row: 178, above: 160 };
/** The same of a layer. */
export const layerAt = (wide: boolean) =>
  wide
    ? { u: 1.3, xRight: 158, left: 172, gap: 6, oLeft: 580, yLeft: 722, row: 236, above: 212, heads: 330 }
    : { u: 0.52, xRight: 58, left: 72, gap: 3, oLeft: 240, yLeft: 306, row: 92, above: 80, heads: 138 };

/** The words of the sentences in the prediction. */
export const LONG = 40;
/** The largest guess: how many times as many numbers. */
export const LARGEST_GUESS = 40;
/** Side of a square with `times` as many numbers as S has at first. */
export const guessSide = (times: number, u: number) => fields.n.initial * Math.sqrt(times) * u;
/** Whether a guess is in the picture: it has the place of the label of S. */
export const isGuessed = ({ n, m, wrong, ...state }: Shapes) =>
  guessOf(state, 1) >= 0 && n === LONG && m === LONG && wrong === "";

/** A rectangle of the picture. */
export interface PictureBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A count with its unit: 1 head, 2 heads. */
export const numberOf = (value: number, one: string, more: string) => `${value} ${value === 1 ? one : more}`;
