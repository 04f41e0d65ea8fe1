/**
 * PyTorch's cases (tests/golden/pytorch/sdpa-gradients) and random problems on a GPU, or on a software adapter of one: output, weights, lse
 * and all gradients. Each case has its own kernels, which a software driver takes seconds to compile: by default a part of them runs,
 * HEED_GPU=all runs all. HEED_CASES sets how many random problems, HEED_SEED the first seed.
 */
import { attentionBackward, attentionWeights, scaledDotProductAttention, Tensor } from "heed";
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { device } from "../../src/webgpu/device.ts";
import { asFloat32, cases, folder, type Golden, optionsOf, same } from "../golden/sdpa.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { placeOn } from "../support/backends/place.ts";
import { draw } from "../support/cases/problem/draw.ts";
import { checkResult } from "../support/oracles/oracle.ts";
import { difference } from "../support/oracles/tolerance.ts";
import { golden, readTensors } from "../support/shared.ts";

const { gpu, reason } = await gpuAtHand();
const started = gpu && (await webgpu({ gpu }));
afterAll(() => started?.destroy());

const isAll = process.env.HEED_GPU === "all";
const adapter = started ? started.adapter.description || started.adapter.vendor : reason;
/** Cases with few kernels, and a mask whose gradient has a number for each cell. */
const FIRST = ["rank4-plain", "gqa-6-2", "bias-minus-infinity"];
const [COUNT, SEED] = [Number(process.env.HEED_CASES ?? 40), Number(process.env.HEED_SEED ?? 1)];

/** Compares numbers of the device with PyTorch's in float64, within the bound of the tests of the CPU. */
async function compare(c: Golden, name: string, got: Tensor | undefined, want: Tensor | undefined) {
  expect([name, got?.shape, got?.dtype]).toEqual([name, want?.shape, want && "float32"]);
  if (!got || !want) return;
  const b = want.toFloat64();
  const error = 3 * c.float32ReferenceError[name] + 1e-6;
  const wrong = difference((await got.to("cpu")).toFloat64(), b, (i) =>
    b[i] === Number.NEGATIVE_INFINITY || (b[i] === 0 && name === "weights")
      ? 0
      : error * (1 + Math.abs(b[i])),
  );
  if (wrong) expect.fail(`${name}: ${wrong}`);
}

describe.skipIf(!started)(`PyTorch's cases on ${adapter}`, () => {
  const float32 = cases.filter((c) => !c.tags.includes("float64-only"));
  for (const c of float32.filter(({ name }) => isAll || FIRST.includes(name)))
    it(c.name, async () => {
      const place = placeOn(device);
      const stored = readTensors(golden(folder, c.file));
      const isFloat = (t: Tensor) => t.dtype !== "bool" && t.dtype !== "int32";
      const tensors = new Map(
        [...stored].map(([name, t]) => [name, place(isFloat(t) ? asFloat32(t) : t)] as const),
      );
      const options = optionsOf(c, tensors, same);
      const [q, k, v, dOutput] = ["q", "k", "v", "d_out"].map((name) => tensors.get(name) as Tensor);
      const state = scaledDotProductAttention(q, k, v, options);
      const weights = attentionWeights(q, k, state.lse, options);
      const got = attentionBackward(dOutput, q, k, v, state, options);
      const rows: Readonly<Record<string, Tensor | undefined>> = {
        out: state.output,
        weights,
        lse: state.lse,
        dq: got.dQuery,
        dk: got.dKey,
        dv: got.dValue,
        d_bias: got.dMasks?.find(Boolean),
        d_slopes: got.dSlopes,
        d_sinks: got.dSinks,
        d_table: got.dTable,
      };
      for (const [name, result] of Object.entries(rows)) await compare(c, name, result, stored.get(name));
    });
});

describe.skipIf(!started || !isAll)(`random problems on ${adapter}`, () => {
  it(`${COUNT} from seed ${SEED} agree with the formula`, { timeout: 60_000 + COUNT * 60_000 }, async () => {
    const place = placeOn(device);
    const moved = (x: unknown) => (x instanceof Tensor ? place(x) : x);
    for (let n = 0; n < COUNT; n++) {
      const c = draw(SEED + n, 70);
      if (c.dtype === "float64") continue;
      const { attnMask, sinks } = c.options;
      const { output, lse } = scaledDotProductAttention(place(c.query), place(c.key), place(c.value), {
        ...c.options,
        ...(attnMask !== undefined && {
          attnMask: (Array.isArray(attnMask) ? attnMask.map(moved) : moved(attnMask)) as typeof attnMask,
        }),
        ...(sinks !== undefined && { sinks: moved(sinks) as typeof sinks }),
      });
      checkResult(c, { output: await output.to("cpu"), lse: await lse.to("cpu") });
    }
  });
});
