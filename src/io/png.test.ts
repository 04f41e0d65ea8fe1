/** The compressor and the PNG writer against Node's zlib: what was written reads back. */
import { createHash } from "node:crypto";
import { crc32, inflateRawSync, inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { random } from "../../tests/support/cases/random.ts";
import { deflater } from "./archive/compress.ts";
import { writePng } from "./png.ts";

/** `bytes` compressed, pushed in pieces of about `piece`. */
function compressed(bytes: Uint8Array, piece = 10_000): Uint8Array {
  const one = deflater();
  for (let at = 0; at < bytes.length; at += piece) one.push(bytes.subarray(at, at + piece));
  return one.finish();
}

describe("deflater", () => {
  const draw = random(7);
  const kinds: Record<string, (i: number) => number> = {
    zeros: () => 0,
    noise: () => draw.int(0, 255),
    "few values": () => draw.int(0, 3),
    counting: (i) => i & 255,
    periodic: (i) => (i * i) % 251,
    "far copies": (i) => ((i % 32_768) * 2654435761) >>> 24,
    "copies beyond the window": (i) => ((i % 32_769) * 2654435761) >>> 24,
    "Fibonacci counts": () => Math.min(40, Math.floor(-Math.log(1 - draw.next()) / Math.log(1.618))),
  };
  for (const [name, value] of Object.entries(kinds))
    it(`${name}: reads back, at sizes around its limits`, () => {
      for (const size of [
        0, 1, 2, 3, 257, 258, 259, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537, 300_001,
      ]) {
        const bytes = Uint8Array.from({ length: size }, (_, i) => value(i));
        const packed = compressed(bytes);
        expect(Buffer.compare(inflateRawSync(packed), bytes), `${size}`).toBe(0);
        expect(packed.length).toBeLessThan(size * 1.02 + 400);
      }
    });

  it("gives the same bytes for any division of its input", () => {
    const bytes = Uint8Array.from({ length: 200_000 }, (_, i) => (i * i * 7) >> (i % 5));
    const full = compressed(bytes, bytes.length);
    for (const piece of [1, 13, 258, 4096, 65_536, 65_537])
      expect(Buffer.compare(compressed(bytes, piece), full), `${piece}`).toBe(0);
  });

  it("makes long runs small", () => {
    expect(compressed(new Uint8Array(1_000_000)).length).toBeLessThan(2000);
  });
});

describe("writePng", () => {
  /** Chunks of a file by name, checksums checked. */
  function chunksOf(file: Uint8Array): Map<string, Buffer> {
    const bytes = Buffer.from(file);
    expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    const chunks = new Map<string, Buffer>();
    for (let at = 8; at < bytes.length; ) {
      const length = bytes.readUInt32BE(at);
      const body = bytes.subarray(at + 4, at + 8 + length);
      expect(bytes.readUInt32BE(at + 8 + length)).toBe(crc32(body));
      chunks.set(body.subarray(0, 4).toString(), body.subarray(4));
      at += 12 + length;
    }
    return chunks;
  }

  it("writes indices with a palette and a transparent color", () => {
    const png = writePng(3, 2, {
      palette: [
        [255, 0, 0],
        [0, 255, 0],
        [1, 2, 3],
      ],
      transparent: 1,
      density: 3780,
    });
    png.row(Uint8Array.of(0, 1, 2));
    png.row(Uint8Array.of(2, 1, 0));
    const chunks = chunksOf(png.finish());
    expect([...chunks.keys()]).toEqual(["IHDR", "pHYs", "PLTE", "tRNS", "IDAT", "IEND"]);
    expect([...chunks.get("IHDR")!]).toEqual([0, 0, 0, 3, 0, 0, 0, 2, 8, 3, 0, 0, 0]);
    expect([...chunks.get("PLTE")!]).toEqual([255, 0, 0, 0, 255, 0, 1, 2, 3]);
    expect([...chunks.get("tRNS")!]).toEqual([255, 0, 255]);
    expect([...inflateSync(chunks.get("IDAT")!)]).toEqual([0, 0, 1, 2, 0, 2, 1, 0]);
  });

  it("writes colors with alpha", () => {
    const png = writePng(1, 1);
    png.row(Uint8Array.of(9, 8, 7, 6));
    const chunks = chunksOf(png.finish());
    expect(chunks.get("IHDR")![9]).toBe(6);
    expect([...inflateSync(chunks.get("IDAT")!)]).toEqual([0, 9, 8, 7, 6]);
  });

  it("the same rows give the same bytes in every version", () => {
    const png = writePng(300, 200, { palette: Array.from({ length: 256 }, (_, i) => [i, i, i] as const) });
    for (let y = 0; y < 200; y++) png.row(Uint8Array.from({ length: 300 }, (_, x) => (x * x + y * 3) % 256));
    expect(createHash("sha256").update(png.finish()).digest("hex")).toMatchInlineSnapshot(
      `"529f4084fe3e7f36937877a85a98b307e0deb8f77352c41cae820d932af3d39c"`,
    );
  });

  it("refuses rows of another length, too many, too few, and invalid sizes", () => {
    const png = writePng(2, 1);
    expect(() => png.row(new Uint8Array(2))).toThrow("expected 1 rows of 8 bytes, got 2 bytes as row 1");
    expect(() => png.finish()).toThrow("expected 1 rows, got 0");
    png.row(new Uint8Array(8));
    expect(() => png.row(new Uint8Array(8))).toThrow("as row 2");
    for (const [width, height] of [
      [0, 1],
      [1, 2.5],
      [Number.NaN, 1],
    ])
      expect(() => writePng(width, height)).toThrow("must be an integer");
    expect(() => writePng(1, 1, { palette: [] })).toThrow("1 to 256 colors");
  });
});
