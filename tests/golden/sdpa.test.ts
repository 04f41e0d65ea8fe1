/**
 * 40 cases from PyTorch in float64 (tests/golden/pytorch/sdpa-gradients), forward: output, weights and log-sum-exp. In
 * float64 to 1e-11, in float32 within three errors of a plain float32 version, on every level, in both layouts.
 */
import { attentionWeights, scaledDotProductAttention, type Tensor } from "heed";
import { afterAll, describe, expect, it } from "vitest";
import { restore } from "../support/backends/levels.ts";
import { difference } from "../support/oracles/tolerance.ts";
import { golden, readTensors } from "../support/shared.ts";
import { asFloat32, cases, everyCase, folder, type Golden, optionsOf, same } from "./sdpa.ts";

/** Within the tolerance, and exact for −∞ and for weights of 0. */
function compare(what: string, got: Tensor, want: Tensor, tolerance: (x: number) => number) {
  expect([what, got.shape]).toEqual([what, want.shape]);
  const b = want.toFloat64();
  const exact = (x: number) => x === -Infinity || (x === 0 && what === "weights");
  const wrong = difference(got.toFloat64(), b, (i) => (exact(b[i]) ? 0 : tolerance(b[i])));
  if (wrong) expect.fail(`${what}: ${wrong}`);
}

/** Fully masked rows (lse −∞) are exactly 0. */
function emptyRows(output: Tensor, weights: Tensor, lse: Tensor, layout: string | undefined) {
  const [o, w, l] = [layout === "bshd" ? output.transpose(1, 2) : output, weights, lse].map((t) =>
    t.toFloat64(),
  );
  l.forEach((x, row) => {
    if (x !== -Infinity) return;
    for (const list of [o, w]) {
      const width = list.length / l.length;
      expect([...list.subarray(row * width, (row + 1) * width)]).toEqual(new Array(width).fill(0));
    }
  });
}

function runCase(c: Golden, dtype: "float64" | "float32", layout: "as stored" | "bshd") {
  const tensors = readTensors(golden(folder, c.file));
  const get = (name: string) => tensors.get(name) as Tensor;
  const float = dtype === "float64" ? same : asFloat32;
  const options = optionsOf(c, tensors, float);
  // Another layout is a view with two axes exchanged.
  const turned = layout === "bshd";
  const input = (name: string) => (turned ? float(get(name)).transpose(1, 2) : float(get(name)));
  if (turned) options.layout = "bshd";
  const args = [input("q"), input("k"), input("v")] as const;
  const { output, lse, weights } = scaledDotProductAttention(...args, { ...options, returnWeights: true });
  const rule = (name: "out" | "weights" | "lse") => (x: number) =>
    dtype === "float64"
      ? c.tolerance * (1 + Math.abs(x))
      : 3 * c.float32ReferenceError[name] + 1e-6 * (1 + Math.abs(x));
  compare("output", output, turned ? get("out").transpose(1, 2) : get("out"), rule("out"));
  compare("weights", weights as Tensor, get("weights"), rule("weights"));
  compare("lse", lse, get("lse"), rule("lse"));
  emptyRows(output, weights as Tensor, lse, options.layout);
  const later = attentionWeights(args[0], args[1], lse, options);
  expect(later.data).toEqual((weights as Tensor).data);
}

afterAll(restore);

describe("sdpa-gradients, forward", () => {
  it("all 40 cases are there", () => expect(cases).toHaveLength(40));

  everyCase(runCase);
});
