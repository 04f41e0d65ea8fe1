/** 16-bit parameters: lookups and products widen what they read, a large matrix part by part; matrices of files are packed. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tidy } from "../../api/tidy.ts";
import { fromBfloat16, toBfloat16 } from "../../core/dtype.ts";
import { OptionError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { readSafetensors } from "../../io/index.ts";
import { mean, square } from "../../nn/index.ts";
import { Tape } from "../../train/index.ts";
import { type Engine, getEngine } from "../../wasm/engine/engine.ts";
import { readModel } from "../files/files.ts";
import { locateShipped } from "../files/locate.ts";
import { Parameters } from "./parameters.ts";

/** More elements than are widened at a time. */
const [ROWS, WIDTH] = [2 ** 18 + 3, 65];
const valueAt = (n: number) => ((n * 2_654_435_761) % 2 ** 20) / 2 ** 20 - 0.5;
const bits = Uint16Array.from({ length: ROWS * WIDTH }, (_, n) => toBfloat16(valueAt(n)));
const plan = new Map([
  ["table", { shape: [ROWS, WIDTH], start: 0.02 }],
  ["bias", { shape: [ROWS], start: "zeros" as const }],
]);
const make = () =>
  new Parameters("test", plan, {
    parameters: new Map<string, Tensor>([
      ["table", new Tensor(bits, [ROWS, WIDTH], "bfloat16")],
      [
        "bias",
        new Tensor(
          Float32Array.from({ length: ROWS }, (_, n) => n % 7),
          [ROWS],
          "float32",
        ),
      ],
    ]),
  });

test("a product with a large 16-bit matrix is the product with its numbers, in every part", () => {
  const parameters = make();
  const x = Float32Array.from({ length: 2 * WIDTH }, (_, n) => Math.sin(n));
  // Twice, each in its own scope: the second must not use disposed tensors of the first.
  for (let round = 0; round < 2; round++)
    tidy(() => {
      const y = parameters.linear(new Tensor(x, [2, WIDTH], "float32"), "table", "bias");
      expect(y.shape).toEqual([2, ROWS]);
      for (const row of [0, 1, 77, 258_110, 258_111, 258_112, ROWS - 1])
        for (const n of [0, 1]) {
          let sum = row % 7;
          for (let e = 0; e < WIDTH; e++) sum += x[n * WIDTH + e] * fromBfloat16(bits[row * WIDTH + e]);
          expect(y.at(n, row)).toBeCloseTo(sum, 4);
        }
    });
});

test("a lookup reads the requested rows, and refuses rows that do not exist", () => {
  const parameters = make();
  const rows = parameters.lookup([ROWS - 1, 5], "table");
  expect(rows.shape).toEqual([2, WIDTH]);
  expect(rows.at(0, 64)).toBe(fromBfloat16(bits[ROWS * WIDTH - 1]));
  expect(rows.at(1, 0)).toBe(fromBfloat16(bits[5 * WIDTH]));
  expect(() => parameters.lookup([ROWS], "table")).toThrow(OptionError);
});

test("a parameter that is missing or has another shape is named", () => {
  expect(() => new Parameters("test", plan, { parameters: new Map() })).toThrow(/parameter table must be/);
});

describe("the weights of a model that was read from its files", () => {
  const ids = [7, 300, 12, 45, 9, 200, 31];
  const open = (name: "encoder" | "decoder") => readModel(locateShipped(name));
  const difference = (a: Tensor, b: Tensor) => {
    const [x, y] = [a.toFloat64(), b.toFloat64()];
    return x.reduce((worst, value, n) => Math.max(worst, Math.abs(value - y[n])), 0);
  };

  test("give the same logits packed and unpacked, and changes take effect", async () => {
    for (const name of ["encoder", "decoder"] as const) {
      const { model } = await open(name);
      const want = model.forward(ids);
      const parameters = model.parameters();
      expect(difference(model.forward(ids), want)).toBeLessThan(1e-4);
      const [matrix] = [...parameters].filter(([key]) => /\.(0|h\.0)\..*weight$/.test(key))[1];
      const { data } = parameters.get(matrix) as Tensor<"float32">;
      for (let n = 0; n < data.length; n++) data[n] *= 1.5;
      expect(difference(model.forward(ids), want)).toBeGreaterThan(1e-3);
    }
  });

  test("are those of the file on request, in their own order", async () => {
    const { tensors } = readSafetensors(readFileSync(join(locateShipped("decoder"), "model.safetensors")));
    const { model } = await open("decoder");
    model.forward(ids);
    for (const [name, parameter] of model.parameters()) {
      const stored = tensors.get(name) as Tensor;
      expect([name, parameter.shape]).toEqual([name, stored.shape]);
      expect([name, difference(parameter, stored)]).toEqual([name, 0]);
    }
  });

  test("let gradients through inside a tape", async () => {
    const { model } = await open("decoder");
    const tape = new Tape();
    let start: Tensor | undefined;
    const onHidden = (layer: number, x: Tensor) => {
      if (layer === 0) start = x;
    };
    const loss = tape.run(() => mean(square(model.forward(ids, { onHidden }))));
    const gradient = tape.gradients(loss, [start as Tensor]).get(start as Tensor);
    expect(gradient?.toFloat64().some((x) => x !== 0)).toBe(true);
  });

  test("take memory once: a hundred passes leak none", async () => {
    const { memory } = getEngine() as Engine;
    const { model } = await open("encoder");
    for (let n = 0; n < 3; n++) model.hidden(ids);
    const used = memory.resetPeak();
    for (let n = 0; n < 100; n++) model.hidden(ids);
    expect(memory.resetPeak()).toBeLessThanOrEqual(used);
  });
});
