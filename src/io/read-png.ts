/**
 * Reads PNG (ISO/IEC 15948): every color type and depth, interlaced or not, as red, green, blue and alpha of 8 bits. 16-bit samples
 * keep their high byte. Color profiles and gamma are not applied. png.ts writes PNG.
 */
import { checkCount, HeedError } from "../core/errors.ts";
import { crc32, inflate } from "./archive/deflate.ts";
import { checkSize, type SizeLimit, sizeLimit } from "./limit.ts";
import { asBytes, concatBytes, refuser } from "./refuse.ts";

/** A picture of 8 bits: rows from the top, pixels from the left. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue, or red, green, blue and alpha, of each pixel: 3 or 4 bytes · width · height. An `ImageData` fits. */
  readonly data: Uint8Array | Uint8ClampedArray;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Samples of a pixel by color type: gray, –, RGB, index, gray and alpha, –, RGBA. */
const SAMPLES = [1, 0, 3, 1, 2, 0, 4];
/** Depths by color type. */
const DEPTHS = [[1, 2, 4, 8, 16], [], [8, 16], [1, 2, 4, 8], [8, 16], [], [8, 16]];
/** First column and row, and their steps, of the passes of an interlaced picture. */
const ADAM7 = [
  [0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2],
] as const; // biome-ignore format: one row

/** True for the bytes of a PNG. */
export const isPng = (bytes: Uint8Array): boolean => SIGNATURE.every((byte, i) => bytes[i] === byte);

/** What the chunks before the pixels say. */
interface Header {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly type: number;
  readonly interlaced: boolean;
}

/**
 * The pixels of a PNG, RGBA.
 *
 * @param bytes the file
 * @throws FormatError for a file that is broken; UnsupportedError for a picture above `maxBytes` (default 256 MiB of pixels)
 * @example
 * const { width, height, data } = await readPng(readFileSync("photo.png"));
 */
export async function readPng(bytes: Uint8Array | ArrayBuffer, options: SizeLimit = {}): Promise<Pixels> {
  checkCount("readPng", arguments, 2);
  const limit = sizeLimit("readPng", options, 2 ** 28);
  const file = asBytes("readPng", bytes);
  const refuse = refuser("readPng");
  if (!isPng(file)) refuse("png", 0, "not a PNG: the first 8 bytes are not its signature");
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let header: Header | undefined;
  let palette = new Uint8Array(0);
  let transparent = new Uint8Array(0);
  const packed: Uint8Array[] = [];
  for (let at = 8, name = ""; name !== "IEND"; ) {
    if (at + 12 > file.length) refuse("png", at, "the file ends within a chunk");
    const length = view.getUint32(at);
    if (length > file.length - at - 12)
      refuse("png", at, `a chunk of ${length} bytes in a file that ends before`);
    name = String.fromCharCode(...file.subarray(at + 4, at + 8));
    const body = file.subarray(at + 8, at + 8 + length);
    if (crc32(file.subarray(at + 4, at + 8 + length)) >>> 0 !== view.getUint32(at + 8 + length))
      refuse("png", at, `the checksum of the chunk ${JSON.stringify(name)} is wrong`);
    if (header === undefined && name !== "IHDR") refuse("png", at, "the first chunk is not IHDR");
    if (name === "IHDR") {
      header = readHeader(body, (text) => refuse("png", at, text));
      checkSize(
        "readPng",
        `${header.width} × ${header.height} pixels`,
        4 * header.width * header.height,
        limit,
      );
    } else if (name === "PLTE") palette = body.slice();
    else if (name === "tRNS") transparent = body.slice();
    else if (name === "IDAT") packed.push(body);
    at += 12 + length;
  }
  const { type } = header as Header;
  if (type === 3 && (palette.length === 0 || palette.length % 3 !== 0 || palette.length > 768))
    refuse("png", 8, "a picture of indices needs a palette of 1 to 256 colors");
  const rows = await inflated(packed, header as Header, (text) => refuse("png", 8, text));
  return unpack(header as Header, rows, palette, transparent, (text) => refuse("png", 8, text));
}

function readHeader(body: Uint8Array, refuse: (text: string) => never): Header {
  if (body.length !== 13) refuse("IHDR has 13 bytes");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const [width, height] = [view.getUint32(0), view.getUint32(4)];
  const [depth, type, compression, filter, interlace] = body.subarray(8);
  if (width === 0 || height === 0) refuse(`${width} × ${height} pixels`);
  if (!DEPTHS[type]?.includes(depth)) refuse(`color type ${type} with ${depth} bits`);
  if (compression !== 0 || filter !== 0 || interlace > 1)
    refuse(`compression ${compression}, filter ${filter}, interlace ${interlace}`);
  return { width, height, depth, type, interlaced: interlace === 1 };
}

/** The passes of a picture: where their pixels are, and their sizes. */
function passesOf({ width, height, interlaced }: Header) {
  if (!interlaced) return [{ x0: 0, y0: 0, dx: 1, dy: 1, columns: width, rows: height }];
  return ADAM7.map(([x0, y0, dx, dy]) => ({
    x0, y0, dx, dy, columns: Math.ceil((width - x0) / dx), rows: Math.ceil((height - y0) / dy),
  })).filter(({ columns, rows }) => columns > 0 && rows > 0); // biome-ignore format: one list
}

const rowBytes = ({ depth, type }: Header, columns: number): number =>
  Math.ceil((columns * SAMPLES[type] * depth) / 8);

/** The filtered rows, inflated; never more of them than the header says. */
async function inflated(
  packed: readonly Uint8Array[],
  header: Header,
  refuse: (text: string) => never,
): Promise<Uint8Array> {
  const size = passesOf(header).reduce(
    (sum, { columns, rows }) => sum + rows * (1 + rowBytes(header, columns)),
    0,
  );
  const joined = concatBytes(packed, "readPng");
  // zlib (RFC 1950): two bytes before the stream, four after it.
  if (
    joined.length < 6 ||
    (joined[0] & 15) !== 8 ||
    (joined[1] & 32) !== 0 ||
    (256 * joined[0] + joined[1]) % 31 !== 0
  )
    refuse("the pixels are not a zlib stream");
  const out = new Uint8Array(size);
  let filled = 0;
  try {
    for await (const piece of inflate(joined.subarray(2, joined.length - 4))) {
      if (filled + piece.length > size)
        return refuse(`more than the ${size} bytes of its ${header.height} rows`);
      out.set(piece, filled);
      filled += piece.length;
    }
  } catch (error) {
    if (error instanceof HeedError) throw error;
    // The platform's error: a TypeError, or in Node 20 one of zlib.
    refuse(`the pixels are not a zlib stream: ${(error as Error).message}`);
  }
  if (filled < size) refuse(`${filled} bytes of pixels where its rows take ${size}`);
  return out;
}

/** Filters are undone row by row, and samples become RGBA. */
function unpack(
  header: Header,
  rows: Uint8Array,
  palette: Uint8Array,
  transparent: Uint8Array,
  refuse: (text: string) => never,
): Pixels {
  const { width, height, depth, type } = header;
  const data = new Uint8Array(4 * width * height).fill(255);
  const samples = SAMPLES[type];
  const step = Math.max(1, (samples * depth) >> 3);
  const top = 2 ** depth - 1;
  const view = new DataView(transparent.buffer, transparent.byteOffset, transparent.byteLength);
  // The color that is transparent, in its full depth.
  const clear =
    (type === 0 || type === 2) && transparent.length >= 2 * samples
      ? Array.from({ length: samples }, (_, s) => view.getUint16(2 * s))
      : undefined;
  let at = 0;
  for (const pass of passesOf(header)) {
    const length = rowBytes(header, pass.columns);
    let above: Uint8Array = new Uint8Array(length);
    for (let row = 0; row < pass.rows; row++) {
      const line = rows.subarray(at + 1, at + 1 + length);
      unfilter(rows[at], line, above, step, refuse);
      at += 1 + length;
      above = line;
      /** Sample s of the pixel, in its full depth. */
      const sample = (n: number) =>
        depth === 8
          ? line[n]
          : depth === 16
            ? 256 * line[2 * n] + line[2 * n + 1]
            : (line[(n * depth) >> 3] >> (8 - depth - ((n * depth) & 7))) & top;
      const byte = (n: number) =>
        depth === 8 ? line[n] : depth === 16 ? line[2 * n] : Math.round((255 * sample(n)) / top);
      for (let column = 0; column < pass.columns; column++) {
        const to = 4 * ((pass.y0 + row * pass.dy) * width + pass.x0 + column * pass.dx);
        const n = column * samples;
        if (type === 3) {
          const index = sample(n);
          if (3 * index >= palette.length) refuse(`color ${index} of a palette of ${palette.length / 3}`);
          data.set(palette.subarray(3 * index, 3 * index + 3), to);
          data[to + 3] = transparent[index] ?? 255;
          continue;
        }
        const gray = type === 0 || type === 4;
        for (let c = 0; c < 3; c++) data[to + c] = byte(gray ? n : n + c);
        if (type >= 4) data[to + 3] = byte(n + samples - 1);
        else if (clear?.every((value, s) => sample(n + s) === value)) data[to + 3] = 0;
      }
    }
  }
  return { width, height, data };
}

/** Undoes the filter of a row, in place; `above` is the row before it, `step` the bytes of a pixel. */
function unfilter(
  filter: number,
  line: Uint8Array,
  above: Uint8Array,
  step: number,
  refuse: (text: string) => never,
): void {
  if (filter > 4) refuse(`filter ${filter} of a row`);
  if (filter === 0) return;
  for (let i = 0; i < line.length; i++) {
    const [a, b] = [i < step ? 0 : line[i - step], above[i]];
    if (filter === 1) line[i] += a;
    else if (filter === 2) line[i] += b;
    else if (filter === 3) line[i] += (a + b) >> 1;
    else line[i] += paeth(a, b, i < step ? 0 : above[i - step]);
  }
}

/** Of left, above and above left, the one nearest to left + above − above left. */
function paeth(a: number, b: number, c: number): number {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}
