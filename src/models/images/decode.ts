/** Decodes the file of a picture: PNG here (heed/io), JPEG by the package jpeg-js, which the user installs. */
import { checkCount, FormatError, formatValue, refuseGot, UnsupportedError } from "../../core/errors.ts";
import { isPng, type Pixels, readPng } from "../../io/read-png.ts";
import { asBytes } from "../../io/refuse.ts";

/** The part of jpeg-js that is used. */
interface JpegDecoder {
  decode(
    bytes: Uint8Array,
    options: { readonly useTArray: true; readonly formatAsRGBA: false },
  ): { readonly width: number; readonly height: number; readonly data: Uint8Array };
}

/** Formats that are named in the error about them, by their first bytes. */
const OTHERS: readonly (readonly [string, RegExp])[] = [
  ["a GIF", /^GIF8/],
  ["a WebP", /^RIFF....WEBP/s],
  ["a TIFF", /^(?:II\*\0|MM\0\*)/],
  ["a BMP", /^BM/],
  ["an AVIF or HEIC", /^....ftyp/s],
];

/**
 * The pixels of a PNG or a JPEG, upright: the orientation of a JPEG's Exif data is applied. In a page, an `ImageData` of a canvas
 * is a picture too, whatever the format of its file.
 *
 * @param bytes the file
 * @throws FormatError for a file that is broken; UnsupportedError for another format, or for a JPEG where jpeg-js is not installed
 * @example
 * const picture = await readPicture(readFileSync("photo.png"));
 * const { grid } = model.attention(picture);
 */
export async function readPicture(bytes: Uint8Array | ArrayBuffer): Promise<Pixels> {
  checkCount("readPicture", arguments, 1);
  const file = asBytes("readPicture", bytes);
  if (isPng(file)) return readPng(file);
  if (file[0] === 0xff && file[1] === 0xd8) {
    const { decode } = await jpegDecoder();
    try {
      const { width, height, data } = decode(file, { useTArray: true, formatAsRGBA: false });
      return oriented({ width, height, data }, orientationOf(file));
    } catch (error) {
      throw new FormatError("jpeg", `readPicture: the JPEG cannot be decoded: ${(error as Error).message}`);
    }
  }
  const start = String.fromCharCode(...file.subarray(0, 12));
  const other = OTHERS.find(([, pattern]) => pattern.test(start))?.[0];
  throw new UnsupportedError(
    "picture-format",
    `readPicture: ${other === undefined ? `the file begins with ${formatValue(start)}, which is no picture that heed knows` : `the file is ${other}`}; heed reads PNG and JPEG, so convert it: magick photo.webp photo.png`,
  );
}

async function jpegDecoder(): Promise<JpegDecoder> {
  // A name in a variable: the package is installed by the user, so bundlers may not resolve it.
  const name = "jpeg-js";
  try {
    const module = (await import(/* @vite-ignore */ name)) as {
      readonly default?: JpegDecoder;
    } & JpegDecoder;
    return module.default ?? module;
  } catch (error) {
    throw new UnsupportedError(
      "jpeg-js",
      "readPicture: a JPEG is decoded by the package jpeg-js, which is not installed: npm install jpeg-js; or convert the picture to PNG",
      { cause: String(error) },
    );
  }
}

/** The picture in three bytes a pixel; alpha is dropped, as Pillow's `convert("RGB")` does. Throws an OptionError for what is none. */
export function rgbOf(what: string, picture: Pixels): Pixels {
  const { width, height, data } = (picture ?? {}) as Pixels;
  const pixels = typeof width === "number" && typeof height === "number" ? width * height : Number.NaN;
  const fits =
    Number.isInteger(width) && Number.isInteger(height) && width >= 1 && height >= 1 && ArrayBuffer.isView(data) &&
    (data.length === 3 * pixels || data.length === 4 * pixels); // biome-ignore format: one condition
  if (!fits)
    refuseGot(
      "picture",
      `${what}: the picture must be { width, height, data } with 3 or 4 bytes a pixel, as readPicture(bytes) or a canvas gives it`,
      picture,
    );
  if (data.length === 3 * pixels) return picture;
  const rgb = new Uint8Array(3 * pixels);
  for (let n = 0; n < pixels; n++) for (let c = 0; c < 3; c++) rgb[3 * n + c] = data[4 * n + c];
  return { width, height, data: rgb };
}

/**
 * The orientation that a camera wrote into a JPEG (Exif 2.32, tag 0x0112), 1 to 8; 1 (upright) where the file has none, or none that
 * can be read.
 */
export function orientationOf(jpeg: Uint8Array): number {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  // Segments: FF, their marker, their length with itself. Exif is in APP1 (E1), before the pixels (DA).
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff && jpeg[at + 1] !== 0xda; ) {
    const length = view.getUint16(at + 2);
    const isExif = jpeg[at + 1] === 0xe1 && String.fromCharCode(...jpeg.subarray(at + 4, at + 8)) === "Exif";
    if (isExif) {
      // A segment that is too short for a directory is an empty part.
      const { buffer, byteOffset, length: size } = jpeg.subarray(at + 10, at + 2 + length);
      return tagOf(new DataView(buffer, byteOffset, size));
    }
    at += 2 + length;
  }
  return 1;
}

/** The tag in a TIFF header and its first directory. */
function tagOf(tiff: DataView): number {
  try {
    const little = tiff.getUint16(0) === 0x4949;
    const first = tiff.getUint32(4, little);
    for (let n = 0; n < tiff.getUint16(first, little); n++) {
      const entry = first + 2 + 12 * n;
      if (tiff.getUint16(entry, little) !== 0x0112) continue;
      const value = tiff.getUint16(entry + 8, little);
      return value >= 1 && value <= 8 ? value : 1;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // The directory is cut off.
  }
  return 1;
}

/** A picture of three bytes a pixel, turned and mirrored upright. */
export function oriented(picture: Pixels, orientation: number): Pixels {
  if (orientation === 1) return picture;
  const { width, height, data } = picture;
  const turned = orientation >= 5;
  const [toWidth, toHeight] = turned ? [height, width] : [width, height];
  // Mirrored columns and rows of the picture that is read from.
  const flipX = [2, 3, 7, 8].includes(orientation);
  const flipY = [3, 4, 6, 7].includes(orientation);
  const out = new Uint8Array(data.length);
  for (let y = 0; y < toHeight; y++)
    for (let x = 0; x < toWidth; x++) {
      const [column, row] = turned ? [y, x] : [x, y];
      const from = 3 * ((flipY ? height - 1 - row : row) * width + (flipX ? width - 1 - column : column));
      out.set(data.subarray(from, from + 3), 3 * (y * toWidth + x));
    }
  return { width: toWidth, height: toHeight, data: out };
}
