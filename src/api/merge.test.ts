/** mergeStates: associative, commutative, with an identity; rejected input. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tensor, zeros } from "../core/create/construct.ts";
import { OptionError, ShapeError } from "../core/errors.ts";
import type { State } from "../core/state.ts";
import { Tensor } from "../core/tensor.ts";
import { mergeStates } from "./merge.ts";

/** A float64 state of `rows` rows and two columns; about one row in five is fully masked. */
const state = (rows: number) =>
  fc
    .array(
      fc.tuple(
        fc.double({ min: -300, max: 300, noNaN: true }),
        fc.integer({ min: 0, max: 4 }),
        fc.double({ min: -5, max: 5, noNaN: true }),
        fc.double({ min: -5, max: 5, noNaN: true }),
      ),
      { minLength: rows, maxLength: rows },
    )
    .map(
      (list): State => ({
        output: tensor(
          Float64Array.from(list.flatMap(([, empty, x, y]) => (empty === 0 ? [0, 0] : [x, y]))),
          [rows, 2],
        ),
        lse: tensor(Float64Array.from(list.map(([lse, empty]) => (empty === 0 ? -Infinity : lse))), [rows]),
      }),
    );

function near(a: State, b: State) {
  for (const name of ["output", "lse"] as const) {
    const [x, y] = [a[name].toFloat64(), b[name].toFloat64()];
    x.forEach((value, n) => {
      if (!Object.is(value, y[n]) && !(Math.abs(value - y[n]) <= 1e-12 * Math.max(1, Math.abs(y[n]))))
        expect.fail(`${name} ${n}: ${value}, expected ${y[n]}`);
    });
  }
}

/** The same numbers in arrays of their own: one state twice is refused. */
const copyOf = ({ output, lse }: State): State => ({ output: output.contiguous(), lse: lse.contiguous() });

describe("laws, on random states", () => {
  it("associative: ((a, b), c) = (a, (b, c)) = (a, b, c)", () =>
    fc.assert(fc.property(state(4), state(4), state(4), (a, b, c) => {
      const all = mergeStates([a, b, c]);
      near(mergeStates([mergeStates([a, b]), c]), all);
      near(mergeStates([a, mergeStates([b, c])]), all);
    })));
  it("commutative", () =>
    fc.assert(fc.property(state(4), state(4), (a, b) => near(mergeStates([a, b]), mergeStates([b, a])))));
  it("identity: lse −∞, whatever the output is", () =>
    fc.assert(fc.property(state(4), (a) => {
      const none = { output: tensor(new Float64Array(8).fill(Number.NaN), [4, 2]), lse: tensor(new Float64Array(4).fill(-Infinity), [4]) };
      near(mergeStates([a, none]), a);
      near(mergeStates([none, a, copyOf(none)]), a);
      const both = mergeStates([none, copyOf(none)]);
      expect([...both.output.data]).toEqual(new Array(8).fill(0));
      expect([...both.lse.data]).toEqual(new Array(4).fill(-Infinity));
    })));
  it("one state merges to itself", () => fc.assert(fc.property(state(3), (a) => near(mergeStates([a]), a))));
}); // biome-ignore format: short laws

it("weights parts by exp(lse): 3 to 1", () => {
  const part = (x: number, lse: number): State => ({ output: tensor([x], [1, 1]), lse: tensor([lse], [1]) });
  const { output, lse } = mergeStates([part(8, Math.log(3)), part(4, 0)]);
  expect(output.data[0]).toBeCloseTo(7, 6);
  expect(lse.data[0]).toBeCloseTo(Math.log(4), 6);
});

it("lse of ±10,000 do not overflow", () => {
  const part = (x: number, lse: number): State => ({ output: tensor([x], [1, 1]), lse: tensor([lse], [1]) });
  expect(mergeStates([part(1, 1e4), part(2, -1e4)]).output.data[0]).toBe(1);
  expect(mergeStates([part(1, -1e4), part(3, -1e4)]).output.data[0]).toBe(2);
});

it("NaN in a part with keys reaches the result", () => {
  const part = (x: number, lse: number): State => ({ output: tensor([x], [1, 1]), lse: tensor([lse], [1]) });
  expect(mergeStates([part(1, 0), part(Number.NaN, 0)]).output.data[0]).toBeNaN();
  expect(mergeStates([part(1, 0), part(1, Number.NaN)]).lse.data[0]).toBeNaN();
});

it("keeps dtypes, rounds 16-bit outputs once, reads views", () => {
  const half = (bits: number[]) => new Tensor(Uint16Array.from(bits), [2, 1], "bfloat16");
  const lse = tensor([0, 0], [2]);
  const merged = mergeStates([
    { output: half([0x3f80, 0x4000]), lse },
    { output: half([0x4040, 0x4080]), lse },
  ]);
  expect([merged.output.dtype, [...(merged.output.data as Uint16Array)], merged.lse.dtype]).toEqual([
    "bfloat16",
    [0x4000, 0x4040],
    "float32",
  ]);
  const turned = tensor([1, 2, 3, 4, 5, 6], [3, 2]).transpose();
  const view = () => ({ output: turned, lse: zeros([2]) });
  expect([...mergeStates([view(), view()]).output.data]).toEqual([1, 3, 5, 2, 4, 6]);
});

it("in layout bshd the rows of the output are [N, H], those of lse [H, N]", () => {
  const output = tensor(
    Float32Array.from({ length: 6 }, (_, n) => n),
    [3, 2, 1],
  );
  const [a, b] = [
    { output, lse: tensor([0, 0, 0, 900, 900, 900], [2, 3]) },
    { output: zeros([3, 2, 1]), lse: tensor([900, 900, 900, 0, 0, 0], [2, 3]) },
  ];
  const merged = mergeStates([a, b], { layout: "bshd" });
  expect([...merged.output.data]).toEqual([0, 1, 0, 3, 0, 5]);
  expect(merged.lse.shape).toEqual([2, 3]);
});

it("rejects empty lists, other shapes, other dtypes and other layouts by name", () => {
  const one = { output: zeros([2, 3]), lse: zeros([2]) };
  expect(() => mergeStates([])).toThrow(OptionError);
  expect(() => mergeStates(undefined as never)).toThrow(
    /expected a list of one or more states, .* got undefined/,
  );
  expect(() => mergeStates([one, { output: zeros([2, 4]), lse: zeros([2]) }])).toThrow(
    /states\[1\] must have output \[2, 3\] and lse \[2\], got output \[2, 4\]/,
  );
  expect(() => mergeStates([{ output: zeros([2, 3]), lse: zeros([3]) }])).toThrow(ShapeError);
  expect(() => mergeStates([one, { output: zeros([2, 3], "float64"), lse: zeros([2]) }])).toThrow(
    /states\[1\] has other dtypes than states\[0\]/,
  );
  expect(() => mergeStates([one], { layout: "x" as never })).toThrow(
    /layout must be "bhsd" or "bshd", got "x"/,
  );
});

it("rejects invalid states and unknown options", () => {
  const one = { output: zeros([2, 3]), lse: zeros([2]) };
  expect(() => mergeStates([one, null as never])).toThrow(/mergeStates: states\[1\] must be .* got null/);
  expect(() => mergeStates([one], { layot: "bshd" } as never)).toThrow(
    /unknown option "layot"; expected one of layout/,
  );
  expect(() => mergeStates([one], null as never)).toThrow(OptionError);
});
