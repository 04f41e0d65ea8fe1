/** Decodes the file of a picture: PNG here (heed/io), JPEG by the package jpeg-js, which the user installs. */
import { checkCount, FormatError, formatValue, refuseGot, UnsupportedError } from "../../core/errors.ts";
import { isPng, type Pixels, readPng } from "../../io/read-png.ts";
import { asBytes } from "../../io/refuse.ts";
import { orientationOf, oriented } from "./orientation.ts";

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
