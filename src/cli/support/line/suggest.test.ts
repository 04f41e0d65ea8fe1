import { describe, expect, it } from "vitest";
import { editDistance, nearest } from "./suggest.ts";

describe("editDistance", () => {
  it("counts inserted, removed and replaced letters", () => {
    expect(editDistance("kitten", "sitting")).toBe(3);
    expect(editDistance("", "abc")).toBe(3);
    expect(editDistance("run", "run")).toBe(0);
  });

  it("counts two neighbors that changed places as one edit", () => {
    expect(editDistance("hlep", "help")).toBe(1);
    expect(editDistance("casual", "causal")).toBe(1);
  });
});

describe("nearest", () => {
  const names = ["show", "run", "explain", "inspect", "convert", "bench", "doctor"];

  it("finds the name a typo or a beginning stands for", () => {
    expect(nearest("explan", names)).toBe("explain");
    expect(nearest("isnpect", names)).toBe("inspect");
    expect(nearest("doc", names)).toBe("doctor");
    expect(nearest("RUN", names)).toBe("run");
  });

  it("finds the name at the end of a longer one, before one that only looks like it", () => {
    const options = ["min-tokens", "tokens", "beams"];
    expect(nearest("max-tokens", options)).toBe("tokens");
    expect(nearest("max-new-tokens", options)).toBe("tokens");
    expect(nearest("num-beams", options)).toBe("beams");
  });

  it("says nothing where no name is near", () => {
    expect(nearest("frobnicate", names)).toBeUndefined();
    expect(nearest("x", names)).toBeUndefined();
    expect(nearest("", names)).toBeUndefined();
  });
});
