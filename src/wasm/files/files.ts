/** The modules of `useKernels`: each exports kernels by their keys. tools/build/kernels.mjs writes the usual ones. */
import { UnsupportedError } from "../../core/errors.ts";
import { setKernelFiles, unsupportedCompilation, warnOfLoops } from "../engine/kernel-files.ts";
import type { Runnable } from "../engine/worker-pool.ts";

/** A module with the keys of its kernels, and its instances. */
interface KernelFile {
  readonly module: WebAssembly.Module;
  readonly keys: ReadonlySet<string>;
  readonly instances: WeakMap<WebAssembly.Memory, WebAssembly.Instance>;
}

const files: KernelFile[] = [];

/** No module that was added has a kernel, and this runtime compiles none. */
class MissingKernelError extends UnsupportedError {
  constructor(key: string) {
    super(
      "kernel",
      `this runtime compiles no WebAssembly while it runs, and no module of useKernels has the kernel "${key}"`,
      { key },
    );
  }
}

/** Adds a module; returns the keys of its kernels. */
export function addKernelFile(module: WebAssembly.Module): readonly string[] {
  const keys = WebAssembly.Module.exports(module).map(({ name }) => name);
  if (!files.some((file) => file.module === module))
    files.push({ module, keys: new Set(keys), instances: new WeakMap() });
  setKernelFiles({ kernelOf, missing });
  return keys;
}

function kernelOf(key: string, memory: WebAssembly.Memory): Runnable["run"] | undefined {
  const file = files.find(({ keys }) => keys.has(key));
  if (!file && unsupportedCompilation() !== undefined) throw new MissingKernelError(key);
  if (!file) return undefined;
  const instance = file.instances.get(memory) ?? new WebAssembly.Instance(file.module, { env: { memory } });
  file.instances.set(memory, instance);
  return instance.exports[key] as Runnable["run"];
}

function missing(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (!(error instanceof MissingKernelError)) throw error;
    warnOfLoops(error.message);
    return error.message;
  }
  return undefined;
}
