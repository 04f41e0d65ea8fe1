/** An adapter for tests of heed/webgpu: the npm package `webgpu` (Dawn) on a GPU or on a software driver of Vulkan, such as lavapipe. */
import { type LevelName, type WebGpuOptions, webgpu } from "heed/webgpu";

/** Switches of Dawn without which no adapter lists matrices of subgroups, a draft. */
const DRAFTS = "enable-dawn-features=allow_unsafe_apis,use_vulkan_memory_model";

/**
 * The entry point of WebGPU, or the reason why there is none. With HEED_GPU_LEVEL its first session has that level, for tests that ask for none, and
 * with "matrices" the feature that it needs.
 */
export async function gpuAtHand(): Promise<{ gpu?: NonNullable<WebGpuOptions["gpu"]>; reason: string }> {
  // Mesa's software driver compiles a kernel in a fraction of the time without the passes of its optimizer.
  process.env.GALLIVM_PERF ??= "nopt";
  try {
    const { create } = (await import("webgpu" as string)) as {
      create(flags: string[]): { requestAdapter(): Promise<unknown> };
    };
    const level = process.env.HEED_GPU_LEVEL as LevelName | undefined;
    const gpu = create(level === "matrices" ? [DRAFTS] : []);
    if ((await gpu.requestAdapter()) === null)
      return { reason: "no adapter; on Debian 12 mesa-vulkan-drivers of bookworm-backports has one" };
    if (level) await webgpu({ gpu, level });
    return { gpu, reason: "" };
  } catch (error) {
    return { reason: `the package webgpu does not load here: ${(error as Error).message.split("\n")[0]}` };
  }
}
