/** An adapter for tests of heed/webgpu: the npm package `webgpu` (Dawn) on a GPU or on a software driver of Vulkan, such as lavapipe. */
import type { WebGpuOptions } from "heed/webgpu";

/** The entry point of WebGPU, or the reason why there is none. */
export async function gpuAtHand(): Promise<{ gpu?: NonNullable<WebGpuOptions["gpu"]>; reason: string }> {
  // Mesa's software driver compiles a kernel in a fraction of the time without the passes of its optimizer.
  process.env.GALLIVM_PERF ??= "nopt";
  try {
    const { create } = (await import("webgpu" as string)) as {
      create(flags: string[]): { requestAdapter(): Promise<unknown> };
    };
    const gpu = create([]);
    return (await gpu.requestAdapter()) === null
      ? { reason: "no adapter; on Debian 12 mesa-vulkan-drivers of bookworm-backports has one" }
      : { gpu, reason: "" };
  } catch (error) {
    return { reason: `the package webgpu does not load here: ${(error as Error).message.split("\n")[0]}` };
  }
}
