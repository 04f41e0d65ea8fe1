/**
 * A GPU that is lost before, during and after each kind of operation: typed errors, then the same work with a new adapter, from copies on
 * the CPU. Needs an adapter, as tests/conformance/webgpu.test.ts, and is skipped without one.
 */
import {
  attentionBackward,
  attentionMap,
  attentionWeights,
  cast,
  scaledDotProductAttention,
  type Tensor,
  UnsupportedError,
} from "heed";
import * as nn from "heed/nn";
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { session } from "../../src/webgpu/device.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { normal } from "../support/cases/call.ts";
import { worst } from "../support/shared.ts";

const { gpu, reason } = await gpuAtHand();
const started = gpu && (await webgpu({ gpu }));
afterAll(() => started?.destroy());

const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [2, 40, 8]));
const here = scaledDotProductAttention(q, k, v);
const inputs = [q, k, v, here.output, here.lse];

/** A result of each kind of operation, from tensors of one device. */
const OPERATIONS: Readonly<Record<string, (...t: Tensor[]) => Tensor>> = {
  attention: (q, k, v) => scaledDotProductAttention(q, k, v).output,
  "attention of split keys": (q, k, v) => {
    const long = (t: Tensor) => nn.concat(Array<Tensor>(16).fill(t), 1);
    return scaledDotProductAttention(nn.slice(q, 1, 0, 1), long(k), long(v)).output;
  },
  gradients: (q, k, v, output, lse) => attentionBackward(q, q, k, v, { output, lse }).dKey,
  weights: (q, k, _v, _output, lse) => attentionWeights(q, k, lse, { rows: [3, 7] }),
  map: (q, k, _v, _output, lse) => attentionMap(q, k, lse, { size: 4 }).mean,
  products: (q, k) => nn.matmul(q, k.transpose()),
  rows: (q) => nn.softmax(q),
  arrays: (q, k) => cast(nn.sum(nn.concat([q, k], 1), 1), "float16"),
};

/** What is thrown by `work`, or what it returns. */
async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}

function expectLoss(error: unknown, when: string): void {
  expect(error, when).toBeInstanceOf(UnsupportedError);
  expect(error, when).toMatchObject({ code: "device-lost" });
}

describe.skipIf(!gpu)(`losses of a GPU${reason && `: ${reason}`}`, () => {
  it.each(Object.entries(OPERATIONS))("%s", { timeout: 120_000 }, async (_, operation) => {
    const want = operation(...inputs);
    const isRight = async (result: Tensor) =>
      expect(worst((await result.to("cpu")).toFloat64(), want.toFloat64())).toBeLessThan(2e-3);
    const place = () => Promise.all(inputs.map((t) => t.to("webgpu")));
    const lose = async () => {
      const { device } = session();
      device.destroy();
      await device.lost;
    };

    // Before: the call throws, or the read of its result.
    const before = await place();
    await lose();
    expectLoss(await outcome(async () => operation(...before).read()), "before");

    // During: the work may have ended before the loss.
    const during = operation(...(await place()));
    const reading = outcome(() => during.to("cpu"));
    await lose();
    const result = await reading;
    if (result instanceof Error) expectLoss(result, "during");
    else await isRight(result as Tensor);
    expectLoss(await outcome(() => during.read()), "a later read");

    // After: what was read is here, and the rest is gone.
    const after = operation(...(await place()));
    await isRight(after);
    await lose();
    expectLoss(await outcome(() => after.read()), "after");

    await isRight(operation(...(await place())));
  });
});
