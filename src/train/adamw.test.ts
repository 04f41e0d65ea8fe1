import { describe, expect, test } from "vitest";
import { tensor } from "../core/create/construct.ts";
import { Tensor } from "../core/tensor.ts";
import { AdamW } from "./adamw.ts";
import { clipScale, gradientNorm } from "./clip.ts";
import { schedule } from "./schedule.ts";

const matrix = (...values: number[]) => tensor(Float64Array.from(values), [1, values.length]);
const vector = (...values: number[]) => tensor(Float64Array.from(values), [values.length]);

describe("AdamW", () => {
  test("does what the formula says, step by step, with decay on matrices only", () => {
    const [w, b] = [matrix(1, -2, 0.5), vector(3)];
    const [start, gradient] = [
      [1, -2, 0.5, 3],
      [0.1, -0.3, 0, 2],
    ];
    const adamw = new AdamW(new Map([["w", w], ["b", b]]), { lr: 0.01, betas: [0.9, 0.95], weightDecay: 0.1, decays: "matrices" }); // biome-ignore format: one line
    const gradients = new Map<Tensor, Tensor>([
      [w, matrix(...gradient.slice(0, 3))],
      [b, vector(gradient[3])],
    ]);
    const m = [0, 0, 0, 0];
    const v = [0, 0, 0, 0];
    for (let t = 1; t <= 5; t++) {
      adamw.step(gradients);
      gradient.forEach((g, i) => {
        if (i < 3) start[i] *= 1 - 0.01 * 0.1;
        m[i] = 0.9 * m[i] + (1 - 0.9) * g;
        v[i] = 0.95 * v[i] + (1 - 0.95) * g * g;
        start[i] -= (0.01 * (m[i] / (1 - 0.9 ** t))) / (Math.sqrt(v[i] / (1 - 0.95 ** t)) + 1e-8);
      });
      [...w.data, ...b.data].forEach((value, i) => expect(value).toBeCloseTo(start[i], 14));
    }
    expect(adamw.steps).toBe(5);
  });

  test("`decays` chooses the parameters that decay, and a parameter without a gradient stays", () => {
    const [w, still] = [vector(1), matrix(1)];
    const parameters = new Map([["w", w], ["still", still]]); // biome-ignore format: one line
    const adamw = new AdamW(parameters, { lr: 1, weightDecay: 0.5, decays: (name) => name === "w" });
    adamw.step(new Map([[w, vector(0)]]));
    expect(w.at(0)).toBe(0.5);
    expect(still.at(0, 0)).toBe(1);
  });

  test("a scale is the same as scaled gradients", () => {
    const run = (scale: number, g: number) => {
      const w = vector(1);
      const adamw = new AdamW(new Map([["w", w]]));
      for (let i = 0; i < 3; i++) adamw.step(new Map([[w, vector(g)]]), { scale, lr: 0.1 });
      return w.at(0);
    };
    expect(run(0.25, 4)).toBe(run(1, 1));
  });

  test("refuses options outside their range and parameters that cannot be updated in place", () => {
    const none = new Map<string, Tensor>();
    expect(() => new AdamW(none, { betas: [1, 0.9] })).toThrow(expect.objectContaining({ code: "betas" }));
    expect(() => new AdamW(none, { lr: Number.NaN })).toThrow(expect.objectContaining({ code: "lr" }));
    const half = tensor(new Uint16Array(1), [1], "float16");
    expect(() => new AdamW(new Map([["h", half]]))).toThrow(expect.objectContaining({ code: "parameter" }));
    const turned = tensor(new Float32Array(4), [2, 2]).transpose();
    expect(() => new AdamW(new Map([["t", turned]]))).toThrow(expect.objectContaining({ code: "parameter" }));
  });
});

describe("clipping", () => {
  test("scales a norm down to the limit and leaves smaller ones unchanged", () => {
    const gradients = new Map<Tensor, Tensor>([
      [vector(0), vector(3)],
      [vector(0), matrix(0, 4)],
    ]);
    expect(gradientNorm(gradients).at()).toBe(5);
    const view = new Tensor(Float64Array.of(9, 3, 4), [2], "float64", [1], 1);
    expect(gradientNorm(new Map<Tensor, Tensor>([[vector(0, 0), view]])).at()).toBe(5);
    expect(clipScale(5, 1)).toBe(0.2);
    expect(clipScale(0.5, 1)).toBe(1);
    expect(() => clipScale(1, 0)).toThrow(expect.objectContaining({ code: "maxNorm" }));
  });
});

describe("schedule", () => {
  test("rises linearly, then stays", () => {
    const lr = schedule({ lr: 0.1, warmup: 4 });
    expect([0, 1, 3, 4, 1000].map(lr)).toEqual([0.025, 0.05, 0.1, 0.1, 0.1]);
  });

  test("decays linearly or as a cosine to its floor", () => {
    const linear = schedule({ lr: 4, warmup: 2, steps: 12, decay: "linear", floor: 0.5 });
    expect([2, 7, 12, 20].map(linear)).toEqual([4, 3, 2, 2]);
    const cosine = schedule({ lr: 1, steps: 8, decay: "cosine" });
    [1, 0.5, 0].forEach((value, i) => expect(cosine(4 * i)).toBeCloseTo(value, 12));
  });

  test.each<[string, Parameters<typeof schedule>[0]]>([
    ["lr", { lr: -1 }],
    ["warmup", { lr: 1, warmup: 1.5 }],
    ["steps", { lr: 1, decay: "cosine" }],
    ["steps", { lr: 1, decay: "linear", warmup: 5, steps: 5 }],
    ["floor", { lr: 1, floor: 2 }],
    ["decay", { lr: 1, decay: "step" as "linear" }],
  ])("refuses a wrong %s", (code, options) => {
    expect(() => schedule(options)).toThrow(expect.objectContaining({ name: "OptionError", code }));
  });
});
