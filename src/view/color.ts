/**
 * Color scales for attention weights, 0 to 1, and the position of a weight on a scale.
 *
 * `plum` (paper to dark) is for pages: colors chosen by hand and interpolated in OKLab, so that equal differences look equal;
 * `plum-dark` is its version for dark pages. `signed` goes from rust through paper to indigo, for numbers around 0. `grey` is
 * for print. `magma` (black to light) is for terminals and other dark backgrounds: Stéfan van der Walt and Nathaniel Smith's
 * perceptually uniform map (matplotlib, CC0), 17 of its 256 colors, linearly interpolated in sRGB, at most 3 of 255 away from
 * the original. `magma-256` is for terminals with 256 colors: eleven of those colors, each lighter than the one before, without
 * interpolation, since the nearest colors to magma's would mix greys, navy and violet. `cividis`, after Nuñez, Anderton and
 * Renslow (2018), looks nearly the same to all kinds of color vision. The lightness of all scales except `signed` is monotonic.
 *
 * OKLab: Björn Ottosson, "A perceptual color space for image processing" (2020).
 */
import { levelOf } from "./level.ts";

export { levelOf, placeOf, type Transfer } from "./level.ts";

import { checkArgument, isList } from "../core/errors.ts";

/** Red, green and blue, integers 0 to 255. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** A color scale. */
export type Ramp =
  | "plum"
  | "plum-dark"
  | "grey"
  | "grey-dark"
  | "cividis"
  | "magma"
  | "magma-256"
  | "signed"
  | "signed-dark";

/** The colors of each scale, evenly spaced. */
const POINTS: Readonly<Record<Ramp, string>> = {
  plum: "fbfaf7 e9ddea c9a9cb 9a6aa0 6b3470 3f0538",
  "plum-dark": "14151a 2f2138 573465 8a5696 c38fc6 fed4fc",
  grey: "fbfaf7 1b1a17",
  "grey-dark": "14151a eceae3",
  cividis:
    "002051 012b65 11366c 26426e 3c4d6e 51586e 62646f 727071 7f7c75 8c8877 9a9478 a9a177 bbaf71 cebd68 e2cb5c f3da4f fdea45",
  magma:
    "000004 0a0822 1d1147 36106b 51127c 6a1c81 832681 9c2e7f b73779 d0416f e75263 f56b5c fc8961 fea772 fec488 fde2a3 fcfdbf",
  "magma-256": "000000 5f005f 87005f af005f d7005f ff5f5f ff875f ffaf5f ffd75f ffff5f ffffd7",
  signed: "7d2900 fbfaf7 12299c",
  "signed-dark": "fe9932 14151a 42acff",
};

/** The 256 colors of each scale, computed at first use. */
const tables = new Map<Ramp, readonly Rgb[]>();

/** The 256 colors of a scale. In signed scales, color 128 is 0, the color of the paper. */
export function colorTable(ramp: Ramp): readonly Rgb[] {
  let table = tables.get(ramp);
  if (table === undefined) {
    checkArgument(
      Object.hasOwn(POINTS, ramp),
      "colorTable",
      `one of ${Object.keys(POINTS).join(", ")}`,
      ramp,
    );
    const points = POINTS[ramp].split(" ").map((hex) => parseHex(hex));
    const signed = ramp.startsWith("signed");
    const place = (i: number) => (signed ? (i < 128 ? i / 256 : 0.5 + (i - 128) / 254) : i / 255);
    if (ramp === "magma-256") {
      table = Array.from({ length: 256 }, (_, i) => points[Math.floor((i * points.length) / 256)]);
      tables.set(ramp, table);
      return table;
    }
    const perceptual = ramp !== "magma" && ramp !== "cividis";
    table = Array.from({ length: 256 }, (_, i) => between(points, place(i), perceptual));
    tables.set(ramp, table);
  }
  return table;
}

/** The color of a position on a scale. Positions outside 0 to 1 have the color of the nearest end, NaN the color of 0. */
export function colorAt(place: number, ramp: Ramp): Rgb {
  return colorTable(ramp)[levelOf(place)];
}

/** Lightness in OKLab, 0 (black) to 1 (white). */
export function lightness(color: Rgb): number {
  checkColor("lightness", color);
  return toOklab(color)[0];
}

function checkColor(what: string, color: Rgb): void {
  checkArgument(isList(color) && color.length === 3, what, "[red, green, blue], each 0 to 255", color);
}

/** `#rrggbb`. */
export function hex(color: Rgb): string {
  checkColor("hex", color);
  return `#${color.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * The nearest of xterm's 256 colors by distance in OKLab, so that a scale keeps its hue and its order of lightness. Only the
 * 6 × 6 × 6 cube and the 24 greys are used; the first 16 colors differ between terminals.
 */
export function xterm256(color: Rgb): number {
  checkColor("xterm256", color);
  const key = (color[0] << 16) | (color[1] << 8) | color[2];
  const cached = nearest.get(key);
  if (cached !== undefined) return cached;
  const [l, a, b] = toOklab(color);
  let [best, least] = [16, Number.POSITIVE_INFINITY];
  for (let code = 16; code < 256; code++) {
    const [l2, a2, b2] = toOklab(xtermColor(code));
    const distance = (l - l2) ** 2 + (a - a2) ** 2 + (b - b2) ** 2;
    if (distance < least) [best, least] = [code, distance];
  }
  nearest.set(key, best);
  return best;
}

const nearest = new Map<number, number>();

function xtermColor(code: number): Rgb {
  const grey = 8 + 10 * (code - 232);
  if (code >= 232) return [grey, grey, grey];
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  const at = code - 16;
  return [level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6)];
}

function parseHex(text: string): Rgb {
  const value = Number.parseInt(text, 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

function between(points: readonly Rgb[], place: number, perceptual: boolean): Rgb {
  const at = place * (points.length - 1);
  const i = Math.min(points.length - 2, Math.floor(at));
  const mix = (a: readonly number[], b: readonly number[]) => a.map((x, j) => x + (b[j] - x) * (at - i));
  const mixed = perceptual
    ? fromOklab(mix(toOklab(points[i]), toOklab(points[i + 1])))
    : mix(points[i], points[i + 1]);
  const [red, green, blue] = mixed.map((value) => Math.round(Math.min(255, Math.max(0, value))));
  return [red, green, blue];
}

function toOklab(color: Rgb): readonly [number, number, number] {
  const [r, g, b] = color.map((value) => {
    const x = value / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness, a, b]: readonly number[]): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((x) => 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
}
