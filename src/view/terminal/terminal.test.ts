import { describe, expect, test } from "vitest";
import { widthOf } from "../../store/text/label.ts";
import { renderBar, renderHeatMaps, renderScale } from "./terminal.ts";

const ESC = "\x1b";
const SGR = new RegExp(`${ESC}\\[[\\d;]*m`, "g");
const strip = (line: string) => line.replaceAll(SGR, "");
const labels = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`);
const identity = (n: number, title = "head 0") => ({
  title,
  queries: n,
  keys: n,
  weights: Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0)),
});
const four = (n: number) => [0, 1, 2, 3].map((head) => identity(n, `head ${head}`));
const draw = (
  maps: ReturnType<typeof four>,
  columns: number,
  paint: "truecolor" | "mono" | "ascii" = "mono",
) => {
  const names = labels(maps[0].keys);
  return renderHeatMaps(maps, { queryLabels: names, keyLabels: names, columns, paint });
};

test("two maps side by side, labels on rows and columns", () => {
  const maps = [identity(2), { ...identity(2, "head 1"), weights: [0.25, 0.75, 0, 1] }];
  const lines = renderHeatMaps(maps, { queryLabels: ["an", "ox"], keyLabels: ["an", "ox"], paint: "ascii" });
  expect(lines).toEqual([
    "   head 0   head 1",
    "   a o      a o",
    "   n x      n x",
    "an @@       ++%%",
    "ox   @@       @@",
  ]);
});

test("weights 1 and 0 have the last and the first color of the scale", () => {
  const [, , , row] = draw([identity(2), identity(2)], 80, "truecolor");
  expect(row).toContain("\x1b[48;2;252;253;191m  \x1b[0m\x1b[48;2;0;0;4m  \x1b[0m");
});

describe("four heads", () => {
  const heads = (lines: string[]) =>
    lines.filter((line) => /head/.test(line)).map((line) => line.match(/head \d/g)!.length);
  test("are side by side if they fit", () => expect(heads(draw(four(8), 80))).toEqual([4]));
  test("are in two rows of two if they do not", () => expect(heads(draw(four(8), 60))).toEqual([2, 2]));
  test("are in half blocks if labeled maps would need one row each", () => {
    expect(heads(draw(four(24), 80))).toEqual([2, 2]);
    expect(heads(draw(four(24), 140))).toEqual([2, 2]);
    expect(draw(four(24), 80, "truecolor").length).toBeLessThan(draw(four(24), 140, "truecolor").length);
  });
  test("are below each other on a narrow terminal", () =>
    expect(heads(draw(four(8), 24))).toEqual([1, 1, 1, 1]));
});

test("no line is wider than the terminal, for any size and paint", () => {
  for (const n of [1, 2, 5, 8, 14, 32, 33, 55, 128])
    for (const columns of [24, 40, 80, 133])
      for (const paint of ["truecolor", "mono", "ascii"] as const)
        for (const line of draw(four(n), columns, paint))
          expect(widthOf(strip(line))).toBeLessThanOrEqual(columns);
});

test("long texts are drawn in half blocks: two queries a line", () => {
  const lines = draw([identity(40), identity(40, "head 1")], 120, "truecolor");
  expect(lines.filter((line) => line.includes("▀")).length).toBe(20);
  expect(strip(lines[2]).startsWith(" t0 t1 ▀")).toBe(true);
  // The first line shows rows 0 and 1: the diagonal is in the upper half of column 0 and in the lower half of column 1.
  expect(lines[2]).toContain("\x1b[38;2;252;253;191;48;2;0;0;4m▀\x1b[0m\x1b[38;2;0;0;4;48;2;252;253;191m▀");
});

test("if half blocks are too wide, cells are pooled by their largest weight, and a line says so", () => {
  const lines = draw([identity(128), identity(128)], 60);
  expect(lines.at(-1)).toMatch(/^each cell is the largest of 3×3 weights$/);
  const rows = lines.filter((line) => line.includes("█"));
  expect(rows.length).toBe(2 * Math.ceil(128 / 3));
  for (const row of rows) expect(row.match(/█/g)!.length).toBe(1);
});

test("a single head shows its weights in percent", () => {
  const map = { title: "head 2", queries: 2, keys: 2, weights: [0.255, 0.745, 0, 1] };
  const lines = renderHeatMaps([map], { queryLabels: ["a", "b"], keyLabels: ["a", "b"] });
  expect(lines.slice(1)).toEqual(["     a    b", "a  26%  75% ", "b   0% 100% "]);
});

test("the columns of a single head have words as labels, right-aligned with their numbers", () => {
  const names = ["[CLS]", "the", "cat", "because", "日本", "tired"];
  const map = { ...identity(6), weights: identity(6).weights.map((weight) => weight || 0.04) };
  for (const columns of [28, 32, 40, 80]) {
    const lines = renderHeatMaps([map], { queryLabels: names, keyLabels: names, columns });
    const [above, rows] = [lines.slice(1, -6), lines.slice(-6)];
    for (const [key, name] of names.entries()) {
      const line = above.find((one) => one.includes(name));
      expect(line, `${name} in ${columns} columns`).toBeDefined();
      const end = widthOf(line!.slice(0, line!.indexOf(name) + name.length));
      const [upTo] = rows[key].match(/^.*(?:100%?|█(?=█))/)!;
      expect(end, `${name} in ${columns} columns`).toBe(widthOf(upTo));
    }
  }
});

test("wide characters keep the columns aligned", () => {
  const lines = renderHeatMaps([identity(2), identity(2)], {
    queryLabels: ["日本", "a"],
    keyLabels: ["日本", "a"],
    paint: "mono",
  });
  const starts = lines.slice(-2).map((line) => widthOf(line.slice(0, line.indexOf("█"))));
  expect(starts).toEqual([5, 7]);
  expect(lines.slice(1, 3).map((line) => widthOf(line.trimEnd()))).toEqual([16, 17]);
});

test("no maps give no lines", () => {
  expect(renderHeatMaps([], { queryLabels: [], keyLabels: [] })).toEqual([]);
});

test("the scale's ticks are at the square roots", () => {
  const [bar, ticks] = renderScale("mono");
  expect(bar.length).toBe(32);
  expect(ticks.indexOf(".25")).toBe(16);
  expect(ticks.indexOf("1", 30)).toBe(31);
});

test("a bar fills its columns in proportion", () => {
  expect(renderBar(0.5, 8, "ascii")).toBe("====....");
  expect(renderBar(0.5, 5, "mono")).toBe("━━╸  ");
  expect([-1, 0, 2].map((share) => renderBar(share, 3, "mono"))).toEqual(["   ", "   ", "━━━"]);
});
