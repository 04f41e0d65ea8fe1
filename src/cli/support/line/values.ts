/** Parses values of options as numbers, lists and shapes. Every error is a UsageError that names the option. */
import { UsageError, type Values } from "./command.ts";

const got = (text: unknown) => `got ${JSON.stringify(text)}`;

/** An option that may be missing, read by a function of its name and text, which may have more arguments. */
export const optional = <T, More extends readonly unknown[]>(
  values: Values,
  option: string,
  read: (name: string, text: unknown, ...more: More) => T,
  ...more: More
): T | undefined => (values[option] === undefined ? undefined : read(option, values[option], ...more));

/** A finite number. */
export function number(name: string, text: unknown): number {
  const value = typeof text === "string" && text.trim() !== "" ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new UsageError(`--${name} must be a number, ${got(text)}`);
  return value;
}

/** An integer from `least` to `most`. */
export function integer(
  name: string,
  text: unknown,
  least = Number.MIN_SAFE_INTEGER,
  maximum = Number.MAX_SAFE_INTEGER,
): number {
  const value = typeof text === "string" && /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(Number.isSafeInteger(value) && value >= least && value <= maximum)) {
    const range =
      least === Number.MIN_SAFE_INTEGER
        ? "an integer"
        : maximum === Number.MAX_SAFE_INTEGER
          ? `an integer ≥ ${least}`
          : `an integer from ${least} to ${maximum}`;
    throw new UsageError(`--${name} must be ${range}, ${got(text)}`);
  }
  return value;
}

/** True for a text of numbers separated by commas, as opposed to a file name. */
export function isNumberList(text: string): boolean {
  return /^[+-]?[\d.][\d.eE+-]*(,[+-]?[\d.][\d.eE+-]*)*$/.test(text);
}

/** Numbers separated by commas. */
export function numbers(name: string, text: unknown): number[] {
  return String(text)
    .split(",")
    .map((part) => {
      const value = part.trim() === "" ? Number.NaN : Number(part);
      if (!Number.isFinite(value))
        throw new UsageError(`--${name} must be numbers between commas, ${got(text)}`);
      return value;
    });
}

/** Integers separated by commas. */
export function integers(name: string, text: unknown): number[] {
  return numbers(name, text).map((value) => {
    if (!Number.isSafeInteger(value))
      throw new UsageError(`--${name} must be integers between commas, ${got(text)}`);
    return value;
  });
}

/** Indices: integers and ranges separated by commas, `0,4-7,-1`; negative ones count from the end. */
export function indices(name: string, text: unknown): number[] {
  const list: number[] = [];
  for (const part of String(text).split(",")) {
    const range = /^(\d+)-(\d+)$/.exec(part.trim());
    if (range === null) {
      list.push(integer(name, part.trim()));
      continue;
    }
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (from > to || to - from > 1e7) throw new UsageError(`--${name}: ${part} is no range of indices`);
    for (let i = from; i <= to; i++) list.push(i);
  }
  return list;
}

/** A shape: integers ≥ 0 separated by commas (or "x"), by default two to eight of them. */
export function shape(name: string, text: unknown, least = 2, maximum = 8): number[] {
  const parts = String(text).split(/[,x×]/);
  const axes = parts.map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  if (axes.some((n) => !Number.isSafeInteger(n)) || axes.length < least || axes.length > maximum)
    throw new UsageError(
      `--${name} must be ${least === maximum ? least : `${least} to ${maximum}`} lengths between commas, as 1,12,1024,64; ${got(text)}`,
    );
  return axes;
}

/** One of a few words. */
export function oneOf<T extends string>(name: string, text: unknown, words: readonly T[]): T {
  if (!words.includes(text as T))
    throw new UsageError(
      `--${name} must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}, ${got(text)}`,
    );
  return text as T;
}
