import { expect, test } from "vitest";
import { colorAt, colorTable, hex, levelOf, lightness, placeOf, type Rgb, xterm256 } from "./color.ts";

const steps = Array.from({ length: 256 }, (_, i) => i / 255);

test("both scales begin and end where they are said to", () => {
  expect([0, 1].map((place) => hex(colorAt(place, "plum")))).toEqual(["#fbfaf7", "#3f0538"]);
  expect([0, 1].map((place) => hex(colorAt(place, "magma")))).toEqual(["#000004", "#fcfdbf"]);
});

test("lightness never turns back: plum falls, magma rises", () => {
  for (let i = 1; i < 256; i++) {
    expect(lightness(colorAt(steps[i], "plum"))).toBeLessThan(
      lightness(colorAt(steps[i - 1], "plum")) + 2e-3,
    );
    expect(lightness(colorAt(steps[i], "magma"))).toBeGreaterThan(
      lightness(colorAt(steps[i - 1], "magma")) - 2e-3,
    );
  }
});

test("every scale of one direction runs one way in lightness, and the signed ones fall or rise away from 0", () => {
  const light = (ramp: Parameters<typeof colorTable>[0]) => colorTable(ramp).map(lightness);
  for (const ramp of ["plum", "plum-dark", "grey", "grey-dark", "cividis", "magma"] as const) {
    const all = light(ramp);
    const sign = Math.sign(all[255] - all[0]);
    for (let i = 1; i < 256; i++) expect(sign * (all[i] - all[i - 1]), `${ramp} ${i}`).toBeGreaterThan(-2e-3);
  }
  for (const [ramp, sign] of [
    ["signed", -1],
    ["signed-dark", 1],
  ] as const) {
    const all = light(ramp);
    for (let i = 129; i < 256; i++)
      expect(sign * (all[i] - all[i - 1]), `${ramp} ${i}`).toBeGreaterThan(-2e-3);
    for (let i = 0; i < 128; i++) expect(sign * (all[i] - all[i + 1]), `${ramp} ${i}`).toBeGreaterThan(-2e-3);
  }
});

test("on the signed scales color 128 is the paper, and the ends are the colors of keys and queries", () => {
  expect([0, 128, 255].map((i) => hex(colorTable("signed")[i]))).toEqual(["#7d2900", "#fbfaf7", "#12299c"]);
  expect([0, 128, 255].map((i) => hex(colorTable("signed-dark")[i]))).toEqual([
    "#fe9932",
    "#14151a",
    "#42acff",
  ]);
});

test("in 256 colors magma does not get darker by more than a hair, and keeps at least 12 steps", () => {
  const codes = [...new Set(steps.map((place) => xterm256(colorAt(place, "magma"))))];
  expect(codes.length).toBeGreaterThanOrEqual(12);
  const light = codes.map((code) => lightness(xterm(code)));
  for (let i = 1; i < light.length; i++) expect(light[i]).toBeGreaterThan(light[i - 1] - 0.06);
});

test("the scale for 256 colors is made of such colors, each lighter than the one before, none grey", () => {
  const codes = [...new Set(steps.map((place) => xterm256(colorAt(place, "magma-256"))))];
  expect(codes).toHaveLength(11);
  for (const [n, code] of codes.entries()) {
    expect(colorTable("magma-256").map(hex)).toContain(hex(xterm(code)));
    expect(code).toBeLessThan(232);
    if (n > 0) expect(lightness(xterm(code))).toBeGreaterThan(lightness(xterm(codes[n - 1])) + 0.015);
  }
});

test("every color of the cube and every grey is its own nearest", () => {
  for (let code = 16; code < 256; code++) expect(hex(xterm(xterm256(xterm(code))))).toBe(hex(xterm(code)));
});

test("places outside the scale take its ends, and NaN the lower one", () => {
  expect([-1, 0, 1, 2, Number.NaN].map(levelOf)).toEqual([0, 0, 255, 255, 0]);
});

test("the square root keeps the order and lifts small weights", () => {
  expect(placeOf(0.01)).toBeCloseTo(0.1, 12);
  expect(placeOf(0.01, "linear")).toBe(0.01);
  expect([-0.1, Number.NaN, 1.0001].map((weight) => placeOf(weight))).toEqual([0, 0, 1]);
});

/** xterm's own definition of a code. */
function xterm(code: number): Rgb {
  if (code >= 232) return [8 + 10 * (code - 232), 8 + 10 * (code - 232), 8 + 10 * (code - 232)];
  const levels = [0, 95, 135, 175, 215, 255];
  const at = code - 16;
  return [levels[Math.floor(at / 36)], levels[Math.floor(at / 6) % 6], levels[at % 6]];
}
