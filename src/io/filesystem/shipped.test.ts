import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { shippedFolder } from "./shipped.ts";

test("the captures are in the folder of the models", () => {
  expect(existsSync(join(shippedFolder("captures"), "README.md"))).toBe(true);
});

test.each([
  [
    "captures",
    "the shipped captures are not installed; the package heed-models has them: npm install heed-models, or, ",
  ],
  [
    "encoder",
    "the shipped encoder is not installed; the package heed-models has it: npm install heed-models, or, ",
  ],
] as const)("%s that are missing are an error with the package to install", (which, words) => {
  const exists = vi.spyOn(process.getBuiltinModule("node:fs"), "existsSync").mockReturnValue(false);
  try {
    expect(() => shippedFolder(which)).toThrow(
      expect.objectContaining({ code: "model-missing", message: expect.stringContaining(words) }),
    );
  } finally {
    exists.mockRestore();
  }
});
