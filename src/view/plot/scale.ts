/**
 * Scales after d3-scale: a function from values to positions that knows its domain, its range, its inverse and its ticks.
 *
 *     position = range[0] + share·(range[1] − range[0]),  share = (t(value) − t(low)) / (t(high) − t(low))
 *
 * where `t` is the transform of the scale's type. A domain of one value has all positions in the middle. NaN has the position NaN,
 * which marks leave out.
 */

import { superscript } from "../../store/text/number.ts";

/** The transform of each type of scale, and its inverse. */
const TRANSFORMS = {
  linear: [(x: number) => x, (x: number) => x],
  log: [Math.log10, (x: number) => 10 ** x],
  sqrt: [Math.sqrt, (x: number) => x * x],
} as const;

/** The options of a scale. */
export interface ScaleOptions {
  /** Default `linear`. The values of `log` are positive, those of `sqrt` not negative. */
  readonly type?: keyof typeof TRANSFORMS;
  readonly domain: readonly [low: number, high: number];
  /** Positions of both ends of the domain; an axis that points up has the larger first. */
  readonly range: readonly [start: number, end: number];
  /** True: values outside the domain have the position of its nearest end. Default false. */
  readonly clamp?: boolean;
}

/** A scale: `scale(value)` is a position. */
export interface PlotScale extends Required<ScaleOptions> {
  (value: number): number;
  /** The value at a position. */
  invert(position: number): number;
  /** About `count` round values of the domain; of logarithmic scales, powers. Default 5. */
  ticks(count?: number): number[];
}

/**
 * A scale from a domain to a range.
 *
 * @example
 * const x = scaleOf({ type: "log", domain: [16, 1024], range: [60, 440] });
 * x(128), x.invert(250), x.ticks();
 */
export function scaleOf({ type = "linear", domain, range, clamp = false }: ScaleOptions): PlotScale {
  const [transform, inverse] = TRANSFORMS[type];
  const [low, high] = [transform(domain[0]), transform(domain[1])];
  const [start, end] = range;
  const limit = (share: number) => (clamp ? Math.min(1, Math.max(0, share)) : share);
  const position = (value: number) => {
    const share = high === low ? value - value + 0.5 : (transform(value) - low) / (high - low);
    return start + limit(share) * (end - start);
  };
  return Object.assign(position, {
    type,
    domain,
    range,
    clamp,
    invert: (at: number) =>
      inverse(low + limit(end === start ? 0.5 : (at - start) / (end - start)) * (high - low)),
    ticks: (count = 5) =>
      type === "log" ? logTicks(domain[0], domain[1], count + 2) : niceTicks(domain[0], domain[1], count),
  });
}

/** Equal intervals along an axis, one for each bar or cell, after d3's band scale. */
export interface BandScale {
  readonly count: number;
  /** Distance of two starts. */
  readonly step: number;
  /** Length of a band: a step without its padding. */
  readonly bandwidth: number;
  start(index: number): number;
  middle(index: number): number;
}

/** A band scale; `padding` is the share of a step that is left empty, half of it on each end. Default 0. */
export function bandScale(count: number, [start, end]: readonly [number, number], padding = 0): BandScale {
  const step = (end - start) / Math.max(1, count);
  return {
    ...{ count, step, bandwidth: step * (1 - padding) },
    start: (index) => start + step * (index + padding / 2),
    middle: (index) => start + step * (index + 0.5),
  };
}

/** The least of 1, 2 or 5 times a power of ten that is at least `least`. */
export function niceStep(least: number): number {
  const decade = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return decade * ([1, 2, 5].find((digit) => digit * decade >= least * (1 - 1e-9)) ?? 10);
}

/** Round numbers from `low` to `high`, about `count` of them: 1, 2 or 5 times a power of ten apart. Of one value, that value. */
export function niceTicks(low: number, high: number, count = 5): number[] {
  if (!(high > low && high - low < Infinity)) return Number.isFinite(low) ? [low] : [];
  const step = niceStep((high - low) / Math.max(1, count));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)));
}

/** Powers of ten from `low` to `high`, or of two where those are fewer than three; at most `limit` of them, at equal distances. */
export function logTicks(low: number, high: number, limit = 7): number[] {
  const decades = multiples(low, high, 10, [1]);
  const powers = decades.length >= 3 ? decades : multiples(low, high, 2, [1]);
  const stride = Math.ceil(powers.length / limit);
  return powers.filter((_, n) => n % stride === 0);
}

/** The ticks 1, 2 … 9 of each decade from `low` to `high`, which show that an axis is logarithmic. */
export function minorLogTicks(low: number, high: number): number[] {
  return multiples(low, high, 10, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/** The powers of `base` times each of the digits, from `low` to `high`. */
function multiples(low: number, high: number, base: number, digits: readonly number[]): number[] {
  if (!(low > 0 && high < Infinity)) return [];
  const values: number[] = [];
  for (let power = base ** Math.floor(Math.log(low) / Math.log(base)); power <= high * 1.001; power *= base)
    for (const digit of digits)
      if (digit * power >= low * 0.999 && digit * power <= high * 1.001) values.push(digit * power);
  return values;
}

/** A tick's number: at most four digits, exponents where it is very large or small. */
export function tickLabel(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 1e5)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5))
    return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  return String(Number(value.toPrecision(4)));
}

/** A power of ten as a tick's label: 10⁻⁴, and 1 for the power 0. */
export function powerLabel(power: number): string {
  return power === 0 ? "1" : `10${superscript(power)}`;
}
