/**
 * The GPU of a page, in words and as a device: which adapter there is, whether it is faster than the CPU, and `heed/webgpu`, which is
 * loaded when it is used. The explorer's worker and the Lab's worker start it; their pages show the words.
 */
import type { WebGpuDevice } from "../src/webgpu/index.ts";

/** What `navigator.gpu` has of an adapter. */
interface AdapterInfo {
  readonly vendor?: string;
  readonly architecture?: string;
  readonly description?: string;
  readonly isFallbackAdapter?: boolean;
}

/** A GPU that computes, or the reason why the CPU does; the words begin with "GPU: " or "CPU: ". */
export interface GpuStart {
  readonly text: string;
  readonly gpu?: WebGpuDevice;
}

/** The name of an adapter. */
const nameOf = ({ description, vendor, architecture }: AdapterInfo): string =>
  description || [vendor, architecture].filter(Boolean).join(" ") || "an adapter without a name";

/** An adapter that computes on the CPU: the kernels for the CPU are faster. */
const isSoftware = (info: AdapterInfo): boolean =>
  info.isFallbackAdapter === true ||
  /software|swiftshader|llvmpipe|lavapipe|warp/i.test(`${nameOf(info)} ${info.architecture}`);

/** Starts the GPU. `auto`: only one that is faster than the CPU. */
export async function startGpu(use: "auto" | "gpu"): Promise<GpuStart> {
  const { gpu } = navigator as { readonly gpu?: { requestAdapter(): Promise<{ info: AdapterInfo } | null> } };
  if (gpu === undefined) return { text: "CPU: this browser, or a page without https, has no WebGPU" };
  try {
    const adapter = await gpu.requestAdapter();
    if (adapter === null)
      return { text: "CPU: this browser has no adapter; hardware acceleration may be off" };
    const { info } = adapter;
    if (use === "auto" && isSoftware(info))
      return { text: `CPU: ${nameOf(info)} is a software adapter, which is slower` };
    const { webgpu } = await import("../src/webgpu/index.ts");
    const started = await webgpu();
    return {
      gpu: started,
      text: `GPU: ${nameOf(started.adapter)}${isSoftware(info) ? ", a software adapter" : ""}`,
    };
  } catch (error) {
    return { text: `CPU: ${error instanceof Error ? error.message : String(error)}` };
  }
}
