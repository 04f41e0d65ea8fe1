/** A GPU whose kernels are changed before they are compiled: a driver that computes wrong numbers. */
import type { WebGpuOptions } from "heed/webgpu";

/** What an adapter lacks. */
interface Lacks {
  /** A part of the names of features. */
  readonly feature?: string;
  readonly limits?: Readonly<Record<string, number>>;
}

/** The GPU with `from` replaced in every kernel; its adapter is named `wrong NAME`, and lacks a feature or has lower limits. */
export function wrongGpu(
  gpu: NonNullable<WebGpuOptions["gpu"]>,
  from: string,
  to: string,
  name: string,
  lacks: Lacks = {},
) {
  const codes: string[] = [];
  let changed = 0;
  const wrong: NonNullable<WebGpuOptions["gpu"]> = {
    async requestAdapter() {
      const adapter = (await gpu.requestAdapter()) as GPUAdapter;
      const limits = new Proxy(adapter.limits, {
        get: (all, key) => lacks.limits?.[key as string] ?? Reflect.get(all, key),
      });
      Object.defineProperty(adapter, "limits", { value: limits });
      const features = new Set(
        [...adapter.features].filter((name) => !lacks.feature || !name.includes(lacks.feature)),
      );
      Object.defineProperty(adapter, "features", { value: features });
      const requestDevice = adapter.requestDevice.bind(adapter);
      const { subgroupMinSize, subgroupMaxSize, subgroupMatrixConfigs } = adapter.info as GPUAdapterInfo & {
        readonly subgroupMatrixConfigs?: unknown;
      };
      Object.defineProperty(adapter, "info", {
        value: { vendor: "wrong", architecture: "", description: name, subgroupMinSize, subgroupMaxSize, subgroupMatrixConfigs },
      }); // biome-ignore format: two rows
      adapter.requestDevice = async (options) => {
        const granted = await requestDevice(options);
        const compile = granted.createShaderModule.bind(granted);
        granted.createShaderModule = ({ code }) => {
          const text = code.replaceAll(from, to);
          codes.push(text);
          if (text !== code) changed++;
          return compile({ code: text });
        };
        return granted;
      };
      return adapter;
    },
  };
  return { gpu: wrong, codes, changed: () => changed };
}
