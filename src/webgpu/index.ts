/**
 * Attention on a GPU, in a page or in Node: `await webgpu()` starts a device named `"webgpu"`, whose tensors are computed by WGSL kernels in
 * float32. See the chapter on WebGPU.
 * @module
 * @beta
 */
import { registerBackend } from "../backend/register.ts";
import { checkCount, checkMethods, refuseValue, UnsupportedError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { backend } from "./backend.ts";
import { device, limitMemory, session, start, stop } from "./device.ts";
import { selfTest } from "./self-test.ts";

/** Options of `webgpu`. @beta */
export interface WebGpuOptions {
  /**
   * The entry point of WebGPU: in Node what `create([])` of the npm package `webgpu` returns. Default `navigator.gpu`, which pages, Deno
   * and workers have.
   */
  readonly gpu?: {
    /** Resolves to an adapter, or to null where there is none. */
    requestAdapter(): Promise<unknown>;
  };
  /**
   * The most bytes of GPU memory that tensors and free buffers may take; a tensor beyond them is an `UnsupportedError` of code `memory`. Default:
   * no limit but the adapter's, or the one of an earlier call.
   */
  readonly memoryLimit?: number;
}

/** A GPU that computes: the name is what `tensor.to` takes. @beta */
export interface WebGpuDevice {
  readonly name: "webgpu";
  /** The adapter: its vendor, architecture and description, as far as the browser tells. */
  readonly adapter: { readonly vendor: string; readonly architecture: string; readonly description: string };
  /** The kernels in use: `portable` needs nothing beyond the core of WebGPU. */
  readonly level: "portable";
  /** Optional features of the adapter, such as `shader-f16` and `subgroups`. */
  readonly features: readonly string[];
  /** Bytes of the largest tensor, and storages that one kernel may bind. */
  readonly limits: { readonly tensorBytes: number; readonly bindings: number };
  /** Bytes of GPU memory that tensors and free buffers take now. */
  memory(): number;
  /** Number of kernels dispatched so far. */
  dispatches(): number;
  /** Ends the device: its tensors are gone, and in Node the process may end. */
  destroy(): void;
}

/**
 * Starts the GPU and registers it as the device `"webgpu"`. Repeated calls return the same device; after a loss a new adapter is
 * requested. An adapter is first tested on a small call against float64, once a process.
 *
 * @throws UnsupportedError of code `webgpu` where there is no WebGPU or no adapter, of code `self-test` where the adapter computes wrong numbers
 * @example
 * import { webgpu } from "heed/webgpu";
 * const gpu = await webgpu();
 * const [q, k, v] = await Promise.all([query, key, value].map((t) => t.to(gpu)));
 * const { output } = scaledDotProductAttention(q, k, v, { isCausal: true });
 * console.log(await output.read());
 */
export async function webgpu(options: WebGpuOptions = {}): Promise<WebGpuDevice> {
  checkCount("webgpu", arguments, 1);
  checkNames("webgpu", options, ["gpu", "memoryLimit"]);
  const global = globalThis.navigator as { readonly gpu?: GPU } | undefined;
  const gpu = (options.gpu ?? global?.gpu) as GPU | undefined;
  if (gpu === undefined)
    throw new UnsupportedError(
      "webgpu",
      'webgpu: this environment has no navigator.gpu; in Node install the npm package webgpu and pass its object: import { create } from "webgpu"; await webgpu({ gpu: create([]) }); in a page it needs https and a browser with WebGPU; in Deno the flag --unstable-webgpu',
    );
  if (typeof gpu.requestAdapter !== "function")
    refuseValue("webgpu", "gpu", "an object with requestAdapter, such as navigator.gpu", gpu);
  const { memoryLimit } = options;
  if (memoryLimit !== undefined && !(typeof memoryLimit === "number" && memoryLimit > 0))
    refuseValue("webgpu", "memoryLimit", "a positive number of bytes", memoryLimit);
  const { adapter, device: granted } = await start(gpu, selfTest);
  if (memoryLimit !== undefined) limitMemory(memoryLimit);
  registerBackend(backend, device);
  const { vendor, architecture, description } = adapter.info;
  const { maxBufferSize, maxStorageBufferBindingSize, maxStorageBuffersPerShaderStage } = granted.limits;
  const methods = {
    memory: () => session().memory.bytes,
    dispatches: () => session().queue.dispatches,
    destroy: stop,
  };
  return {
    name: "webgpu",
    adapter: { vendor, architecture, description },
    level: "portable",
    features: [...adapter.features].sort(),
    limits: {
      tensorBytes: Math.min(maxBufferSize, maxStorageBufferBindingSize),
      bindings: maxStorageBuffersPerShaderStage,
    },
    ...checkMethods("WebGpuDevice", methods, { memory: 0, dispatches: 0, destroy: 0 }),
  };
}
