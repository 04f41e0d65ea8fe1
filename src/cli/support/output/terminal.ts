/**
 * Color depth of the terminal (NO_COLOR and FORCE_COLOR as at no-color.org and force-color.org), and formatting: bold and dim,
 * wrapping, tables, numbers with units.
 */
import type { WriteStream } from "node:tty";
import { widthOf } from "../../../store/text/label.ts";
import { EXIT, type Io } from "../line/command.ts";

/** The color depth to use on a stream, in bits. */
export function colorDepth(
  stream: Pick<WriteStream, "isTTY"> & { getColorDepth?: (env: object) => number },
  env: Io["env"],
): Io["color"] {
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) {
    if (forced === "0" || forced === "false") return 0;
    return forced === "3" ? 24 : forced === "2" ? 8 : 4;
  }
  if (env.NO_COLOR || !stream.isTTY || env.TERM === "dumb") return 0;
  const depth = stream.getColorDepth?.(env) ?? 1;
  return depth >= 24 ? 24 : depth >= 8 ? 8 : depth >= 4 ? 4 : 0;
}

/** Functions for bold, dim and colored text, which return the text unchanged without color. */
export function styler({ color }: Pick<Io, "color">) {
  const sgr = (open: number, close: number) => (text: string) =>
    color === 0 ? text : `\x1b[${open}m${text}\x1b[${close}m`;
  return { bold: sgr(1, 22), dim: sgr(2, 22), red: sgr(31, 39), green: sgr(32, 39), yellow: sgr(33, 39) };
}

/** Lines of at most `width` columns, broken between words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Rows as aligned columns; columns named in `right` are aligned right. */
export function columnsOf(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, text] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(text));
  return rows.map((row) =>
    row
      .map((text, i) => {
        const space = " ".repeat(widths[i] - widthOf(text));
        return right.includes(i) ? space + text : text + space;
      })
      .join("  ")
      .trimEnd(),
  );
}

/** 1234567 as `1.18 MiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = -1;
  let n = bytes;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${n.toPrecision(n >= 1000 ? 4 : 3)} ${units[i]}`;
}

/** 0.00123 s as `1.23 ms`. */
export function secondsText(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds >= 100) return `${Math.round(seconds)} s`;
  if (seconds >= 1) return `${seconds.toPrecision(3)} s`;
  return seconds >= 1e-3 ? `${(seconds * 1e3).toPrecision(3)} ms` : `${(seconds * 1e6).toPrecision(3)} µs`;
}

/** [1, 12, 1024, 64] as text. */
export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

/** A number with up to six digits, or −0, NaN or an infinity. */
export function numberText(x: number): string {
  if (Object.is(x, -0)) return "-0";
  if (!Number.isFinite(x)) return String(x).replace("Infinity", "inf");
  return Number.isInteger(x) && Math.abs(x) < 1e15 ? String(x) : String(Number(x.toPrecision(6)));
}

/** A value as JSON; infinities and NaN, which JSON lacks, as strings. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, (_, x) =>
    typeof x === "number" && !Number.isFinite(x) ? String(x) : typeof x === "bigint" ? Number(x) : x,
  )}\n`;
}

/** Prints a value as JSON; the exit code of a command that is done then. */
export function printJson({ stdout }: Pick<Io, "stdout">, value: unknown): number {
  stdout.write(jsonText(value));
  return EXIT.ok;
}

/** Prints paragraphs and a table whose columns `right` are numbers, and how many parts it leaves out. */
export function printTable(
  paragraphs: readonly string[],
  rows: readonly (readonly string[])[],
  more: number,
  io: Pick<Io, "stdout" | "columns">,
  right: readonly number[] = [1, 2],
): number {
  const lines = [
    ...paragraphs.flatMap((one) => [...wrap(one, Math.min(io.columns ?? 80, 160)), ""]),
    ...columnsOf(rows, right),
    ...(more > 0 ? [`${more} more ${more === 1 ? "part changes" : "parts change"} less (--top)`] : []),
  ];
  io.stdout.write(`${lines.join("\n")}\n`);
  return EXIT.ok;
}

/** Text with control characters escaped, which the terminal would interpret. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
