/** The kit of plots: scales and their ticks, axes, marks, and labels that would meet. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  axis,
  axisTitle,
  bandScale,
  barX,
  barY,
  coordinate,
  dodge,
  dotMarks,
  element,
  keepApart,
  legend,
  linePath,
  logTicks,
  minorLogTicks,
  niceStep,
  niceTicks,
  plotArea,
  powerLabel,
  scaleOf,
  text,
  tickLabel,
} from "./index.ts";

const STYLE = { label: { class: "soft" }, line: { class: "line" }, grid: { class: "grid" } };

describe("a scale", () => {
  it("maps both ends of its domain to both ends of its range, and back", () => {
    for (const type of ["linear", "log", "sqrt"] as const) {
      const scale = scaleOf({ type, domain: [2, 32], range: [400, 100] });
      expect([scale(2), scale(32)]).toEqual([400, 100]);
      expect(scale.invert(scale(8))).toBeCloseTo(8, 12);
    }
    expect(scaleOf({ type: "log", domain: [1, 100], range: [0, 10] })(10)).toBe(5);
    expect(scaleOf({ type: "sqrt", domain: [0, 100], range: [0, 10] })(25)).toBe(5);
  });
  it("has the middle of its range for a domain of one value, and NaN for NaN", () => {
    const scale = scaleOf({ domain: [3, 3], range: [0, 10] });
    expect(scale(3)).toBe(5);
    expect(scale(Number.NaN)).toBeNaN();
    expect(scaleOf({ domain: [0, 1], range: [0, 10] })(Number.NaN)).toBeNaN();
    expect(scaleOf({ domain: [0, 1], range: [0, 10], clamp: true })(Number.NaN)).toBeNaN();
  });
  it("clamps with the option, infinite values and logarithms of 0 included", () => {
    const scale = scaleOf({ type: "log", domain: [1, 100], range: [0, 10], clamp: true });
    expect([scale(0), scale(1e9), scale(Infinity)]).toEqual([0, 10, 10]);
    expect(scale.invert(-5)).toBe(1);
    expect(scaleOf({ domain: [0, 1], range: [0, 10] })(2)).toBe(20);
  });
  it("of bands divides its range", () => {
    const band = bandScale(4, [10, 90], 0.25);
    expect([band.step, band.bandwidth, band.start(0), band.middle(3)]).toEqual([20, 15, 12.5, 80]);
    expect(bandScale(0, [0, 10]).step).toBe(10);
  });
});

describe("ticks", () => {
  it("are round", () => {
    expect(niceTicks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(niceTicks(-3.3, 7.1, 4)).toEqual([0, 5]);
    expect(niceTicks(0, 0.6, 3)).toEqual([0, 0.2, 0.4, 0.6]);
    expect([0.3, 1, 1.1, 3, 5.01, 70].map(niceStep)).toEqual([0.5, 1, 2, 5, 10, 100]);
  });
  it("are inside the domain, at equal distances, and not many more than requested", () => {
    const number = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(number, fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (low, span) => {
        const high = low + span;
        const values = niceTicks(low, high, 5);
        expect(values.length).toBeLessThanOrEqual(7);
        const slack = 1e-6 * Math.max(1, Math.abs(low), Math.abs(high));
        for (const value of values) {
          expect(value).toBeGreaterThanOrEqual(low - slack);
          expect(value).toBeLessThanOrEqual(high + slack);
        }
      }),
    );
  });
  it("of one value are that value, and of no finite domain none", () => {
    expect(niceTicks(2, 2)).toEqual([2]);
    expect(niceTicks(Number.NaN, 1)).toEqual([]);
    expect(niceTicks(0, Infinity)).toEqual([0]);
    expect(logTicks(0, 10)).toEqual([]);
    expect(logTicks(1, Number.NaN)).toEqual([]);
  });
  it("of logarithmic scales are powers of ten, of two where the domain is short", () => {
    expect(logTicks(0.01, 100)).toEqual([0.01, 0.1, 1, 10, 100].map((x) => expect.closeTo(x, 12)));
    expect(logTicks(16, 128)).toEqual([16, 32, 64, 128]);
    expect(logTicks(1, 1e12, 7).map(Math.log10)).toEqual([0, 2, 4, 6, 8, 10, 12]);
    expect(minorLogTicks(1, 20)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20]);
  });
  it("have short labels", () => {
    expect([0.1 + 0.2, 16384, 1e9, 1.5e-7, -0.25].map(tickLabel)).toEqual([
      "0.3",
      "16384",
      "1e9",
      "1.5e-7",
      "-0.25",
    ]);
    expect([-12, 0, 3].map(powerLabel)).toEqual(["10⁻¹²", "1", "10³"]);
  });
});

describe("an axis", () => {
  const x = scaleOf({ domain: [0, 100], range: [10, 210] });
  it("has labels at its ticks, a line, grid lines and a title with its unit", () => {
    const bottom = axis({
      ...{ anchor: "bottom", scale: x, at: 50, ticks: [0, 50, 100], grid: 0, line: true, marks: 4 },
      ...{ title: "time", unit: "ms", style: STYLE },
    });
    expect(
      [...bottom.matchAll(/<text x="([\d.]+)"[^>]*>(\d+)</g)].map(([, at, label]) => [at, label]),
    ).toEqual([
      ["10", "0"],
      ["110", "50"],
      ["210", "100"],
    ]);
    expect(bottom).toContain('<path d="M10 50V0M110 50V0M210 50V0" class="grid"/>');
    expect(bottom).toContain('<path d="M10 50H210M10 50V54M110 50V54M210 50V54" class="line"/>');
    expect(bottom).toContain(">time, in ms</text>");
    const left = axis({ anchor: "left", scale: x, at: 5, style: STYLE });
    expect(left).toContain('text-anchor="end"');
    expect(axisTitle("cost", "", true)).toBe("cost (log scale)");
  });
  it("leaves out labels that would overlap, but no grid line", () => {
    const narrow = scaleOf({ domain: [0, 100], range: [0, 60] });
    const ticks = [0, 20, 40, 60, 80, 100];
    const svg = axis({ anchor: "bottom", scale: narrow, at: 0, ticks, grid: 9, style: STYLE });
    expect(svg.match(/<text/g)?.length).toBeLessThan(6);
    expect(svg.match(/V9/g)).toHaveLength(6);
  });
  it("keeps the labels of its ends inside with the option", () => {
    const svg = axis({ anchor: "bottom", scale: x, at: 0, ticks: [0, 100], inside: true, style: STYLE });
    expect(svg).toMatch(/<text x="10" y="16" class="soft">0</);
    expect(svg).toMatch(/<text x="210" y="16" class="soft" text-anchor="end">100</);
  });
  it("marks each digit of a decade where it is logarithmic", () => {
    const log = scaleOf({ type: "log", domain: [1, 10], range: [0, 100] });
    const svg = axis({ anchor: "left", scale: log, at: 0, marks: 3, style: STYLE });
    expect(svg.match(/H-3/g)).toHaveLength(10);
  });
});

describe("marks", () => {
  const scale = scaleOf({ domain: [-1, 1], range: [0, 100] });
  const attributes = { class: "fill-0" };
  it("of a line are interrupted by what is not a number", () => {
    const points = [[0, 1], [1, 2], [2, Number.NaN], [3, 4], [4, 5]] as const; // biome-ignore format: points
    expect(linePath(points)).toBe("M0 1L1 2M3 4L4 5");
    expect(dotMarks(points, 2, attributes).match(/<circle/g)).toHaveLength(4);
    expect(
      dotMarks(
        points.slice(0, 2),
        (n) => n + 1,
        (n) => ({ class: `c${n}` }),
      ),
    ).toContain('r="2" class="c1"');
  });
  it("of bars begin at 0 and go both ways, with tracks and labels", () => {
    const band = bandScale(3, [0, 30]);
    const svg = barX({
      ...{ values: [1, -1, Number.NaN], band, scale, attributes, track: { class: "track" } },
      label: (n) => `#${n}`,
    });
    expect(svg).toContain('<rect x="50" y="0" width="50" height="10" class="fill-0"/>');
    expect(svg).toContain('<rect x="0" y="10" width="50" height="10" class="fill-0"/>');
    expect(svg.match(/class="track"/g)).toHaveLength(3);
    expect(svg).toContain('<text x="106" y="9">#0</text>');
    expect(svg).toContain('<text x="-6" y="19" text-anchor="end">#1</text>');
    const up = scaleOf({ domain: [0, 1], range: [100, 0] });
    expect(barY({ values: [0.25], band, scale: up, attributes })).toContain(
      '<rect x="0" y="75" width="10" height="25" class="fill-0"/>',
    );
    expect(barY({ values: [0], band, scale: up, attributes, minimum: 1 })).toContain(
      'y="99" width="10" height="1"',
    );
  });
  it("of a legend follow each other", () => {
    const style = {
      swatch: 10,
      gap: 8,
      widthOf: (name: string) => 5 * name.length,
      label: { class: "soft" },
    };
    const entries = ["a", "bb"].map((name) => ({ name, swatch: (x: number) => element("rect", { x }) }));
    const { svg, end } = legend(entries, 100, 6, style);
    expect(svg).toBe(
      '<rect x="100"/><text x="112" y="10" class="soft">a</text><rect x="125"/><text x="137" y="10" class="soft">bb</text>',
    );
    expect(end).toBe(147);
  });
  it("write numbers with two decimals, escape texts, and leave out what is undefined", () => {
    expect([coordinate(1 / 3), coordinate(-0.001), coordinate(12)]).toEqual(["0.33", "0", "12"]);
    expect(text(1, 2, '<&"', { class: undefined })).toBe('<text x="1" y="2">&lt;&amp;&quot;</text>');
  });
  it("have the space inside the margins of any width", () => {
    const margin = { top: 10, right: 20, bottom: 30, left: 40 };
    expect(plotArea(300, 200, margin)).toEqual({ x: [40, 280], y: [170, 10] });
  });
});

describe("labels that would meet", () => {
  it("are left out by priority", () => {
    const labels = [{ at: 50, always: true }, { at: 55, always: true }, { at: 0 }, { at: 45 }, { at: 70 }];
    expect(keepApart(labels, 11).map(({ at }) => at)).toEqual([0, 50, 55, 70]);
    expect(
      keepApart(
        [
          { at: 0, half: 10 },
          { at: 19, half: 10 },
          { at: 20, half: 10 },
        ],
        0,
      ),
    ).toHaveLength(2);
    expect(keepApart([{ at: 5, always: true }, { at: 5, always: true }, { at: 5 }], 1)).toHaveLength(1);
  });
  it("are moved apart, in the same order, and inside an end", () => {
    expect(dodge([10, 12, 50, 11], 5)).toEqual([10, 20, 50, 15]);
    expect(dodge([95, 99, 98], 5, 100)).toEqual([90, 100, 95]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 8 }), (positions) => {
        const placed = dodge(positions, 4, 100).toSorted((a, b) => a - b);
        for (let n = 1; n < placed.length; n++)
          expect(placed[n] - placed[n - 1]).toBeGreaterThanOrEqual(4 - 1e-9);
        expect(placed.at(-1) ?? 0).toBeLessThanOrEqual(100);
      }),
    );
  });
});
