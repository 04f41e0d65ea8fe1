/**
 * The color of letters on a tint, so that they can be read: contrast after WCAG 2.2, at least 4.5 : 1 on every color of
 * every scale.
 *
 *     L = 0.2126·R + 0.7152·G + 0.0722·B    of linear light        contrast = (lighter + 0.05) / (darker + 0.05)
 */
import { colorTable, hex, type Ramp, type Rgb } from "../../../src/view/color.ts";

const linear = (value: number) => {
  const x = value / 255;
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
};

const luminance = ([red, green, blue]: Rgb) =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

/** Contrast of two colors, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

/** The page's own ink and paper first; on middle tones only black or white is far enough. */
const INKS: readonly Rgb[] = [
  [27, 26, 23],
  [251, 250, 247],
  [0, 0, 0],
  [255, 255, 255],
];

/** What letters on a color are written in. */
export function inkOn(ground: Rgb): Rgb {
  const fit = INKS.find((ink) => contrast(ink, ground) >= 4.5);
  return fit ?? INKS.reduce((a, b) => (contrast(b, ground) > contrast(a, ground) ? b : a));
}

/** A ground and its ink, as a page writes them. */
export interface Tint {
  readonly ground: string;
  readonly ink: string;
}

const tints = new Map<Ramp, readonly Tint[]>();

/** The 256 grounds of a scale with their inks. */
export function tintsOf(ramp: Ramp): readonly Tint[] {
  let found = tints.get(ramp);
  if (found === undefined) {
    found = colorTable(ramp).map((color) => ({ ground: hex(color), ink: hex(inkOn(color)) }));
    tints.set(ramp, found);
  }
  return found;
}
