import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { axisOf, between, indexAt, nearest, placeOf, step } from "./axis.ts";
import { cellSize, fitted, pan, reveal, type Scene, settle, zoom } from "./camera.ts";
import { visibleLabels } from "./labels.ts";
import { Lru } from "./lru.ts";

describe("an axis", () => {
  it("puts segments side by side", () => {
    const axis = axisOf(10, [
      [7, 9],
      [0, 3],
    ]);
    expect(axis).toEqual({
      runs: [
        { start: 0, end: 3, at: 0 },
        { start: 7, end: 9, at: 3 },
      ],
      count: 5,
    });
    expect([0, 2, 3, 4, 5].map((place) => indexAt(axis, place))).toEqual([0, 2, 7, 8, undefined]);
    expect([2, 3, 8].map((index) => placeOf(axis, index))).toEqual([2, undefined, 4]);
    expect(step(axis, 2, 1)).toBe(7);
    expect(step(axis, 8, 9)).toBe(8);
    expect(nearest(axis, 5)).toBe(7);
    expect(between(axis, 1.5, 3.5)).toEqual([
      { start: 1, end: 3, at: 1 },
      { start: 7, end: 8, at: 3 },
    ]);
  });

  it("contains each shown token once, in order", () => {
    const range = fc.tuple(fc.nat(40), fc.nat(40));
    fc.assert(
      fc.property(fc.nat(30), fc.array(range), (count, ranges) => {
        const axis = axisOf(count, ranges);
        const shown = Array.from({ length: axis.count }, (_, place) => indexAt(axis, place)!);
        const want = Array.from({ length: count }, (_, i) => i).filter((i) =>
          ranges.some(([start, end]) => i >= start && i < end),
        );
        expect(shown).toEqual(want);
        for (const index of shown) expect(indexAt(axis, placeOf(axis, index)!)).toBe(index);
      }),
    );
  });

  it("of no tokens has no places", () => {
    expect(axisOf(0)).toEqual({ runs: [], count: 0 });
    expect(step(axisOf(0), 3, 1)).toBe(0);
  });
});

describe("the labels of an axis", () => {
  const axis = axisOf(1000);
  const places = (pixels: number, cursor: number, pointed?: number, named: number[] = []) =>
    visibleLabels(axis, { pixels, from: 0, length: 100 }, { cursor, pointed, named }).map(
      ({ place, strong }) => (strong ? `${place}*` : place),
    );

  it("are at every 1, 2, 5, 10 … tokens, at least 11 pixels apart", () => {
    expect(places(20, 900)).toEqual([0, 1, 2, 3, 4]);
    expect(places(11, 900)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(places(5.5, 900)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    expect(places(1, 900)).toEqual([0, 20, 40, 60, 80]);
  });

  it("always show the cursor and the pointer, named ones where they are free, and no other near them", () => {
    expect(places(1, 41, 35)).toEqual([0, 20, "35*", "41*", 60, 80]);
    expect(places(1, 40, 40)).toEqual([0, 20, "40*", 60, 80]);
    expect(places(1, 41, undefined, [44, 52, 53])).toEqual([0, 20, "41*", "52*", 80]);
  });
});

describe("a camera", () => {
  const scene: Scene = { width: 800, height: 600, columns: 4096, rows: 4096, largest: 28 };

  it("gives cells the shape that a scene names, and fills the viewport with them", () => {
    const atlas: Scene = {
      width: 600,
      height: 600,
      columns: 12,
      rows: 12,
      largest: 240,
      closest: 480,
      shape: [0.5, 1],
    };
    expect(cellSize(atlas, 40)).toEqual([20, 40]);
    // 12 rows of 50 pixels.
    expect(fitted(atlas).scale).toBe(50);
    // 12 columns of 100 pixels at half the scale, where the height allows it.
    expect(fitted({ ...atlas, height: 2000 }).scale).toBe(100);
    const zoomed = zoom(atlas, null, 2, 300, 300)!;
    expect(zoomed.scale).toBe(100);
    // The picture is 600 × 1200 pixels: it is panned down only.
    expect(zoomed.x).toBe(0);
    expect(zoomed.y).toBeCloseTo(3);
  });

  it("shows the whole picture at first, with whole pixels for large cells", () => {
    expect(fitted(scene).scale).toBeCloseTo(600 / 4096);
    expect(fitted({ ...scene, columns: 24, rows: 24 }).scale).toBe(25);
    expect(fitted({ ...scene, columns: 3, rows: 3 }).scale).toBe(28);
  });

  it("zooms about the pointer", () => {
    const first = zoom(scene, null, 8, 300, 200)!;
    const fit = fitted(scene);
    expect(first.x + 300 / first.scale).toBeCloseTo(300 / fit.scale);
    const second = zoom(scene, first, 3, 120, 480)!;
    expect(second.y + 480 / second.scale).toBeCloseTo(first.y + 480 / first.scale);
    expect(zoom(scene, second, 1e-6, 1, 1)).toBeNull();
  });

  it("never leaves the picture", () => {
    const number = fc.double({ min: -1e5, max: 1e5, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 100, noNaN: true }), number, number, (scale, x, y) => {
        const camera = settle(scene, { scale, x, y });
        expect(camera.x).toBeGreaterThanOrEqual(0);
        expect(camera.x + scene.width / camera.scale).toBeLessThanOrEqual(
          Math.max(4096, scene.width / camera.scale) + 1e-6,
        );
      }),
    );
    expect(pan(scene, { scale: 10, x: 0, y: 0 }, 50, -50)).toEqual({ scale: 10, x: 0, y: 5 });
  });

  it("moves no more than is needed to show a cell", () => {
    const camera = { scale: 20, x: 100, y: 100 };
    expect(reveal(scene, camera, 110, 110)).toBe(camera);
    expect(reveal(scene, camera, 99, 110)).toEqual({ scale: 20, x: 97, y: 100 });
    expect(reveal(scene, camera, 140, 110)).toEqual({ scale: 20, x: 103, y: 100 });
  });
});

describe("the cache", () => {
  it("keeps the most recently used entries, up to its capacity", () => {
    const lru = new Lru<number>(30);
    for (const key of ["a", "b", "c"]) lru.set(key, 1, 10);
    lru.get("a");
    lru.set("d", 1, 10);
    expect(["a", "b", "c", "d"].map((key) => lru.get(key))).toEqual([1, undefined, 1, 1]);
    lru.set("c", 2, 30);
    expect([lru.bytes, lru.get("c"), lru.get("a")]).toEqual([30, 2, undefined]);
  });
});

describe("a picture of one query", () => {
  it("is stretched to be visible, and its cells become square when zoomed in", () => {
    const scene: Scene = { width: 800, height: 600, columns: 4096, rows: 1, largest: 28 };
    const [w, h] = cellSize(scene, fitted(scene).scale);
    expect([w, h]).toEqual([800 / 4096, 28]);
    expect(cellSize(scene, 40)).toEqual([40, 40]);
    expect(cellSize({ ...scene, rows: 4096 }, 0.2)).toEqual([0.2, 0.2]);
  });
});
