/** The GPU of a worker, loaded when the page asks for it. */
import { WorkerDevice } from "../../src/store/compute/device.ts";
import { passDevice } from "../../src/store/compute/device-pass.ts";
import type { DeviceState } from "../../src/store/compute/messages.ts";
import { startGpu } from "../../ui/gpu.ts";

/** What computes passes on the GPU; `tell` receives what it computes on, in words. */
export const gpuOf = (tell: (state: DeviceState) => void): WorkerDevice =>
  new WorkerDevice(async (use) => {
    const { text, gpu } = await startGpu(use);
    return { text, device: gpu && passDevice((t) => t.to(gpu)) };
  }, tell);
