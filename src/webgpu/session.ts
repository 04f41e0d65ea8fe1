/** A session: one adapter's device with its queue, memory and compiled kernels. After a loss of the device a new one begins. */
import { UnsupportedError } from "../core/errors.ts";
import { type GpuStorage, Memory } from "./memory.ts";
import { type Compiled, Queue } from "./queue.ts";

/** Limits that are asked for as large as the adapter has them. */
const LIMITS = ["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage"] as const;

/** GPUShaderStage.COMPUTE. */
const COMPUTE = 4;

/** What a device needs to compute. */
export class GpuSession {
  readonly device: GPUDevice;
  readonly adapter: GPUAdapter;
  readonly queue: Queue;
  readonly memory: Memory;
  /** Why the device is lost. */
  lost: string | undefined;
  private readonly tables = new WeakMap<Float64Array, GpuStorage>();
  private readonly kernels = new Map<string, Compiled>();

  constructor(adapter: GPUAdapter, device: GPUDevice) {
    this.adapter = adapter;
    this.device = device;
    this.queue = new Queue(device);
    this.memory = new Memory(device, this.queue);
    device.lost.then(({ message, reason }) => {
      this.lost = message || reason || "no reason given";
    });
  }

  /** Requests an adapter and its device. */
  static async start(gpu: GPU): Promise<GpuSession> {
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter)
      throw new UnsupportedError(
        "webgpu",
        "webgpu: this system has no adapter; in a page check that hardware acceleration is on, on Linux that a Vulkan driver is installed",
      );
    const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
    return new GpuSession(adapter, await adapter.requestDevice({ requiredLimits }));
  }

  /** The compiled kernel with this text, which binds the uniform buffer, then storages, each written or only read. */
  kernel(code: string, writes: readonly boolean[]): Compiled {
    let compiled = this.kernels.get(code);
    if (!compiled) {
      this.queue.open();
      const types = ["uniform", ...writes.map((w) => (w ? "storage" : "read-only-storage"))] as const;
      // Not "auto": that leaves out what a text binds and does not use.
      const layout = this.device.createBindGroupLayout({
        entries: types.map((type, binding) => ({
          binding,
          visibility: COMPUTE,
          buffer: { type: type as GPUBufferBindingType },
        })),
      });
      const pipeline = this.device.createComputePipeline({
        layout: this.device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module: this.device.createShaderModule({ code }), entryPoint: "main" },
      });
      compiled = { pipeline, layout };
      this.kernels.set(code, compiled);
    }
    return compiled;
  }

  /** A table of the CPU as float32, uploaded once: repeated calls pass the same array. */
  table(values: Float64Array, allocate: (dtype: "float32", length: number) => GpuStorage): GpuStorage {
    let storage = this.tables.get(values);
    if (!storage) {
      storage = allocate("float32", values.length);
      this.queue.write(storage.buffer, new Uint8Array(Float32Array.from(values).buffer));
      this.tables.set(values, storage);
    }
    return storage;
  }

  /** Throws where the device is lost. */
  check(): void {
    if (this.lost !== undefined)
      throw new UnsupportedError(
        "device-lost",
        `the device "webgpu" is lost (${this.lost}), and the numbers on it are gone; move tensors from the CPU again: await tensor.to("webgpu") starts it anew`,
        { reason: this.lost },
      );
  }
}
