/** `--device gpu`: WebGPU for the commands that run a model; through the package `webgpu` where the runtime has none of its own. */
import { messageOf, UnsupportedError } from "../../../core/errors.ts";
import { Tensor } from "../../../core/tensor.ts";
import type { TextAttention } from "../../../models/text-model.ts";
import type { WebGpuDevice, WebGpuOptions } from "../../../webgpu/index.ts";
import type { Values } from "../line/command.ts";
import { oneOf } from "../line/values.ts";
import { ENGINE_HELP } from "./engine.ts";

/** Values of `--device`. */
const DEVICES = ["cpu", "gpu"] as const;

/** The help of `--device` and of the engine's options. */
export const DEVICE_HELP = {
  ...ENGINE_HELP,
  device: "DEVICE  cpu (default) or gpu: WebGPU, in Node with the package webgpu (npm install webgpu)",
} as const;

/** The npm package that gives Node a WebGPU (Dawn), and its switches for matrices of subgroups, a draft. */
const [PACKAGE, DRAFTS] = ["webgpu", "enable-dawn-features=allow_unsafe_apis,use_vulkan_memory_model"];

/** The entry point of WebGPU: the runtime's own, or that of the package. */
async function entryPoint(flags: readonly string[]): Promise<WebGpuOptions["gpu"]> {
  const { gpu } = (globalThis.navigator ?? {}) as { readonly gpu?: WebGpuOptions["gpu"] };
  if (gpu !== undefined) return gpu;
  try {
    // A name in a variable: the package is installed by the user, so bundlers may not resolve it.
    const module: { create(flags: readonly string[]): WebGpuOptions["gpu"] } = await import(PACKAGE);
    return module.create(flags);
  } catch (error) {
    const isMissing = (error as { readonly code?: string }).code === "ERR_MODULE_NOT_FOUND";
    throw new UnsupportedError(
      "webgpu",
      isMissing
        ? `this runtime has no WebGPU, and the package ${PACKAGE} is not installed: npm install ${PACKAGE}; or compute on the CPU`
        : `the package ${PACKAGE} does not load here (${messageOf(error).split("\n")[0]}); compute on the CPU`,
      { cause: messageOf(error) },
    );
  }
}

/** Starts the GPU, at a level. Throws an UnsupportedError that says why there is none, and what to do. */
export async function startGpu(level?: WebGpuOptions["level"]): Promise<WebGpuDevice> {
  const { webgpu } = await import("../../../webgpu/index.ts");
  return webgpu({ gpu: await entryPoint(level === "matrices" ? [DRAFTS] : []), level });
}

/** The devices of `--device`, which bench takes several times. */
export const devicesOf = ({ device = "cpu" }: Values) =>
  [device].flat().map((name) => oneOf("device", name, DEVICES));

/** Starts the GPU where it is requested. */
export const startDevice = async (values: Values): Promise<WebGpuDevice | undefined> =>
  devicesOf(values).includes("gpu") ? startGpu() : undefined;

/** An adapter in words; figures of a software adapter say nothing about a GPU. */
export function adapterText({ adapter: { vendor, architecture, description } }: WebGpuDevice): string {
  const name = description || [vendor, architecture].filter(Boolean).join(" ") || "an adapter without a name";
  const isSoftware = /software|swiftshader|llvmpipe|warp/i.test(`${architecture} ${description}`);
  return isSoftware ? `${name}, a software adapter: its times are not those of a GPU` : name;
}

/** Whether a GPU computes, and which, or the reason why not. */
export interface GpuFinding {
  readonly available: boolean;
  readonly text: string;
}

/** The finding of this process. The adapter passes the self-test of heed/webgpu. */
async function examineGpu(): Promise<GpuFinding> {
  try {
    const gpu = await startGpu();
    const refused = gpu.levels.slice(0, -1).flatMap((one) => (one.reason ? `; not ${one.name}: ${one.reason}` : [])); // biome-ignore format: a row, without the experimental level
    const text = `${adapterText(gpu)}; level ${gpu.level}, self-test passed${refused.join("")}`;
    gpu.destroy();
    return { available: true, text };
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return { available: false, text: error.message };
  }
}

/** A program that prints the finding of its process. */
const PROGRAM = `import(process.argv[1]).then(async ({ describeGpu }) => {
  process.stdout.write(JSON.stringify(await describeGpu(true)));
  process.exit();
});`;

/**
 * The finding of a process of its own, which takes 0.4 s: a driver may write warnings to standard error, or crash. A runtime that has
 * WebGPU itself is asked here, as with `isHere`.
 */
export async function describeGpu(isHere = false): Promise<GpuFinding> {
  if (isHere || (globalThis.navigator as { readonly gpu?: unknown } | undefined)?.gpu !== undefined)
    return examineGpu();
  const { permission } = process as { readonly permission?: { has(scope: string): boolean } };
  if (permission?.has("child") === false)
    return {
      available: false,
      text: "not examined: Node's permissions allow no process (--allow-child-process)",
    };
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => {
    execFile(process.execPath, ["-e", PROGRAM, import.meta.url], (error, stdout, stderr) => {
      if (!error) return resolve(JSON.parse(stdout));
      const lastLine = stderr.trim().split("\n").at(-1);
      resolve({ available: false, text: `the GPU's driver ended its process: ${lastLine || error.message}` });
    });
  });
}

/** The attention on a text, with the numbers on the CPU that a bundle is written from. */
export async function readAttention<T extends Pick<TextAttention, "layers">>(attention: T): Promise<T> {
  const layers = await Promise.all(
    attention.layers.map(async ({ query, key, value, lse, recipe, ...rest }) => ({
      ...rest,
      ...(await onCpu({ query, key, value, lse, recipe })),
    })),
  );
  return { ...attention, layers };
}

/** Data, with its tensors on the CPU. */
export async function onCpu<T>(value: T): Promise<T> {
  if (value instanceof Tensor) return (await value.to("cpu")) as T;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, part]) => [name, await onCpu(part)] as const),
  );
  return (Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries)) as T;
}
