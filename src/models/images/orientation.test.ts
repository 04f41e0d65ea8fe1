/** The eight orientations of Exif, and directories that are broken. */
import { expect, it, test } from "vitest";
import { orientationOf, oriented } from "./decode.ts";

/** A JPEG's first segments: APP0, then Exif with these bytes of a TIFF. */
const jpegOf = (tiff: readonly number[], declared = 8 + tiff.length) =>
  Uint8Array.of(
    ...[0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2],
    ...[0xff, 0xe1, declared >> 8, declared & 255, ...Buffer.from("Exif\0\0"), ...tiff],
    ...[0xff, 0xda, 0, 2],
  );

/** A directory of two entries in the byte order of the camera, the second of which is the orientation. */
function tiffOf(value: number, little: boolean): number[] {
  const u16 = (n: number) => (little ? [n & 255, n >> 8] : [n >> 8, n & 255]);
  const u32 = (n: number) => (little ? [...u16(n), 0, 0] : [0, 0, ...u16(n)]);
  const entry = (tag: number, x: number) => [...u16(tag), ...u16(3), ...u32(1), ...u16(x), 0, 0];
  const order = little ? [0x49, 0x49] : [0x4d, 0x4d];
  return [
    ...order,
    ...u16(42),
    ...u32(8),
    ...u16(2),
    ...entry(0x0100, 6),
    ...entry(0x0112, value),
    0,
    0,
    0,
    0,
  ];
}

/** What Pillow's exif_transpose makes of the rows "ab", "cd", "ef". */
const UPRIGHT: Readonly<Record<number, readonly string[]>> = {
  1: ["ab", "cd", "ef"],
  2: ["ba", "dc", "fe"],
  3: ["fe", "dc", "ba"],
  4: ["ef", "cd", "ab"],
  5: ["ace", "bdf"],
  6: ["eca", "fdb"],
  7: ["fdb", "eca"],
  8: ["bdf", "ace"],
};

it.each(Object.keys(UPRIGHT).map(Number))(
  "orientation %i is read in both byte orders and undone",
  (value) => {
    for (const little of [true, false]) expect(orientationOf(jpegOf(tiffOf(value, little)))).toBe(value);
    const bytes = [..."abcdef"].flatMap((letter) => new Array(3).fill(letter.charCodeAt(0)));
    const { width, height, data } = oriented({ width: 2, height: 3, data: Uint8Array.from(bytes) }, value);
    const letters = Array.from(
      data.filter((_, n) => n % 3 === 0),
      (code) => String.fromCharCode(code),
    ).join("");
    const rows = Array.from({ length: height }, (_, y) => letters.slice(y * width, (y + 1) * width));
    expect(rows).toEqual(UPRIGHT[value]);
    expect(data.every((code, n) => code === data[n - (n % 3)])).toBe(true);
  },
);

test("a value that is none, a directory or a segment that is cut off, and a file without Exif are upright", () => {
  for (const value of [0, 9, 256]) expect(orientationOf(jpegOf(tiffOf(value, true)))).toBe(1);
  const complete = jpegOf(tiffOf(6, false));
  for (let size = 0; size < complete.length; size++)
    expect([1, 6], `${size} bytes`).toContain(orientationOf(complete.subarray(0, size)));
  for (let declared = 0; declared < 50; declared++)
    expect([1, 6], `a segment of ${declared}`).toContain(orientationOf(jpegOf(tiffOf(6, false), declared)));
  expect(orientationOf(Uint8Array.of(0xff, 0xd8, 0xff, 0xda, 0, 2))).toBe(1);
  expect(orientationOf(jpegOf([0x4d, 0x4d, 0, 42, 255, 255, 255, 255]))).toBe(1);
});
