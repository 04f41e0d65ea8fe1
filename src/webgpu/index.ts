/**
 * Attention on a GPU, in a page or in Node: `await webgpu()` starts a device named `"webgpu"`, whose tensors are computed by WGSL kernels in
 * float32. See the chapter on WebGPU.
 * @module
 * @beta
 */
import { registerBackend } from "../backend/register.ts";
import { checkCount, checkMethods, refuseValue, UnsupportedError } from "../core/errors.ts";
import { checkKinds, checkNames } from "../core/option-names.ts";
import { backend } from "./backend.ts";
import { device, limitMemory, session, start, stop } from "./device.ts";
import {
  LEVELS,
  type LevelName,
  levelReason,
  type TuneCache,
  type TuneOptions,
  type TuneResult,
} from "./levels.ts";
import { selfTests } from "./self-test/first-use.ts";
import type { GpuSession } from "./session.ts";
import { defaultCache, fileCache, tune } from "./tune.ts";

export type { LevelName, TuneCache, TuneOptions, TuneResult } from "./levels.ts";

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
  /** The level of the forward kernel; one that the adapter lacks is an `UnsupportedError` of code `level`. Default: the best one that runs, up to `half`. */
  readonly level?: LevelName;
  /** Measures the tiles of the forward kernel for heads of 64 and 128 columns, as `tune` does, unless a choice is cached. Default: no. */
  readonly tune?: boolean;
  /** Where choices of `tune` are stored. Default: `localStorage` in a page; in Node a file, of this path or `heed/webgpu-tiles.json` in the user's cache folder. */
  readonly cache?: TuneCache | string;
}

/** A level of the forward kernel on this adapter. @beta */
export interface LevelState {
  readonly name: LevelName;
  readonly state: "in use" | "available" | "not available";
  /** Why it is not available. */
  readonly reason?: string;
}

/** What is known of a kernel on this adapter: `open` until a result of it is read. @beta */
export interface KernelState {
  readonly kernel: string;
  readonly state: "passed" | "failed" | "open";
  /** What failed. */
  readonly reason?: string;
}

/** A GPU that computes: the name is what `tensor.to` takes. @beta */
export interface WebGpuDevice {
  readonly name: "webgpu";
  /** The adapter: its vendor, architecture and description, as far as the browser tells. */
  readonly adapter: { readonly vendor: string; readonly architecture: string; readonly description: string };
  /** The best level in use of the forward kernel: `half` and `matrices` for tensors of 16 bits, and the best one below for all others. */
  readonly level: LevelName;
  /** All levels, the best one last. */
  readonly levels: readonly LevelState[];
  /** Optional features of the adapter, such as `shader-f16` and `subgroups`. */
  readonly features: readonly string[];
  /** Bytes of the largest tensor, and storages that one kernel may bind. */
  readonly limits: { readonly tensorBytes: number; readonly bindings: number };
  /** Bytes of GPU memory that tensors and free buffers take now. */
  memory(): number;
  /** Number of kernels dispatched so far. */
  dispatches(): number;
  /** The kernels that were used so far, with the results of their self-tests. */
  selfTests(): KernelState[];
  /**
   * Measures 7 tiles of the forward kernel, takes the fastest for outputs of this width from now on, and caches the choice. Results keep
   * their bits; without it the tile is that of the level.
   */
  tune(options?: TuneOptions): Promise<TuneResult>;
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
  checkKinds("webgpu", options, { "": "gpu memoryLimit level cache", "true or false": "tune" });
  const global = globalThis.navigator as { readonly gpu?: GPU } | undefined;
  const gpu = (options.gpu ?? global?.gpu) as GPU | undefined;
  if (gpu === undefined)
    throw new UnsupportedError(
      "webgpu",
      'webgpu: this environment has no navigator.gpu; in Node install the npm package webgpu and pass its object: import { create } from "webgpu"; await webgpu({ gpu: create([]) }); in a page it needs https and a browser with WebGPU; in Deno the flag --unstable-webgpu',
    );
  if (typeof gpu.requestAdapter !== "function")
    refuseValue("webgpu", "gpu", "an object with requestAdapter, such as navigator.gpu", gpu);
  const { memoryLimit, level, cache: place } = options;
  if (memoryLimit !== undefined && !(typeof memoryLimit === "number" && memoryLimit > 0))
    refuseValue("webgpu", "memoryLimit", "a positive number of bytes", memoryLimit);
  const names = LEVELS.map(({ name }) => name);
  if (level !== undefined && !names.includes(level))
    refuseValue("webgpu", "level", `one of ${names.join(", ")}`, level);
  if (place !== undefined && typeof place !== "string" && typeof place.getItem !== "function")
    refuseValue("webgpu", "cache", "a path, or an object with getItem and setItem, as localStorage", place);
  const {
    adapter,
    device: granted,
    level: used,
    levels: inUse,
    refusals,
    capabilities,
  } = await start(gpu, selfTests, level);
  if (memoryLimit !== undefined) limitMemory(memoryLimit);
  registerBackend(backend, device);
  const cache = (typeof place === "string" ? fileCache(place) : place) ?? defaultCache();
  if (options.tune) for (const size of [64, 128]) await tune(session(), { size }, cache);
  const { vendor, architecture, description } = adapter.info;
  const { maxBufferSize, maxStorageBufferBindingSize, maxStorageBuffersPerShaderStage } = granted.limits;
  const methods = {
    memory: () => session().memory.bytes,
    dispatches: () => session().queue.dispatches,
    selfTests: () => kernelStates(session()),
    tune(request: TuneOptions = {}) {
      checkNames("tune", request, ["tokens", "size", "heads", "dtype"]);
      const { dtype, ...counts } = request;
      if (dtype !== undefined && dtype !== "float32" && dtype !== "float16")
        refuseValue("tune", "dtype", "float32 or float16", dtype);
      for (const [name, value] of Object.entries(counts))
        if (!(Number.isInteger(value) && value > 0)) refuseValue("tune", name, "a positive integer", value);
      return tune(session(), request, cache);
    },
    destroy: stop,
  };
  return {
    name: "webgpu",
    adapter: { vendor, architecture, description },
    level: used.name,
    levels: LEVELS.map((one): LevelState => {
      if (inUse.includes(one)) return { name: one.name, state: "in use" };
      const reason = refusals.get(one.name) ?? levelReason(one, capabilities);
      return {
        name: one.name,
        state: reason === undefined ? "available" : "not available",
        ...(reason !== undefined && { reason }),
      };
    }),
    features: [...adapter.features].sort(),
    limits: {
      tensorBytes: Math.min(maxBufferSize, maxStorageBufferBindingSize),
      bindings: maxStorageBuffersPerShaderStage,
    },
    ...checkMethods("WebGpuDevice", methods, { memory: 0, dispatches: 0, selfTests: 0, tune: 1, destroy: 0 }),
  };
}

function kernelStates(session: GpuSession): KernelState[] {
  const open = [...session.verdicts].filter(([, { isOpen }]) => isOpen);
  return [
    ...[...session.findings.faults].map(
      ([kernel, fault]): KernelState =>
        fault ? { kernel, state: "failed", reason: fault.message } : { kernel, state: "passed" },
    ),
    ...open.map(([kernel]): KernelState => ({ kernel, state: "open" })),
  ];
}
