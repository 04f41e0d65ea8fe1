/** Plain plots: what they say in a terminal and in an SVG, and what they refuse. */
import { inspect } from "node:util";
import { tensor } from "heed";
import { bars, curves, histogram } from "heed/view";
import { describe, expect, it } from "vitest";

describe("bars", () => {
  it("are as long as their values, to an eighth of a cell", () => {
    expect(String(bars({ a: 1, bb: 0.5, c: 0 }, { width: 4, title: "t" }))).toBe(
      "t\n a ████ 1\nbb ██ 0.5\n c ▏ 0",
    );
    expect(String(bars([["x", 3]], { width: 4, max: 8 }))).toBe("x █▌ 3");
  });
  it("take an array of numbers, labeled by index, and name what to pass for a tensor", () => {
    expect(String(bars([1, 0.5], { width: 2 }))).toBe("0 ██ 1\n1 █ 0.5");
    expect(String(bars(Float32Array.of(2), { width: 2 }))).toBe("0 ██ 2");
    expect(() => bars(tensor([1, 2]) as never)).toThrow(/array of numbers such as tensor\.toFloat64\(\)/);
  });
  it("are drawn by console.log", () => {
    expect(inspect(bars({ a: 1 }, { width: 4 }))).toBe("a ████ 1");
    expect(Object.keys(bars({ a: 1 }))).toEqual(["toString", "toSvg"]);
  });
  it("are an SVG whose texts are escaped and that has dark colors", () => {
    const svg = bars({ "<b>": 1 }, { title: 'a "b" & c' }).toSvg();
    expect(svg).toContain("&lt;b&gt;");
    expect(svg).toContain("<title>a &quot;b&quot; &amp; c</title>");
    expect(svg).toContain("prefers-color-scheme:dark");
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });
  it("refuse nothing, negative numbers and NaN", () => {
    expect(() => bars([])).toThrow(/nothing to draw/);
    expect(() => bars({ a: -1 })).toThrow(/finite and ≥ 0, got -1 for "a"/);
    expect(() => bars({ a: 1 }, { max: Number.NaN })).toThrow(/max must be a finite number/);
  });
});

describe("a histogram", () => {
  it("counts every value once, the last interval with its upper end", () => {
    const lines = String(histogram([0, 1, 2, 3, 4], { bins: 2 })).split("\n");
    expect(lines.map((line) => Number(line.split(" ").at(-1)))).toEqual([2, 3]);
    expect(String(histogram([5, 5], { bins: 1 }))).toContain("2");
    expect(
      histogram([0, 1, 2, 3], { bins: 4 })
        .toSvg()
        .match(/class="fill-0"/g),
    ).toHaveLength(4);
  });
  it("refuses what is not finite", () => {
    expect(() => histogram([1, Infinity])).toThrow(/finite, got Infinity/);
    expect(() => histogram([])).toThrow(/nothing to draw/);
    expect(() => histogram([1], { bins: 0 })).toThrow(/bins must be an integer ≥ 1/);
  });
});

describe("every chart", () => {
  it("fits the width it is asked for, and refuses one that is too small", () => {
    const charts = [bars({ a: 1 }), histogram([1, 2, 3]), curves([{ name: "a", points: [[1, 1], [2, 5]] }])]; // biome-ignore format: one list
    for (const chart of charts) {
      expect(chart.toSvg()).toContain('viewBox="0 0 640 ');
      const narrow = chart.toSvg({ width: 360 });
      expect(narrow).toContain('viewBox="0 0 360 ');
      for (const [, x] of narrow.matchAll(/ (?:x|cx|x2)="([\d.]+)"/g)) expect(Number(x)).toBeLessThan(360);
      expect(() => chart.toSvg({ width: 10 })).toThrow(/toSvg: width must be a number ≥ 320, got 10/);
    }
  });
  it("has a title and a description, and no style attribute, which a strict policy refuses", () => {
    const svg = curves([{ name: "loss", points: [[1, 3], [9, 0.5]] }], { title: "Training" }).toSvg(); // biome-ignore format: two points
    expect(svg).toContain("<title>Training</title>");
    expect(svg).toMatch(/<desc>[^<]*loss: from \(1, 3\) to \(9, 0.5\)/);
    expect(svg).not.toMatch(/ style=/);
    expect(bars({ a: 1, b: 0.5 }).toSvg()).toContain("<desc>Bars: a 1, b 0.5.</desc>");
  });
});

describe("curves", () => {
  const series = [
    {
      name: "square",
      points: [
        [4, 16],
        [1, 1],
        [2, 4],
      ] as const,
    },
  ];
  it("put points at their places and join them from left to right", () => {
    const text = String(curves(series, { columns: 13, rows: 5 })).split("\n");
    expect(text[0]).toMatch(/^16 │ +·●$/);
    expect(text[4]).toMatch(/^ 1 │●/);
    expect(text.at(-1)).toBe("● square");
    const svg = curves(series, { x: "n" }).toSvg();
    expect(svg.match(/<circle/g)).toHaveLength(3);
    expect(svg).toContain(">n</text>");
  });
  it("have logarithmic axes with powers as ticks", () => {
    const svg = curves(series, { logX: true, logY: true }).toSvg();
    // Both axes say that they are logarithmic, with and without a name.
    expect(svg.match(/>\(log scale\)</g)).toHaveLength(2);
    const named = curves(series, { x: "tokens", y: "cost", logX: true, logY: true });
    expect(named.toSvg()).toContain(">tokens (log scale)</text>");
    expect(String(named)).toMatch(/^cost \(log scale\)\n[\s\S]* tokens \(log scale\) /);
    expect(String(curves(series, { x: "tokens" }))).not.toContain("log");
    // The ticks 1, 2 … 9 of a decade get closer to each other.
    const cost = [{ name: "a", points: [[1, 1], [100, 2]] as const }]; // biome-ignore format: two points
    const ticks = [
      ...curves(cost, { logX: true })
        .toSvg()
        .matchAll(/M([\d.]+) [\d.]+V[\d.]+/g),
    ];
    const at = ticks.map(([, x]) => Number(x));
    expect(at).toHaveLength(19);
    const gaps = at.slice(1, 9).map((x, n) => x - at[n]);
    expect(gaps).toEqual(gaps.toSorted((a, b) => b - a));
    expect(svg.match(/<path d="(M[^"]+)" fill="none" class="stroke-0"/)?.[1].split("L")).toHaveLength(3);
    expect(() => curves([{ name: "a", points: [[0, 1]] }], { logX: true })).toThrow(
      /> 0 on a logarithmic axis, got 0/,
    );
    expect(() => curves([])).toThrow(/nothing to draw/);
  });
});
