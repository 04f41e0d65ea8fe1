/** The table of planted faults follows the code: a row whose text has changed would plant nothing. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FAULTS, isOf } from "../tools/faults/table.mjs";

const at = (path: string): URL => new URL(`../${path}`, import.meta.url);

describe("each planted fault", () => {
  it("replaces a text that its file contains exactly once", () => {
    const counts = FAULTS.map(({ name, file, find }) => {
      const text = existsSync(at(file)) ? readFileSync(at(file), "utf8") : "";
      return { name, file, times: text.split(find).length - 1 };
    });
    expect(counts.filter(({ times }) => times !== 1)).toEqual([]);
  });

  it("changes that text", () => {
    expect(FAULTS.filter(({ find, put }) => find === put)).toEqual([]);
  });

  it("names tests that exist, at least one", () => {
    for (const { name, tests } of FAULTS) {
      expect(tests.length, name).toBeGreaterThan(0);
      expect(
        tests.filter((path) => !existsSync(at(path))),
        name,
      ).toEqual([]);
    }
  });

  it("counts as run where a file of its folder ran", () => {
    expect(isOf("src/io", "/heed/src/io/numpy/npy.test.ts")).toBe(true);
    expect(isOf("src/io/png.test.ts", "/heed/src/io/png.test.ts")).toBe(true);
    expect(isOf("src/io", "/heed/src/iota/a.test.ts")).toBe(false);
  });

  it("has a name of its own", () => {
    expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
  });
});
