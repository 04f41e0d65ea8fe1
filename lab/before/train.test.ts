/** A GPU that is lost while a network trains leaves the training to the CPU, from the start. Needs an adapter, as tests/conformance/webgpu.test.ts. */
import { afterAll, expect, it, vi } from "vitest";
import { session } from "../../src/webgpu/device.ts";
import { gpuAtHand } from "../../tests/support/backends/gpu.ts";
import { isItsTurn } from "../../tests/support/cases/count.ts";
import { type Before, compute } from "./compute.ts";

// In turn: a software GPU takes long to compile the kernels of a training.
const { gpu, reason } = isItsTurn(0, 4) ? await gpuAtHand() : { reason: "not the turn of this commit" };
afterAll(() => vi.unstubAllGlobals());

it.skipIf(!gpu)(
  `a GPU that is lost after 16 steps: the CPU trains all of them again, and the words say why${reason && `: ${reason}`}`,
  { timeout: 120_000 },
  async () => {
    vi.stubGlobal("navigator", { gpu });
    const request: Before = {
      steps: 24,
      at: 24,
      row: 0,
      word: "abcdef",
      seed: 5,
      reach: 0,
      pace: 0,
      device: "gpu",
    };
    const reports: [string, number][] = [];
    const onBoth = await compute(request, ({ device }, progress) => {
      reports.push([device.slice(0, 3), Math.round(progress * request.steps)]);
      if (device.startsWith("GPU") && progress > 0.5) session().device.destroy();
    });
    const each = (device: string) => [0, 8, 16].map((step) => [device, step]);
    expect(reports).toEqual([...each("GPU"), ...each("CPU")]);
    expect(onBoth.device).toMatch(/^CPU: the GPU failed: .*lost/);
    // The modules of a page that was opened anew: no run is there.
    vi.resetModules();
    const { compute: computeAnew } = await import("./compute.ts");
    const onCpu = await computeAnew({ ...request, device: "cpu" });
    expect(onBoth.losses).toEqual(onCpu.losses);
    expect(onBoth.losses).toHaveLength(24);
  },
);
