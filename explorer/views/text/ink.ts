/**
 * The text color on a tint: the contrast after WCAG 2.2 is at least 4.5 : 1 on every color of every scale.
 *
 *     L = 0.2126·R + 0.7152·G + 0.0722·B    of linear light        contrast = (lighter + 0.05) / (darker + 0.05)
 */
import { colorTable, hex, type Ramp, type Rgb } from "../../../src/view/color.ts";
import { cached } from "../../canvas/cached.ts";

const linear = (value: number) => {
  const x = value / 255;
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
};

const luminance = ([red, green, blue]: Rgb) =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

/** The contrast of two colors, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

/** The text colors: the ink and paper of the page first; on medium tones only black or white has enough contrast. */
const INKS: readonly Rgb[] = [
  [27, 26, 23],
  [251, 250, 247],
  [0, 0, 0],
  [255, 255, 255],
];

/** The text color on a background color. */
export function inkOn(ground: Rgb): Rgb {
  const fit = INKS.find((ink) => contrast(ink, ground) >= 4.5);
  return fit ?? INKS.reduce((a, b) => (contrast(b, ground) > contrast(a, ground) ? b : a));
}

/** A background color and its text color, in CSS notation. */
export interface Tint {
  readonly ground: string;
  readonly ink: string;
}

const tints = new Map<Ramp, readonly Tint[]>();

/** The 256 colors of a scale with their text colors. */
export function tintsOf(ramp: Ramp): readonly Tint[] {
  return cached(tints, ramp, () =>
    colorTable(ramp).map((color) => ({ ground: hex(color), ink: hex(inkOn(color)) })),
  );
}
