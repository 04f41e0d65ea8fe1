import { expect, test } from "vitest";
import { choosePaint, colored, plain, shade } from "./paint.ts";

test("color only on a terminal, unless forced", () => {
  const env = { COLORTERM: "truecolor", TERM: "xterm-256color" };
  expect(choosePaint("auto", env, true)).toBe("truecolor");
  expect(choosePaint("auto", env, false)).toBe("mono");
  expect(choosePaint("always", env, false)).toBe("truecolor");
  expect(choosePaint("never", env, true)).toBe("mono");
  expect(choosePaint("auto", { ...env, FORCE_COLOR: "1" }, false)).toBe("truecolor");
});

test("NO_COLOR has an effect if it is not empty; FORCE_COLOR overrides it, and 0 means no color", () => {
  const env = { TERM: "xterm-256color" };
  expect(choosePaint("auto", { ...env, NO_COLOR: "1" }, true)).toBe("mono");
  expect(choosePaint("auto", { ...env, NO_COLOR: "" }, true)).toBe("256");
  expect(choosePaint("auto", { ...env, NO_COLOR: "1", FORCE_COLOR: "3" }, true)).toBe("truecolor");
  expect(choosePaint("auto", { ...env, FORCE_COLOR: "0" }, true)).toBe("mono");
  expect(choosePaint("auto", { ...env, FORCE_COLOR: "2" }, false)).toBe("256");
});

test("a dumb terminal gets ASCII", () => {
  expect(choosePaint("auto", { TERM: "dumb" }, true)).toBe("ascii");
  expect(choosePaint("ascii", { COLORTERM: "truecolor" }, true)).toBe("ascii");
});

test("escape sequences are written only if the paint has colors", () => {
  expect(colored("x", "truecolor", [1, 2, 3], [4, 5, 6])).toBe("\x1b[38;2;1;2;3;48;2;4;5;6mx\x1b[0m");
  expect(colored("x", "256", undefined, [0, 0, 0])).toBe("\x1b[48;5;16mx\x1b[0m");
  expect(colored("x", "mono", [1, 2, 3])).toBe("x");
});

test("shades grow with the weight", () => {
  expect([0, 0.25, 0.5, 0.75, 1].map((place) => shade(place, "mono")).join("")).toBe(" ░▒▓█");
  expect([0, 1, 7, Number.NaN].map((place) => shade(place, "ascii")).join("")).toBe(" @@ ");
});

test("text for ASCII has only ASCII characters", () => {
  expect(plain("▁naïve → “日” the₂ √d − 1\u00a0%", "ascii")).toBe('_naive -> "?" the2 sqrt d - 1 %');
  expect(plain("→", "mono")).toBe("→");
});
