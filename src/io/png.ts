/**
 * PNG (ISO/IEC 15948) for pictures of cells: a table of at most 256 colors, or red, green, blue and alpha. Rows come
 * one at a time and are compressed one by one, so a picture of N × N cells is never stored in memory, and the same rows
 * give the same bytes on every engine (compress.ts). Written only; no filter, no interlace.
 */

import { checkCount, checkMethods, formatValue, isList, OptionError, refuseValue } from "../core/errors.ts";
import { checkKind, checkNames } from "../core/option-names.ts";
import { deflater } from "./archive/compress.ts";
import { crc32 } from "./archive/deflate.ts";

/** How a picture is written. */
export interface PngOptions {
  /** Colors by index, at most 256; a row is then a byte a pixel. Without it a row is four bytes a pixel: RGBA. */
  readonly palette?: readonly (readonly [red: number, green: number, blue: number])[];
  /** Index of the palette that is transparent. */
  readonly transparent?: number;
  /** Pixels a metre, for programs that print. */
  readonly density?: number;
}

/** Writes a picture row by row. */
export interface PngWriter {
  /** The next row from the top: `width` indices, or `4·width` bytes. */
  row(pixels: Uint8Array): void;
  /** The file. Throws an OptionError where rows are missing. */
  finish(): Uint8Array;
}

const SIDE = 2 ** 31 - 1;

/**
 * Starts a picture of `width` × `height` pixels.
 *
 * @example
 * const png = writePng(2, 1, { palette: [[0, 0, 0], [255, 255, 255]] });
 * png.row(Uint8Array.of(0, 1));
 * writeFileSync("two.png", png.finish());
 */
export function writePng(width: number, height: number, options: PngOptions = {}): PngWriter {
  checkCount("writePng", arguments, 3);
  checkNames("writePng", options, ["palette", "transparent", "density"]);
  const { palette, transparent, density } = options;
  for (const [name, n] of Object.entries({ width, height }))
    if (!(Number.isInteger(n) && n >= 1 && n <= SIDE))
      throw new OptionError(
        name,
        `writePng: ${name} must be an integer from 1 to 2³¹ − 1, got ${formatValue(n)}`,
        { [name]: n },
      );
  if (palette !== undefined) checkKind("writePng", "palette", "a list of lists", palette);
  if (palette !== undefined && !(palette.length >= 1 && palette.length <= 256))
    throw new OptionError("palette", `writePng: palette must have 1 to 256 colors, got ${palette.length}`, {
      length: palette.length,
    });
  const isByte = (x: unknown) => Number.isInteger(x) && (x as number) >= 0 && (x as number) <= 255;
  for (const [n, color] of (palette ?? []).entries())
    if (!(isList(color) && color.length === 3 && color.every(isByte)))
      throw new OptionError(
        "palette",
        `writePng: a color is [red, green, blue], integers from 0 to 255; palette[${n}] is ${formatValue(color)}`,
        { index: n },
      );
  const ranges = [
    ["transparent", transparent, 0, (palette?.length ?? 0) - 1, "an index of palette"],
    ["density", density, 1, SIDE, "an integer ≥ 1"],
  ] as const;
  for (const [name, n, low, high, rule] of ranges)
    if (n !== undefined && !(Number.isInteger(n) && n >= low && n <= high))
      throw new OptionError(name, `writePng: ${name} must be ${rule}, got ${formatValue(n)}`, { [name]: n });
  const bytesPerRow = palette === undefined ? 4 * width : width;
  const body = deflater();
  const line = new Uint8Array(1 + bytesPerRow);
  let rows = 0;
  let [a, b] = [1, 0];
  const writer: PngWriter = {
    row(pixels) {
      if ((pixels as Partial<Uint8Array> | undefined)?.BYTES_PER_ELEMENT !== 1)
        refuseValue("PngWriter.row", "pixels", "a Uint8Array", pixels);
      if (pixels.length !== bytesPerRow || rows === height)
        throw new OptionError(
          "row",
          `writePng: expected ${height} rows of ${bytesPerRow} bytes, got ${pixels.length} bytes as row ${rows + 1}`,
          { length: pixels.length, row: rows },
        );
      const beyond = palette === undefined ? -1 : pixels.findIndex((pixel) => pixel >= palette.length);
      if (beyond >= 0)
        throw new OptionError(
          "row",
          `writePng: pixel ${beyond} of row ${rows} is ${pixels[beyond]}, and palette has ${palette?.length} colors`,
          { row: rows, pixel: beyond },
        );
      line.set(pixels, 1);
      // Adler-32 (RFC 1950); 3,800 bytes at a time cannot overflow.
      for (let at = 0; at < line.length; ) {
        for (const end = Math.min(line.length, at + 3800); at < end; at++) b += a += line[at];
        a %= 65_521;
        b %= 65_521;
      }
      body.push(line);
      rows++;
    },
    finish() {
      if (rows !== height)
        throw new OptionError("row", `writePng: expected ${height} rows, got ${rows}`, { rows, height });
      const packed = body.finish();
      const data = new Uint8Array(packed.length + 6);
      data.set([0x78, 0x9c]);
      data.set(packed, 2);
      data.set([b >> 8, b & 255, a >> 8, a & 255], packed.length + 2);
      const header = new Uint8Array(13);
      header.set([...big(width), ...big(height), 8, palette === undefined ? 6 : 3]);
      const chunks = [chunk("IHDR", header)];
      if (density !== undefined)
        chunks.push(chunk("pHYs", Uint8Array.of(...big(density), ...big(density), 1)));
      if (palette !== undefined) chunks.push(chunk("PLTE", Uint8Array.from(palette.flat())));
      if (palette !== undefined && transparent !== undefined)
        chunks.push(
          chunk(
            "tRNS",
            Uint8Array.from(palette, (_, i) => (i === transparent ? 0 : 255)),
          ),
        );
      chunks.push(chunk("IDAT", data), chunk("IEND", new Uint8Array(0)));
      const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
      const file = new Uint8Array(chunks.reduce((n, one) => n + one.length, signature.length));
      file.set(signature);
      let at = signature.length;
      for (const one of chunks) {
        file.set(one, at);
        at += one.length;
      }
      return file;
    },
  };
  return checkMethods("PngWriter", writer, { row: 1, finish: 0 });
}

function big(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + 12);
  bytes.set(big(data.length));
  for (let i = 0; i < 4; i++) bytes[4 + i] = name.charCodeAt(i);
  bytes.set(data, 8);
  bytes.set(big(crc32(bytes.subarray(4, 8 + data.length))), 8 + data.length);
  return bytes;
}
