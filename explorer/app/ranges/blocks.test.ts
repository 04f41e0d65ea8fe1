/** Reads by blocks: the bytes of each read, how many requests they take, and that a failed one is repeated. */
import { expect, test } from "vitest";
import { BLOCK, blocksOf } from "./blocks.ts";

const SIZE = 5 * BLOCK + 1000;
const FILE = Uint8Array.from({ length: SIZE }, (_, n) => (n * 31) % 251);

/** A source that counts its reads and fails where it is told to. */
function source() {
  const reads: [offset: number, length: number][] = [];
  const failing = new Set<number>();
  const bytes = blocksOf({
    size: SIZE,
    async read(offset, length) {
      reads.push([offset, length]);
      if (failing.has(offset)) throw new Error("the server has ended");
      return FILE.slice(offset, offset + length);
    },
  });
  return { bytes, reads, failing };
}

test("each read gets its own bytes: inside a block, over two, at the end, none, and longer than a block", async () => {
  const { bytes } = source();
  for (const [offset, length] of [
    [0, 10],
    [BLOCK - 5, 10],
    [BLOCK - 5, BLOCK - 1],
    [BLOCK, BLOCK],
    [SIZE - 7, 7],
    [5 * BLOCK - 1, 1001],
    [100, 0],
    [3, 3 * BLOCK],
  ] as const)
    expect(await bytes.read(offset, length), `${offset}, ${length}`).toEqual(
      FILE.slice(offset, offset + length),
    );
});

test("the reads of many small heads take one request for each block, and what a reader changes is a copy", async () => {
  const { bytes, reads } = source();
  const heads = await Promise.all(
    Array.from({ length: Math.floor(SIZE / 512) }, (_, n) => bytes.read(512 * n, 512)),
  );
  expect(reads.length).toBe(6);
  heads[0].fill(0);
  expect(await bytes.read(0, 512)).toEqual(FILE.slice(0, 512));
  expect(reads.length).toBe(6);
});

test("a block that failed is requested again, and others are not", async () => {
  const { bytes, reads, failing } = source();
  failing.add(BLOCK);
  await bytes.read(0, 10);
  await expect(bytes.read(BLOCK - 5, 10)).rejects.toThrow("the server has ended");
  failing.clear();
  expect(await bytes.read(BLOCK - 5, 10)).toEqual(FILE.slice(BLOCK - 5, BLOCK + 5));
  expect(reads.map(([offset]) => offset)).toEqual([0, BLOCK, BLOCK]);
});

test("the blocks that were used last stay, and no more than 64", async () => {
  const reads: number[] = [];
  const bytes = blocksOf({
    size: 70 * BLOCK,
    async read(offset, length) {
      reads.push(offset / BLOCK);
      return new Uint8Array(length);
    },
  });
  for (let n = 0; n < 64; n++) await bytes.read(n * BLOCK, 1);
  // The first is used again, so the second is the oldest.
  for (const n of [0, 64, 0, 1]) await bytes.read(n * BLOCK, 1);
  expect(reads.slice(64)).toEqual([64, 1]);
});
