/**
 * 40 cases from PyTorch in float64 (tests/golden/pytorch/sdpa-gradients), backward: gradients of query, key, value, float
 * masks, slopes, relative tables and sinks. In float64 to 1e-11, in float32 within three errors of a plain float32
 * version, on every level, in both layouts. Gradients that are exactly zero there are exactly zero here.
 */
import { attentionBackward, scaledDotProductAttention, type Tensor } from "heed";
import { afterAll, describe, expect } from "vitest";
import { restore } from "../support/backends/levels.ts";
import { difference } from "../support/oracles/tolerance.ts";
import { golden, readTensors } from "../support/shared.ts";
import { asFloat32, everyCase, folder, type Golden, optionsOf, same } from "./sdpa.ts";

function runCase(c: Golden, dtype: "float64" | "float32", layout: "as stored" | "bshd") {
  const tensors = readTensors(golden(folder, c.file));
  const get = (name: string) => tensors.get(name) as Tensor;
  const float = dtype === "float64" ? same : asFloat32;
  const turned = layout === "bshd";
  const options = { ...optionsOf(c, tensors, float), ...(turned && { layout: "bshd" as const }) };
  const input = (name: string) => (turned ? float(get(name)).transpose(1, 2) : float(get(name)));
  const [q, k, v] = [input("q"), input("k"), input("v")];
  const got = attentionBackward(
    input("d_out"),
    q,
    k,
    v,
    scaledDotProductAttention(q, k, v, options),
    options,
  );
  const mask = got.dMasks?.find(Boolean);
  const rows: [string, Tensor | undefined][] = [
    ["dq", got.dQuery],
    ["dk", got.dKey],
    ["dv", got.dValue],
    ["d_bias", mask],
    ["d_slopes", got.dSlopes],
    ["d_sinks", got.dSinks],
    ["d_table", got.dTable],
  ];
  for (const [name, tensor] of rows) {
    const stored = tensors.get(name);
    expect([name, tensor === undefined]).toEqual([name, stored === undefined]);
    if (!stored || !tensor) continue;
    const want = turned && ["dq", "dk", "dv"].includes(name) ? stored.transpose(1, 2) : stored;
    expect([name, tensor.shape, tensor.dtype]).toEqual([name, want.shape, dtype]);
    const b = want.toFloat64();
    const tolerance = (x: number) =>
      dtype === "float64"
        ? c.tolerance * (1 + Math.abs(x))
        : 3 * c.float32ReferenceError[name] + 1e-6 * (1 + Math.abs(x));
    const zero = c.tags.length > 0; // cases with rows or keys that nobody sees
    const wrong = difference(tensor.toFloat64(), b, (i) => (b[i] === 0 && zero ? 0 : tolerance(b[i])));
    if (wrong) expect.fail(`${name}: ${wrong}`);
  }
}

afterAll(restore);

describe("sdpa-gradients, backward", () => {
  everyCase(runCase);
});
