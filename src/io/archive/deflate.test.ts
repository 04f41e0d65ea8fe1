/** The CRC against zlib's, at lengths around its step of eight bytes. */
import { crc32 as zlibCrc32 } from "node:zlib";
import { expect, test } from "vitest";
import { crc32 } from "./deflate.ts";

test("the CRC is zlib's, in one piece and in parts of any length", () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => Math.imul(i, 2654435761) >>> 13);
  for (let length = 0; length < 40; length++) {
    const part = bytes.subarray(3, 3 + length);
    expect(crc32(part)).toBe(zlibCrc32(part));
    expect(crc32(bytes.subarray(length), crc32(bytes.subarray(0, length)))).toBe(zlibCrc32(bytes));
  }
  // The check value of the CRC catalog.
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
});
