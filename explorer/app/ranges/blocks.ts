/**
 * Reads of a file by aligned blocks, of which the last ones used stay in memory: the rows of neighboring heads are one request, and
 * 5,120 small heads are 45 of them. Longer reads go to the source as they are.
 */
import type { RequestSource } from "./queue.ts";

/** Bytes of a block: few enough that a slow connection takes about as long for the request alone. */
export const BLOCK = 2 ** 16;
/** Blocks that stay: 4 MiB. */
const BLOCKS = 64;

/** A byte source that reads `source` by blocks. */
export function blocksOf(source: RequestSource): RequestSource {
  const { size } = source;
  const blocks = new Map<number, Promise<Uint8Array>>();
  const blockAt = async (from: number) => {
    const block = blocks.get(from) ?? source.read(from, Math.min(BLOCK, size - from));
    // Entries of a Map are in the order in which they were set: the last one used is the last.
    blocks.delete(from);
    blocks.set(from, block);
    if (blocks.size > BLOCKS) blocks.delete(blocks.keys().next().value!);
    try {
      return await block;
    } catch (error) {
      blocks.delete(from);
      throw error;
    }
  };
  return {
    size,
    async read(offset, length) {
      if (length >= BLOCK) return source.read(offset, length);
      const end = offset + length;
      const first = offset - (offset % BLOCK);
      const second = first + BLOCK;
      if (end <= second) return (await blockAt(first)).slice(offset - first, end - first);
      const [low, high] = await Promise.all([blockAt(first), blockAt(second)]);
      const bytes = new Uint8Array(length);
      bytes.set(low.subarray(offset - first));
      bytes.set(high.subarray(0, end - second), second - offset);
      return bytes;
    },
  };
}
