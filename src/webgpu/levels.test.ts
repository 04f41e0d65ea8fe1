/** Which levels an adapter has. tests/conformance/webgpu-levels.test.ts runs them. */
import { describe, expect, it } from "vitest";
import { workgroupBytes } from "./attention/forward.ts";
import { type Capabilities, LEVELS, lanesOf, levelReason, TILES } from "./levels.ts";

const [portable, tiles, subgroups] = LEVELS;
const has: Capabilities = {
  name: "a b c",
  features: new Set(["subgroups"]),
  workgroupBytes: 32768,
  threads: 256,
  subgroupMinSize: 8,
};

describe("levels", () => {
  it("need features and limits, and say which is missing", () => {
    for (const level of LEVELS) expect(levelReason(level, has)).toBeUndefined();
    const reason = (level: typeof portable, less: Partial<Capabilities>) =>
      levelReason(level, { ...has, ...less });
    expect(reason(subgroups, { features: new Set() })).toBe('the adapter has no feature "subgroups"');
    expect(reason(subgroups, { subgroupMinSize: 0 })).toBe(
      "the adapter does not tell the size of its subgroups",
    );
    expect(reason(tiles, { workgroupBytes: 16384 })).toMatch(
      /takes 22528 bytes of workgroup memory.*has 16384/,
    );
    expect(reason(tiles, { threads: 64 })).toMatch(/128 threads a workgroup.*allows 64/);
    expect(reason(portable, { features: new Set(), workgroupBytes: 16384, threads: 64 })).toBeUndefined();
  });

  it("take the memory that they state, with shuffles and without; a tile to measure takes at most 32 KiB", () => {
    for (const level of LEVELS)
      for (const lanes of [0, 4, 8] as const)
        expect(workgroupBytes({ tile: level.tile, lanes })).toBeLessThanOrEqual(level.workgroupBytes);
    for (const tile of TILES) expect(workgroupBytes({ tile, lanes: 0 })).toBeLessThanOrEqual(32768);
  });

  it("exchange by shuffles in subgroups of any width from 4 on", () => {
    const lanes = [4, 8, 16, 32, 64, 128].map((subgroupMinSize) =>
      lanesOf(subgroups, { ...has, subgroupMinSize }),
    );
    expect(lanes).toEqual([4, 8, 8, 8, 8, 8]);
    expect(lanesOf(tiles, has)).toBe(0);
  });

  it("are not used on an adapter of the block list, with its reason", () => {
    const blocked = [{ adapter: /b c$/, level: "subgroups", reason: "driver 5 swaps lanes" }] as const;
    expect(levelReason(subgroups, has, blocked)).toBe("driver 5 swaps lanes");
    expect(levelReason(tiles, has, blocked)).toBeUndefined();
    expect(levelReason(subgroups, { ...has, name: "a b d" }, blocked)).toBeUndefined();
  });
});
