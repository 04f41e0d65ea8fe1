/** The shape of thumbnails. */
import type { Block } from "../../../src/store/block.ts";

/** Width and height of a head's thumbnail, the longer one 1. The shorter one is 0.6 at least, so that it can be clicked. */
export function thumbnailShape({ Nq, Nk }: Block): readonly [width: number, height: number] {
  const share = (short: number, long: number) => Math.max(0.6, Math.min(1, short / Math.max(1, long)));
  return [share(Nk, Nq), share(Nq, Nk)];
}
