/**
 * The conformance suite on a GPU, or on a software adapter of one. Without an adapter it is skipped, and says so. A software driver
 * takes seconds to compile a kernel, so by default a part of the cases runs, with few kernels; HEED_GPU=all runs all.
 */
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { backend } from "../../src/webgpu/backend.ts";
import { device, session } from "../../src/webgpu/device.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { deviceConformance } from "./device.ts";

const { gpu, reason } = await gpuAtHand();

/** A case for each kind of address, mask and dtype, most of them with the same kernels. */
const FIRST =
  /^forward: (?:1 × 1|65 × 65|dk 24, dv 40|grouped: .*|no .*|head size 0|float16, 40.*|scores of .*|plain|bool mask|slopes as a tensor|NaN in masked.*|dropout|layout bshd|views)$|^(?:matmul|rowwise|array): |^weights: (?:plain|dropout)$|^backward: (?:plain|float mask|sinks as a list|a relative table)$/;

if (gpu) {
  const started = await webgpu({ gpu });
  afterAll(() => started.destroy());
  const { vendor, description } = started.adapter;
  deviceConformance(`webgpu on ${description || vendor}`, {
    backend,
    device,
    skip: {
      float64: /float64/,
      "array: cast to float64": /float64/,
    },
    ...(process.env.HEED_GPU !== "all" && { only: (name) => FIRST.test(name) }),
  });
  it("each kernel of these calls of attention ran in the self-test of the call", () => {
    const kernels = [...session().findings.untried].filter((text) => text.includes("fn element("));
    expect(kernels).toEqual([]);
    expect(started.selfTests().filter(({ state }) => state !== "passed")).toEqual([]);
  });
} else
  describe.skip(`webgpu: ${reason}`, () => {
    it("the contract of backends", () => {});
  });
