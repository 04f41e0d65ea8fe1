/**
 * Files with random changes: bytes replaced, bits flipped, ends cut off, mostly where a format has its headers. Each is read, or refused
 * by a typed error. `HEED_MUTATIONS=12000 npx vitest run -t "random changes"` reads 12,000 of each kind, 108,000 in all.
 */
import { expect } from "vitest";
import { type Random, random } from "./random.ts";
import { seed } from "./seed.ts";

/** How many of each kind are read. */
export const CHANGES = Number(process.env.HEED_MUTATIONS ?? 300);

/** Time for them. */
export const CHANGES_MS = 20_000 + 20 * CHANGES;

/** Bytes from either end in which most changes are. */
const REACH = 4096;

function changed(original: Uint8Array, draw: Random): Uint8Array {
  let bytes = original.slice();
  for (let left = draw.int(1, 3); left > 0 && bytes.length > 0; left--) {
    const reach = draw.chance(1 / 3) ? bytes.length : Math.min(bytes.length, REACH);
    const at = draw.chance(0.5) ? draw.int(0, reach - 1) : bytes.length - draw.int(1, reach);
    const kind = draw.int(0, 3);
    if (kind === 0) bytes = bytes.slice(0, at);
    else bytes[at] = kind === 1 ? draw.int(0, 255) : kind === 2 ? 255 : bytes[at] ^ (1 << draw.int(0, 7));
  }
  return bytes;
}

/** Reads `CHANGES` changed copies of the originals, each with `read`; anything but a result or a typed error fails with seed and number. */
export async function readChanged(
  originals: readonly Uint8Array[],
  read: (bytes: Uint8Array) => unknown,
  repair: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes,
): Promise<void> {
  const draw = random(seed);
  let refused = 0;
  for (let n = 0; n < CHANGES; n++) {
    const bytes = changed(draw.pick(originals), draw);
    try {
      await read(draw.chance(0.5) ? repair(bytes) : bytes);
    } catch (error) {
      // By its fields: the test may run on the built package, whose classes are others.
      const { code, fields, stack } = error as { code?: unknown; fields?: unknown; stack?: string };
      const isTyped = typeof code === "string" && typeof fields === "object";
      expect(isTyped, `HEED_SEED=${seed}, change ${n}: ${stack ?? error}`).toBe(true);
      refused++;
    }
  }
  // Some are refused: otherwise nothing was changed that is read.
  expect(refused).toBeGreaterThan(CHANGES / 50);
}
