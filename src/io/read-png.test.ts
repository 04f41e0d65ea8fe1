/** PNG against Pillow, against pictures made here by Node's zlib, and with bytes changed: typed errors only. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { CHANGES_MS, readChanged } from "../../tests/support/cases/changes.ts";
import { readTensors } from "../../tests/support/shared.ts";
import { writePng } from "./png.ts";
import { readPng } from "./read-png.ts";

const golden = join(import.meta.dirname, "../../tests/golden/pictures");

function chunk(name: string, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(body.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, body.length);
  bytes.set(new TextEncoder().encode(name), 4);
  bytes.set(body, 8);
  view.setUint32(8 + body.length, crc32(bytes.subarray(4, 8 + body.length)));
  return bytes;
}

/** A PNG of these rows, each with its filter; `interlace` 1 for Adam7. */
function png(
  width: number,
  height: number,
  depth: number,
  type: number,
  rows: Uint8Array,
  interlace = 0,
  transparent?: Uint8Array,
): Uint8Array {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([depth, type, 0, 0, interlace], 8);
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", header),
    ...(transparent ? [chunk("tRNS", transparent)] : []),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", new Uint8Array(0)),
  ];
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

describe("readPng", () => {
  const want = readTensors(join(golden, "png.safetensors"));

  it.each([...want.keys()])("%s: the pixels are Pillow's", async (name) => {
    const { width, height, data } = await readPng(readFileSync(join(golden, `${name}.png`)));
    const pixels = want.get(name)!;
    expect([height, width, 4]).toEqual(pixels.shape);
    expect([...data]).toEqual([...pixels.toFloat64()]);
  });

  it("an interlaced picture has the pixels of its passes", async () => {
    const [width, height] = [11, 9];
    const pixel = (x: number, y: number) => [17 * x, 23 * y, 5 * (x + y)];
    const rows: number[] = [];
    for (const [x0, y0, dx, dy] of [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]])
      for (let y = y0; y < height; y += dy) {
        rows.push(0);
        for (let x = x0; x < width; x += dx) rows.push(...pixel(x, y));
      } // biome-ignore format: the seven passes
    const { data } = await readPng(png(width, height, 8, 2, Uint8Array.from(rows), 1));
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++)
        expect([...data.subarray(4 * (y * width + x), 4 * (y * width + x) + 4)]).toEqual([
          ...pixel(x, y),
          255,
        ]);
  });

  it("samples of 16 bits keep their high byte", async () => {
    const { data } = await readPng(png(1, 1, 16, 2, Uint8Array.of(0, 1, 255, 200, 7, 255, 255)));
    expect([...data]).toEqual([1, 200, 255, 255]);
  });

  it("of 16 bits, the transparent color is compared in both bytes", async () => {
    const rows = Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 9, 5, 6);
    const { data } = await readPng(png(2, 1, 16, 2, rows, 0, rows.subarray(1, 7)));
    expect([...data]).toEqual([1, 3, 5, 0, 1, 3, 5, 255]);
  });

  it("reads what writePng writes", async () => {
    const writer = writePng(3, 2);
    writer.row(Uint8Array.from({ length: 12 }, (_, i) => 20 * i));
    writer.row(Uint8Array.from({ length: 12 }, (_, i) => 255 - i));
    const { data } = await readPng(writer.finish());
    expect([...data]).toEqual([
      ...Array.from({ length: 12 }, (_, i) => 20 * i),
      ...Array.from({ length: 12 }, (_, i) => 255 - i),
    ]);
  });

  it("refuses sizes above the limit before it inflates, and rows beyond the header's", async () => {
    const one = png(1, 1, 8, 0, Uint8Array.of(0, 9));
    await expect(readPng(png(60_000, 60_000, 8, 0, Uint8Array.of(0)))).rejects.toThrow("the limit is");
    await expect(readPng(one, { maxBytes: 3 })).rejects.toThrow("the limit is 3");
    await expect(readPng(png(1, 1, 8, 0, new Uint8Array(100_000)))).rejects.toThrow("more than the 2 bytes");
    await expect(readPng(png(1, 2, 8, 0, Uint8Array.of(0, 9)))).rejects.toThrow(
      "2 bytes of pixels where its rows take 4",
    );
    await expect(readPng(png(1, 1, 8, 0, Uint8Array.of(7, 9)))).rejects.toThrow("filter 7");
  });

  /** A PNG with this header, palette and rows. */
  const withParts = (header: readonly number[], rows: Uint8Array, palette?: readonly number[]) =>
    Uint8Array.from(
      [
        png(1, 1, 8, 0, rows).subarray(0, 8),
        chunk("IHDR", Uint8Array.from(header)),
        ...(palette ? [chunk("PLTE", Uint8Array.from(palette))] : []),
        chunk("IDAT", rows),
        chunk("IEND", new Uint8Array(0)),
      ].flatMap((part) => [...part]),
    );
  const header = (width: number, depth: number, type: number) => [
    0,
    0,
    0,
    width,
    0,
    0,
    0,
    1,
    depth,
    type,
    0,
    0,
    0,
  ];
  const packed = deflateSync(Uint8Array.of(0, 2));

  it.each<[name: string, file: Uint8Array, words: string]>([
    ["a header of 12 bytes", withParts(header(1, 8, 0).slice(1), packed), "IHDR has 13 bytes"],
    ["no header", Uint8Array.from([...png(1, 1, 8, 0, packed).subarray(0, 8), ...chunk("IDAT", packed)]), "the first chunk is not IHDR"],
    ["no column", withParts(header(0, 8, 0), packed), "0 × 1 pixels"],
    ["color type 5", withParts(header(1, 8, 5), packed), "color type 5 with 8 bits"],
    ["color type 9", withParts(header(1, 8, 9), packed), "color type 9 with 8 bits"],
    ["indices of 16 bits", withParts(header(1, 16, 3), packed), "color type 3 with 16 bits"],
    ["another compression", withParts([...header(1, 8, 0).slice(0, 10), 1, 0, 0], packed), "compression 1, filter 0, interlace 0"],
    ["no palette", withParts(header(1, 8, 3), packed), "a palette of 1 to 256 colors"],
    ["a palette of four bytes", withParts(header(1, 8, 3), packed, [1, 2, 3, 4]), "a palette of 1 to 256 colors"],
    ["a palette of 257 colors", withParts(header(1, 8, 3), packed, Array(771).fill(0)), "a palette of 1 to 256 colors"],
    ["a color beyond the palette", withParts(header(1, 8, 3), packed, [1, 2, 3, 4, 5, 6]), "color 2 of a palette of 2"],
    ["pixels of four bytes", withParts(header(1, 8, 0), Uint8Array.of(0x78, 0x9c, 3, 0)), "the pixels are not a zlib stream"],
    ["pixels with a dictionary", withParts(header(1, 8, 0), Uint8Array.of(0x78, 0xbb, ...packed.subarray(2))), "the pixels are not a zlib stream"],
  ])("%s is refused", async (_, file, words) => {
    await expect(readPng(file)).rejects.toMatchObject({ code: "png", message: expect.stringContaining(words) });
  }); // biome-ignore format: a file is a line

  it("a row of averages adds the mean of the pixels left and above", async () => {
    const { data } = await readPng(png(2, 2, 8, 0, Uint8Array.of(0, 10, 21, 3, 1, 2)));
    expect([...data].filter((_, i) => i % 4 === 0)).toEqual([10, 21, 6, 15]);
  });

  it("a stream that zlib refuses with an error of its own, as in Node 20, is a typed error", async () => {
    const Refusing = class extends TransformStream {
      constructor() {
        const transform = () => {
          throw new Error("invalid bit length repeat");
        };
        super({ transform });
      }
    };
    vi.stubGlobal("DecompressionStream", Refusing);
    try {
      await expect(readPng(png(1, 1, 8, 0, Uint8Array.of(0, 9)))).rejects.toMatchObject({
        code: "png",
        message: expect.stringContaining("not a zlib stream: invalid bit length repeat"),
      });
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("pictures with random changes give pixels, or a typed error", { timeout: CHANGES_MS }, () => {
    const files = readdirSync(golden).filter((name) => name.endsWith(".png"));
    // Half of the files have right checksums, so that the parts behind them are reached.
    const repair = (bytes: Uint8Array) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = 8; at + 12 <= bytes.length; ) {
        const length = view.getUint32(at);
        if (length > bytes.length - at - 12) break;
        view.setUint32(at + 8 + length, crc32(bytes.subarray(at + 4, at + 8 + length)));
        at += 12 + length;
      }
      return bytes;
    };
    const originals = files.map((name) => readFileSync(join(golden, name)));
    return readChanged(originals, (bytes) => readPng(bytes, { maxBytes: 2 ** 22 }), repair);
  });
});
