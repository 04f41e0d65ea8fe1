/** The WGSL of masks and score mods. tests/conformance/webgpu.test.ts runs it. */
import { expect, it } from "vitest";
import { alibi } from "../alibi.ts";
import { softcap } from "../softcap.ts";
import { slidingWindow } from "../window.ts";
import { maskMod, type Table } from "./expr.ts";
import { printWgsl, type WgslLeaves } from "./wgsl.ts";

const leaves: WgslLeaves = {
  constant: (value, type) => `${type}(${value})`,
  variable: (name) => name,
  lookup: ({ name }: Table, index) => `${name.replaceAll(" ", "_")}[${index}]`,
};
const text = (x: Parameters<typeof printWgsl>[0]) => {
  const { statements, value } = printWgsl(x, leaves, "t");
  return `${statements}\n${value}`;
};

it("a mask becomes statements, and a subexpression that appears twice is computed once", () => {
  const mask = maskMod(({ q, k }) => {
    const distance = q.sub(k);
    return distance.ge(0).and(distance.mod(3).eq(0));
  });
  expect(text(mask)).toBe(
    [
      "let t0: i32 = q - k;",
      "let t1: bool = int(0) <= t0;",
      "let t2: i32 = floorMod(t0, int(3));",
      "let t3: bool = t2 == int(0);",
      "let t4: bool = t1 && t3;",
      "t4",
    ].join("\n"),
  );
});

it("two windows differ only in their constants", () => {
  const hidden = { ...leaves, constant: () => "c" };
  const [a, b] = [slidingWindow(5, 0), slidingWindow(90, 0)].map((x) => printWgsl(x, hidden, "t"));
  expect(a).toEqual(b);
});

it("a score mod reads tables at indices inside them", () => {
  expect(text(alibi([0.5, 0.25]).expr)).toContain("alibi_slopes[clamp(h, 0, 1)]");
  expect(text(softcap(20).expr)).toContain("tanhOf(");
});
