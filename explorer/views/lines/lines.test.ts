import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { axisOf } from "../../canvas/axis.ts";
import { countOf, Links, linksOf, MAX_KEYS, type WeightedLink } from "./edges.ts";
import type { LayoutInput } from "./layout.ts";
import { crossing, hasArcs, heightOf, layoutOf, linkAt, outside, placeAt, trace } from "./layout.ts";
import { linksInView, strokeOf } from "./paint.ts";

const top = (n: number) => ({ keep: "top", top: n, mass: 0 }) as const;
const mass = (share: number) => ({ keep: "mass", top: 0, mass: share }) as const;
const read = (row: readonly number[], hidden: number[] = [], renormalize = false) =>
  linksOf(row, axisOf(row.length), hidden, renormalize);

describe("the links of a row", () => {
  it("are its keys above zero, the strongest first", () => {
    const row = read([0.1, 0, 0.6, 0.3]);
    expect([...row.places]).toEqual([2, 3, 0]);
    expect(row).toMatchObject({ count: 3, of: 3, hidden: 0, nonFinite: 0 });
    expect(row.sum).toBeCloseTo(1);
  });

  it("are chosen by number, or by their share of the row", () => {
    const row = read([0.1, 0.05, 0.6, 0.25]);
    expect(countOf(row, top(2))).toBe(2);
    expect(countOf(row, top(16))).toBe(4);
    expect(countOf(row, mass(0.6))).toBe(1);
    expect(countOf(row, mass(0.61))).toBe(2);
    expect(countOf(row, mass(0.99))).toBe(4);
    expect(countOf(read(new Array(10).fill(0.1)), mass(0.9))).toBe(9);
  });

  it("leave out hidden keys, whose weight is reported or redistributed", () => {
    const gap = read([0.2, 0.5, 0.3], [1]);
    expect([...gap.places]).toEqual([2, 0]);
    expect(gap).toMatchObject({ hidden: 0.5, mass: 1, of: 3 });
    const shared = read([0.2, 0.5, 0.3], [1], true);
    expect(shared.weights[0]).toBeCloseTo(0.6);
    expect(shared.weights[1]).toBeCloseTo(0.4);
    expect(shared.of).toBe(2);
  });

  it("of segments are places in the picture; the weight outside counts as left out", () => {
    const row = linksOf([0.1, 0.2, 0.3, 0.4], axisOf(4, [[2, 4]]), [], false);
    expect([...row.places]).toEqual([1, 0]);
    expect(row.sum).toBeCloseTo(0.7);
    expect(row.mass).toBeCloseTo(1);
    const part = linksOf([0.1, 0.2, 0.3, 0.4], axisOf(4), [], false, axisOf(4, [[2, 4]]));
    expect([...part.places]).toEqual([3, 2]);
  });

  it("count NaN and infinite values, and never draw them", () => {
    const row = read([Number.NaN, 0.5, Number.POSITIVE_INFINITY]);
    expect([...row.places]).toEqual([1]);
    expect(row.nonFinite).toBe(2);
  });

  it("are at most 64 of a row, whatever its length", () => {
    const row = read(new Array(1000).fill(0.001));
    expect(row.places.length).toBe(MAX_KEYS);
    expect(row.count).toBe(1000);
  });
});

describe("the links of a head", () => {
  const rows = [
    [1, 0, 0],
    [0.5, 0.5, 0],
    [0.1, 0.2, 0.7],
  ];
  const links = () => new Links(axisOf(3), axisOf(3), (query) => read(rows[query]));

  it("are read one row per step, visible rows first", () => {
    const some = links();
    some.prefer(2, 3);
    expect(some.preferring).toBe(true);
    some.step();
    expect([some.peek(0), some.peek(2)?.places[0]]).toEqual([undefined, 2]);
    expect(some.preferring).toBe(false);
    expect(some.step()).toBe(true);
    expect(some.step()).toBe(false);
    expect(some.isComplete).toBe(true);
    expect(some.step()).toBe(false);
  });

  it("report how many of all links are drawn", () => {
    const all = links();
    while (all.step());
    const totals = all.totals(top(1));
    expect(totals).toMatchObject({ edges: 3, of: 6, rows: 3, cut: 0, max: 1 });
    expect(totals.shown / totals.mass).toBeCloseTo((1 + 0.5 + 0.7) / 3);
    expect(all.totals(mass(0.99)).edges).toBe(6);
  });

  it("report rows whose share needs more keys than are stored", () => {
    const wide = new Links(axisOf(2), axisOf(200), () => read(new Array(200).fill(0.005)));
    while (wide.step());
    expect(wide.totals(mass(0.9))).toMatchObject({ cut: 2, edges: 2 * MAX_KEYS });
    expect(wide.totals(top(16)).cut).toBe(0);
  });

  it("are the same by query (outgoing) and by key (incoming)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 7, maxLength: 7 }), {
          minLength: 1,
          maxLength: 9,
        }),
        fc.integer({ min: 1, max: 16 }),
        (weights, count) => {
          const some = new Links(axisOf(weights.length), axisOf(7), (query) => read(weights[query]));
          while (some.step());
          const name = ({ row, column, weight }: WeightedLink) => `${row} ${column} ${weight}`;
          const out = weights.flatMap((_, place) => some.outgoing(place, top(count)).map(name));
          const into = Array.from({ length: 7 }, (_, place) =>
            some.incoming(place, top(count)).map(name),
          ).flat();
          expect(into.sort()).toEqual(out.sort());
        },
      ),
    );
  });
});

const LAID: LayoutInput = {
  width: 600,
  height: 500,
  rows: 20,
  columns: 20,
  names: [80, 90],
  arcs: false,
  ahead: true,
  pitch: undefined,
  scroll: [0, 0],
};

describe("the layout of lines", () => {
  it("shows all tokens if their names fit, and scrolls otherwise", () => {
    expect(layoutOf({ ...LAID, rows: 25, columns: 25 })).toMatchObject({ scrolls: false, pitch: 20 });
    const sixty = layoutOf({ ...LAID, rows: 60, columns: 60 });
    expect(sixty.scrolls).toBe(true);
    expect(sixty.pitch).toBeGreaterThan(14);
    // Zoomed out, all fit.
    expect(layoutOf({ ...LAID, rows: 200, columns: 200, pitch: 2.5 })).toMatchObject({
      scrolls: false,
      pitch: 2.5,
    });
    const long = layoutOf({ ...LAID, rows: 201, columns: 900, scroll: [500, 30.5] });
    expect(long.scrolls).toBe(true);
    // Never scrolled beyond the last token.
    expect(long.rows.from).toBeCloseTo(201 - 500 / long.pitch);
    expect(long.columns.from).toBe(30.5);
  });

  it("centers a short column relative to the other", () => {
    const layout = layoutOf({ ...LAID, rows: 1, columns: 25 });
    expect(heightOf(layout, layout.rows, 0)).toBeCloseTo(heightOf(layout, layout.columns, 12));
    expect(placeAt(layout, layout.rows, heightOf(layout, layout.rows, 0))).toBe(0);
    expect(placeAt(layout, layout.rows, 3)).toBeUndefined();
  });

  it("finds the ends that are outside", () => {
    const layout = layoutOf({ ...LAID, rows: 400, columns: 400, scroll: [100, 100] });
    expect([50, 110, 399].map((place) => outside(layout, layout.rows, place))).toEqual([-1, 0, 1]);
  });

  it("offers arcs if a text attends to itself", () => {
    const block = { kind: "self", Nq: 4, Nk: 4, queryOffset: 0 } as Parameters<typeof hasArcs>[0];
    expect(hasArcs(block)).toBe(true);
    expect(hasArcs({ ...block, kind: "cross" })).toBe(false);
    expect(hasArcs({ ...block, Nk: 5 })).toBe(false);
    expect(hasArcs({ ...block, queryOffset: 1, Nk: 5 })).toBe(false);
  });

  /** Points along the curve that `trace` draws. */
  const points = (layout: ReturnType<typeof layoutOf>, link: WeightedLink) => {
    let [x0, y0] = [0, 0];
    const pairs: [number, number][] = [];
    trace(
      {
        moveTo: (x: number, y: number) => {
          [x0, y0] = [x, y];
        },
        bezierCurveTo: (x1: number, y1: number, x2: number, y2: number, x3: number, y3: number) => {
          for (let t = 0.1; t < 0.95; t += 0.1) {
            const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
            pairs.push([a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3]);
          }
        },
      },
      layout,
      link,
    );
    return pairs;
  };

  for (const arcs of [false, true])
    it(`finds ${arcs ? "an arc" : "a line"} at every point of its curve`, () => {
      const layout = layoutOf({ ...LAID, arcs });
      for (const [row, column] of [
        [0, 19],
        [12, 3],
        [5, 6],
      ]) {
        const link = { row, column, weight: 0.5 };
        for (const [x, y] of points(layout, link)) {
          expect(linkAt(layout, [link], x, y, 1)).toBe(link);
          expect(crossing(layout, link, y)).toBeCloseTo(x, 0);
        }
      }
      expect(linkAt(layout, [{ row: 0, column: 0, weight: 1 }], 300, 480)).toBeUndefined();
    });

  it("puts arcs to later tokens at the left, arcs to earlier tokens at the right", () => {
    const layout = layoutOf({ ...LAID, arcs: true });
    const ahead = points(layout, { row: 2, column: 9, weight: 1 });
    const back = points(layout, { row: 9, column: 2, weight: 1 });
    expect(Math.max(...ahead.map(([x]) => x))).toBeLessThan(layout.left);
    expect(Math.min(...back.map(([x]) => x))).toBeGreaterThan(layout.right);
  });

  it("chooses the strongest of equally near lines", () => {
    const layout = layoutOf(LAID);
    const weak = { row: 3, column: 3, weight: 0.1 };
    const strong = { row: 3, column: 3, weight: 0.9 };
    const y = heightOf(layout, layout.rows, 3);
    expect(linkAt(layout, [weak, strong], 300, y)).toBe(strong);
    expect(linkAt(layout, [strong, weak], 300, y)).toBe(strong);
  });
});

describe("the painted lines", () => {
  it("have ink in proportion to the weight on a square-root scale", () => {
    const stroke = { transfer: "sqrt", domain: 1, widest: 5 } as const;
    const ink = (weight: number) => {
      const { width, opacity } = strokeOf({ row: 0, column: 0, weight }, stroke);
      return width * opacity;
    };
    expect(ink(0.8) / ink(0.2)).toBeCloseTo(4, 1);
    expect(strokeOf({ row: 0, column: 0, weight: 0.5 }, { ...stroke, transfer: "linear" }).width).toBeCloseTo(
      2.5,
      1,
    );
    expect(ink(1e-9)).toBeGreaterThan(0);
  });

  it("end in tails that count the links to tokens outside", () => {
    const n = 400;
    const links = new Links(axisOf(n), axisOf(n), (query) =>
      read(Array.from({ length: n }, (_, j) => (j === query ? 0.5 : j === 0 ? 0.3 : j === n - 1 ? 0.2 : 0))),
    );
    while (links.step());
    const layout = layoutOf({ ...LAID, rows: n, columns: n, scroll: [100, 100] });
    const inView = linksInView(layout, links, top(3));
    expect(inView.rows.find(({ place }) => place === 110)).toEqual({ place: 110, above: 1, below: 1 });
    expect(inView.links.every(({ row, column }) => row === column)).toBe(true);
    expect(inView.columns).toEqual([]);
    const start = linksInView(layoutOf({ ...LAID, rows: n, columns: n, scroll: [100, 0] }), links, top(3));
    const seenRows = Math.round(500 / layout.pitch);
    expect(start.columns.find(({ place }) => place === 0)?.above).toBe(100);
    expect(start.links.length).toBeGreaterThanOrEqual(seenRows - 1);
  });
});
