/** The WGSL of masks and score mods. tests/conformance/webgpu.test.ts runs it. */
import { expect, it } from "vitest";
import { alibi } from "../alibi.ts";
import { softcap } from "../softcap.ts";
import { slidingWindow } from "../window.ts";
import { boolConst, type Expression, maskMod, type Table, VARS } from "./expr.ts";
import { table } from "./table.ts";
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

it("every operation is written in WGSL", () => {
  const { q, k, score } = VARS;
  const far = q.gt(k);
  const rows: [Expression, string][] = [
    [far.select(q, k), "select(k, q, t0)"],
    [q.neg(), "-q"],
    [far.not(), "!t0"],
    [q.floorDiv(3), "floorDiv(q, int(3))"],
    [q.min(k), "min(q, k)"],
    [q.max(k), "max(q, k)"],
    [score.min(2), "least(score, float(2))"],
    [score.max(2), "greatest(score, float(2))"],
    [score.abs(), "abs(score)"],
    [far.or(k.eq(0)), "t0 || t1"],
  ];
  for (const [x, want] of rows) expect(text(x).split(" = ").at(-1)?.split(";")[0]).toBe(want);
  expect(text(boolConst(true))).toBe("\ntrue");
});

it("an entry of a table of two axes is at its row-major index", () => {
  const entries = table({ data: new Float32Array(6), shape: [2, 3] });
  expect(text(entries.at(VARS.h, VARS.k))).toContain("[(clamp(h, 0, 1)) * 3 + clamp(k, 0, 2)]");
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
