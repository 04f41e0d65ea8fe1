/** A session: one adapter's device with its queue, memory and compiled kernels. After a loss of the device a new one begins. */
import { UnsupportedError } from "../core/errors.ts";
import type { MatrixText } from "./attention/matrices.ts";
import { BASES, type Capabilities, type Level, type LevelName, MATRICES, matricesOf } from "./levels.ts";
import { type GpuStorage, Memory } from "./memory.ts";
import { type Compiled, type KernelVerdict, Queue } from "./queue.ts";
import type { RowTile } from "./tile.ts";

/** Limits that are asked for as large as the adapter has them. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
] as const;

/** Features that are asked for where the adapter has them. */
const FEATURES = ["subgroups", "shader-f16", MATRICES as GPUFeatureName] as const;

/** Configurations of matrices are a draft. */
interface AdapterInfo extends GPUAdapterInfo {
  readonly subgroupMatrixConfigs?: Parameters<typeof matricesOf>[0];
}

/** GPUShaderStage.COMPUTE. */
const COMPUTE = 4;

/** What is known of the kernels of an adapter. */
export interface Findings {
  /** By the name of a self-test: a fault, or undefined where it passed. */
  readonly faults: Map<string, Error | undefined>;
  /** By the text of a kernel: the verdict that it got. */
  readonly verdicts: Map<string, KernelVerdict>;
  /** Texts of kernels of a call that its self-test did not run, such as copies of its views; they have the verdict of the others. */
  readonly untried: Set<string>;
}
const adapters = new Map<string, Findings>();

/** What a device needs to compute. */
export class GpuSession {
  readonly device: GPUDevice;
  readonly adapter: GPUAdapter;
  readonly queue: Queue;
  readonly memory: Memory;
  /** The levels of the forward kernel: the one of all dtypes, then those of fewer, which are used where they can. */
  levels: readonly Level[] = [BASES[0]];
  /** The text of products by matrices, loaded where that level is requested. */
  matrixText: MatrixText | undefined;
  /** Why levels are not used. */
  readonly refusals = new Map<LevelName, string>();
  /** Tiles that `tune` chose, by level and the number of groups of 32 columns of the output. */
  readonly tiles = new Map<string, RowTile>();
  /** Why the device is lost. */
  lost: string | undefined;
  /** The adapter in words. */
  readonly name: string;
  /** What levels need to know of the device. */
  readonly capabilities: Capabilities;
  readonly findings: Findings;
  /** The self-tests of this session by name. */
  readonly verdicts = new Map<string, KernelVerdict>();
  private readonly tables = new WeakMap<Float64Array, GpuStorage>();
  private readonly kernels = new Map<string, Compiled>();

  constructor(adapter: GPUAdapter, device: GPUDevice) {
    this.adapter = adapter;
    this.device = device;
    this.queue = new Queue(device);
    this.memory = new Memory(device, this.queue);
    const { vendor, architecture, device: model, description, subgroupMinSize = 0, subgroupMaxSize = 0, subgroupMatrixConfigs } = adapter.info as AdapterInfo; // biome-ignore format: a row
    this.name = [vendor, architecture, model, description].filter(Boolean).join(" ") || "without a name";
    const { features, limits } = device;
    this.capabilities = {
      name: this.name,
      features: features as ReadonlySet<string>,
      workgroupBytes: limits.maxComputeWorkgroupStorageSize,
      threads: Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
      subgroupMinSize,
      subgroupMaxSize,
      matrices: matricesOf(subgroupMatrixConfigs),
    };
    this.findings = adapters.get(this.name) ?? { faults: new Map(), verdicts: new Map(), untried: new Set() };
    adapters.set(this.name, this.findings);
    device.lost.then(({ message, reason }) => {
      this.lost = message || reason || "no reason given";
    });
  }

  /** The best level. */
  get level(): Level {
    return this.levels[this.levels.length - 1];
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
    const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
    return new GpuSession(adapter, await adapter.requestDevice({ requiredLimits, requiredFeatures }));
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
      compiled = { text: code, pipeline, layout, verdict: this.findings.verdicts.get(code) };
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
