/** Arrays of texts as NumPy writes them: widths, byte orders, padding, and files that are broken. */
import { describe, expect, it } from "vitest";
import { readNpyTextAt } from "./npy-text.ts";

/** An npy file of version 1 or 2 with this header and this body. */
function npy(
  descr: string,
  shape: string,
  body: readonly number[],
  more = "'fortran_order': False",
  version = 1,
): Uint8Array {
  const dict = `{'descr': '${descr}', ${more}, 'shape': ${shape}, }`;
  const prefix = version === 1 ? 10 : 12;
  const length = Math.ceil((prefix + dict.length + 1) / 64) * 64 - prefix;
  const header = `${dict.padEnd(length - 1)}\n`;
  const size = version === 1 ? [length & 255, length >> 8] : [length & 255, length >> 8, 0, 0];
  return Uint8Array.from([
    0x93,
    ...Buffer.from("NUMPY"),
    version,
    0,
    ...size,
    ...Buffer.from(header),
    ...body,
  ]);
}
const read = (file: Uint8Array, maxBytes?: number) => readNpyTextAt("test", file, 0, undefined, maxBytes);
const little = (...codes: number[]) =>
  codes.flatMap((code) => [code & 255, (code >> 8) & 255, code >> 16, 0]);

describe("an array of texts", () => {
  it("of code points is read in both byte orders, without its padding", () => {
    const texts = { shape: [2], data: ["ab", "\u{1f600}"] };
    expect(read(npy("<U2", "(2,)", little(0x61, 0x62, 0x1f600, 0)))).toEqual(texts);
    const big = [0x61, 0x62, 0x1f600, 0].flatMap((code) => [0, code >> 16, (code >> 8) & 255, code & 255]);
    expect(read(npy(">U2", "(2,)", big))).toEqual(texts);
    expect(read(npy("<U2", "(2,)", little(0x61, 0x62, 0x1f600, 0), undefined, 2))).toEqual(texts);
  });

  it("keeps a zero inside a text, and replaces an invalid code point by U+FFFD", () => {
    expect(read(npy("<U3", "(2,)", little(0x61, 0, 0x62, 0xd800, 0x41, 0)))?.data).toEqual([
      "a\0b",
      "\ufffdA",
    ]);
  });

  it("of bytes is read as UTF-8, with the axes of its shape", () => {
    expect(read(npy("|S3", "(1, 2)", [0x61, 0x62, 0, 0xc3, 0xa9, 0]))).toEqual({
      shape: [1, 2],
      data: ["ab", "é"],
    });
  });

  it("of numbers is left to other readers", () => {
    expect(read(npy("<f4", "(1,)", [0, 0, 0, 0]))).toBeUndefined();
  });

  it("that is broken is refused at the byte", () => {
    expect(() => read(npy("<U2", "(2,)", little(0x61)))).toThrow(
      /texts of shape \[2\] take 16 bytes, the file has 4/,
    );
    expect(() => read(npy("<U1", "(1,)", little(0x61, 0x62)))).toThrow(/take 4 bytes, the file has 8/);
    expect(() => read(npy("<U1", "(2, 2)", little(1, 2, 3, 4), "'fortran_order': True"))).toThrow(
      "an array of texts in Fortran order; save it in C order",
    );
    expect(read(npy("<U1", "(2, 1)", little(0x61, 0x62), "'fortran_order': True"))?.data).toEqual(["a", "b"]);
    expect(() => read(npy("<U999999", "(9007199254740991,)", []))).toThrow(/is more than 2\^53 bytes/);
    expect(() => read(npy("<U2", "(2,)", little(1, 2, 3, 4)), 15)).toThrow(
      /16 bytes in memory; the limit is 15/,
    );
  });
});
