import { expect, test } from "vitest";
import { Normals } from "./chance.ts";

test("the numbers are normal: moments, and tails as long as they should be", () => {
  const n = 400_000;
  const list = new Normals(1).list(n);
  let [mean, square, fourth, beyond3, largest] = [0, 0, 0, 0, 0];
  for (const x of list) {
    mean += x / n;
    square += x ** 2 / n;
    fourth += x ** 4 / n;
    if (Math.abs(x) > 3) beyond3++;
    largest = Math.max(largest, Math.abs(x));
  }
  // Five standard deviations of each mean over n draws: √(1/n), √(2/n), √(96/n), √(0.0027/n).
  expect(Math.abs(mean)).toBeLessThan(5 / Math.sqrt(n));
  expect(Math.abs(square - 1)).toBeLessThan(5 * Math.sqrt(2 / n));
  expect(Math.abs(fourth - 3)).toBeLessThan(5 * Math.sqrt(96 / n));
  expect(Math.abs(beyond3 / n - 0.0026998)).toBeLessThan(5 * Math.sqrt(0.0027 / n));
  expect(largest).toBeGreaterThan(4.2);
});

test("a seed gives the same numbers, and another seed others", () => {
  expect(new Normals(3).list(5)).toEqual(new Normals(3).list(5));
  expect(new Normals(3).list(5)).not.toEqual(new Normals(4).list(5));
});
