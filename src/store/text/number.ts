/**
 * Numbers for people. Every number that is shown goes through `num`, which writes it and says which function gave it:
 * three significant digits (four in ledgers), a true minus sign, thousands parted by a narrow space, powers of ten for
 * what is very large or very small. Nothing is made up here, and nothing shown without a source.
 */
import { refuseGot } from "../../core/errors.ts";

/** A number on screen: its value, its text, and the function that computed it; see `number.ts`. */
export interface Num {
  readonly value: number;
  readonly text: string;
  readonly source: string;
}

/** How a number is written. */
export interface NumberOptions {
  /** Significant digits; 3 by default. Whole numbers below 10⁶ are written whole. */
  readonly digits?: number;
  /**
   * `percent` writes a share as "61 %"; only 0 is "0 %" and only all is "100 %": what is close to them is "<0.1 %", "99.6 %", ">99.9 %".
   * `signed` puts a plus sign before what is above 0.
   */
  readonly style?: "plain" | "percent" | "signed";
  /** Written after the number: nat, ms, kB. */
  readonly unit?: string;
  /** Percent from 10 % on: to the nearest whole number, or down, so that several shares never sum to more than 100 %. */
  readonly round?: "nearest" | "down";
}

const MINUS = "−";
/** Narrow no-break space (U+202F): between thousands, and before a unit or a percent sign. */
const THIN = "\u202f";

const listeners = new Set<(number: Num) => void>();

/** A number to show: its value, its text, and `source`, the library function that gave it. */
export function num(value: number, source: string, options: NumberOptions = {}): Num {
  if (typeof source !== "string" || source === "")
    refuseGot("source", "num: a number that is shown needs the name of the function that gave it", source, {
      value,
    });
  const number = { value, text: formatNumber(value, options), source };
  for (const listener of listeners) listener(number);
  return number;
}

/** Calls `listener` with every number made from now on; returns a function that ends it. For tests that check each one. */
export function onNumber(listener: (number: Num) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** A number as text; see `num`. */
export function formatNumber(value: number, options: NumberOptions = {}): string {
  const { digits = 3, style = "plain", unit, round = "nearest" } = options;
  if (!(Number.isInteger(digits) && digits >= 1 && digits <= 17))
    refuseGot("digits", "formatNumber: digits must be an integer from 1 to 17", digits, { digits });
  const sign = value < 0 || Object.is(value, -0) ? MINUS : style === "signed" && value > 0 ? "+" : "";
  const isFloored = style === "percent" && round === "down" && Math.abs(value) >= 0.1;
  const percent = isFloored ? Math.floor(100 * Math.abs(value)) / 100 : value;
  const size = magnitude(Math.abs(style === "percent" ? 100 * percent : value), digits, style === "percent");
  // −0 and what rounds to nothing have no sign.
  const text = (size === "0" ? "" : sign) + size;
  if (style === "percent") return `${text}${THIN}%`;
  return unit === undefined ? text : `${text}${THIN}${unit}`;
}

function magnitude(size: number, digits: number, percent: boolean): string {
  if (size !== size) return "NaN";
  if (size === Infinity) return "∞";
  if (size === 0) return "0";
  if (percent) return percentage(size);
  if (Number.isInteger(size) && size < 1e6) return grouped(String(size));
  const [mantissa, exponent] = size.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 9) return `${mantissa}·10${superscript(power)}`;
  return grouped(Number(`${mantissa}e${exponent}`).toFixed(Math.max(0, digits - 1 - power)));
}

/** A share that differs from 1 by less than float32 can hold is 1. */
const ALL = 100 * (1 - 2 ** -20);

/** Not 0 and not 100 unless it is: a decimal below 10 and from 99.5 on. */
function percentage(size: number): string {
  if (size < 0.1) return "<0.1";
  if (size >= 99.5 && size < ALL) return size < 99.95 ? size.toFixed(1) : ">99.9";
  return grouped(size < 9.95 ? trimmed(size.toFixed(1)) : size.toFixed(0));
}

/**
 * A share in whole per cents, for tables with narrow cells: "61", "<1", ">99"; only 0 is "0" and only all is "100".
 *
 * @param share from 0 to 1
 */
export function wholePercent(share: number): string {
  if (share !== share) return "NaN";
  if (share > 0 && share < 0.005) return "<1";
  if (share >= 0.995 && 100 * share < ALL) return ">99";
  return formatNumber(Math.round(100 * share));
}

/** A share in per cents with one decimal, for columns of a terminal: "61.4 %", "<0.1 %", ">99.9 %". */
export function decimalPercent(share: number): string {
  if (share > 0 && share < 0.001) return "<0.1 %";
  if (share >= 0.9995 && 100 * share < ALL) return ">99.9 %";
  return `${(100 * share).toFixed(1)} %`;
}

/** "2.0" as "2". */
function trimmed(text: string): string {
  return text.replace(/\.0$/, "");
}

/** Thousands parted from five digits on: 1024 stays, 16 384 is parted. */
function grouped(text: string): string {
  const [integer, fraction] = text.split(".");
  const parted = integer.length > 4 ? integer.replace(/\B(?=(\d{3})+$)/g, THIN) : integer;
  return fraction === undefined ? parted : `${parted}.${fraction}`;
}

/** An integer in superscript digits: −18 as ⁻¹⁸. */
export function superscript(power: number): string {
  return [...String(power)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");
}
