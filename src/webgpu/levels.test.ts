/** Which levels an adapter has. tests/conformance/webgpu-levels.test.ts runs them. */
import { describe, expect, it } from "vitest";
import { workgroupBytes } from "./attention/forward.ts";
import { type Capabilities, LEVELS, levelReason, MATRICES, matricesOf, shapeOf, TILES } from "./levels.ts";

const [portable, tiles, subgroups, half, matrices] = LEVELS;
const has: Capabilities = {
  name: "a b c",
  features: new Set(["subgroups", "shader-f16", MATRICES]),
  workgroupBytes: 32768,
  threads: 256,
  subgroupMinSize: 8,
  subgroupMaxSize: 32,
  matrices: { M: 16, N: 16, K: 16 },
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
    expect(reason(half, { features: new Set(), workgroupBytes: 16384, threads: 128 })).toBeUndefined();
    expect(reason(matrices, { features: new Set(["subgroups", "shader-f16"]) })).toBe(
      `the adapter has no feature "${MATRICES}"`,
    );
    expect(reason(matrices, { matrices: undefined })).toBe(
      "the adapter multiplies no matrices of float16 with a product in float32",
    );
  });

  it("take the memory that they state, with shuffles and without; a tile to measure takes at most 32 KiB", () => {
    for (const level of LEVELS)
      for (const lanes of [0, 4, 8] as const)
        expect(workgroupBytes({ ...shapeOf(level, portable, has), lanes })).toBeLessThanOrEqual(
          level.workgroupBytes,
        );
    expect(workgroupBytes(shapeOf(half, portable, has))).toBe(16384);
    for (const tile of TILES)
      for (const level of [portable, half])
        expect(workgroupBytes({ ...shapeOf(level, portable, has), tile })).toBeLessThanOrEqual(32768);
  });

  it("exchange by shuffles in subgroups of any width from 4 on", () => {
    const lanesOn = (base: typeof portable, subgroupMinSize: number) =>
      shapeOf(half, base, { ...has, subgroupMinSize }).lanes;
    expect([4, 8, 16, 32, 64, 128].map((size) => lanesOn(subgroups, size))).toEqual([4, 8, 8, 8, 8, 8]);
    expect(lanesOn(tiles, 8)).toBe(0);
  });

  it("take the largest matrices whose sums are float32 and whose sizes divide a tile", () => {
    const config = (componentType: string, resultComponentType: string, M: number, N: number, K: number) => ({
      componentType,
      resultComponentType,
      M,
      N,
      K,
    });
    expect(matricesOf([config("f16", "f16", 16, 16, 16), config("f32", "f32", 8, 8, 8)])).toBeUndefined();
    expect(
      matricesOf([
        config("f16", "f32", 8, 8, 8),
        config("f16", "f32", 16, 16, 16),
        config("f16", "f32", 64, 16, 16),
      ]),
    ).toEqual({ M: 16, N: 16, K: 16 });
    expect(matricesOf()).toBeUndefined();
  });

  it("are not used on an adapter of the block list, with its reason", () => {
    const blocked = [{ adapter: /b c$/, level: "subgroups", reason: "driver 5 swaps lanes" }] as const;
    expect(levelReason(subgroups, has, blocked)).toBe("driver 5 swaps lanes");
    expect(levelReason(tiles, has, blocked)).toBeUndefined();
    expect(levelReason(subgroups, { ...has, name: "a b d" }, blocked)).toBeUndefined();
    for (const level of [half, matrices])
      expect(levelReason(level, has, [{ ...blocked[0], level: level.name }])).toBe("driver 5 swaps lanes");
  });
});
