import { expect, it } from "vitest";
import { type FormulaSizes, forward } from "./forward.ts";
import { type OnlineOptions, type OnlineStep, online } from "./online.ts";

const sizes: FormulaSizes = { Nq: 5, Nk: 11, dk: 3, dv: 2 };
const q = Float64Array.from({ length: 15 }, (_, i) => 2 * Math.sin(3 * i));
const k = Float64Array.from({ length: 33 }, (_, i) => 2 * Math.cos(5 * i));
const v = Float64Array.from({ length: 22 }, (_, i) => Math.sin(7 * i));

function run(options: OnlineOptions) {
  const steps: OnlineStep[] = [];
  const walk = online(q, k, v, sizes, options);
  for (;;) {
    const { done, value } = walk.next();
    if (done) return { steps, ...value };
    steps.push(value);
  }
}

const close = (got: Float64Array, want: Float64Array) =>
  got.forEach((x, i) => {
    if (x !== want[i]) expect(x).toBeCloseTo(want[i], 13);
  });

it("any tiling gives the result of the three loops", () => {
  const masks: OnlineOptions[] = [
    {},
    { allowed: (i, j) => j <= i },
    { allowed: (i, j) => i !== 2 && j % 3 !== 1 },
  ];
  for (const options of masks) {
    const want = forward(q, k, v, sizes, options);
    for (const tileM of [1, 2, 5, 8])
      for (const tileN of [1, 3, 4, 11, 16]) {
        const got = run({ ...options, tileM, tileN });
        close(got.output, want.output);
        close(got.lse, want.lse);
      }
  }
});

it("the steps cover every cell once, row tiles outside, key tiles inside", () => {
  const { steps } = run({ tileM: 2, tileN: 4 });
  expect(steps.map(({ rows, keys }) => [...rows, ...keys])).toEqual(
    [
      [0, 2],
      [2, 4],
      [4, 5],
    ].flatMap((rows) =>
      [
        [0, 4],
        [4, 8],
        [8, 11],
      ].map((keys) => [...rows, ...keys]),
    ),
  );
});

it("the sums of a step are those of the keys so far, relative to the maximum so far", () => {
  const { steps } = run({ tileM: 5, tileN: 4 });
  for (const { keys, m, l, o } of steps) {
    const masked = forward(q, k, v, sizes, { allowed: (_, j) => j < keys[1] });
    for (let i = 0; i < 5; i++) {
      expect(m[i] + Math.log(l[i])).toBeCloseTo(masked.lse[i], 13);
      for (let e = 0; e < 2; e++) expect(o[2 * i + e] / l[i]).toBeCloseTo(masked.output[2 * i + e], 13);
    }
  }
});

it("the maximum never decreases, and the rescale factor is exp of minus its increase", () => {
  const { steps } = run({ tileN: 2 });
  let before = -Infinity;
  for (const { keys, m, rescale, s, p } of steps) {
    if (keys[0] === 0) before = -Infinity;
    expect(m[0]).toBe(Math.max(before, ...s));
    expect(rescale[0]).toBe(before === -Infinity ? 1 : Math.exp(before - m[0]));
    s.forEach((x, j) => {
      expect(p[j]).toBe(Math.exp(x - m[0]));
    });
    before = m[0];
  }
});

it("later steps do not change the arrays of a step", () => {
  const first = online(q, k, v, sizes, { tileN: 4 }).next().value as OnlineStep;
  expect(run({ tileN: 4 }).steps[0]).toEqual(first);
});

it("a fully masked row, or one visible in a late tile only, has no NaN", () => {
  const { steps, output, lse } = run({ tileN: 4, allowed: (i, j) => i === 1 && j > 8 });
  for (const { m, l, o, p, rescale } of steps)
    for (const list of [m, l, o, p, rescale]) expect([...list].some(Number.isNaN)).toBe(false);
  expect(lse[0]).toBe(-Infinity);
  expect(output[0]).toBe(0);
  close(output, forward(q, k, v, sizes, { allowed: (i, j) => i === 1 && j > 8 }).output);
});

it("zero keys give zeros without a step", () => {
  const walk = online(q, new Float64Array(0), new Float64Array(0), { ...sizes, Nk: 0 });
  const { done, value } = walk.next();
  expect(done).toBe(true);
  expect((value as { output: Float64Array }).output).toEqual(new Float64Array(10));
});

it("a tile without rows or keys is rejected", () => {
  expect(() => run({ tileN: 0 })).toThrow(/online: tileN must be an integer ≥ 1, got 0/);
  expect(() => run({ tileM: 1.5 })).toThrow(/online: tileM must be an integer ≥ 1, got 1.5/);
});
