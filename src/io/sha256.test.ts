import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { portableSha256, sha256 } from "./sha256.ts";

test.each([0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 1000])(
  "of %d bytes, with and without Node",
  (length) => {
    const bytes = Uint8Array.from({ length: length + 3 }, (_, i) => (i * 151 + 7) % 256).subarray(3);
    const expected = createHash("sha256").update(bytes).digest("hex");
    expect(sha256(bytes)).toBe(expected);
    expect(portableSha256(bytes)).toBe(expected);
  },
);
