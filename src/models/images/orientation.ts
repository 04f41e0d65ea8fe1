/** The orientation that a camera writes into a JPEG (Exif 2.32, tag 0x0112), and its undoing, as Pillow's `exif_transpose` does it. */
import type { Pixels } from "../../io/read-png.ts";

/** 1 to 8; 1 (upright) where the file has none, or none that can be read. */
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
