/** Compiled kernels by key: the code, its instance on this thread, the size of its workspace. */

import { compile } from "../../backend/levels.ts";
import { keyOf, type Spec } from "../codegen/spec.ts";
import { kernelFiles } from "./kernel-files.ts";
import type { EngineMemory } from "./memory.ts";
import type { Runnable } from "./worker-pool.ts";

/** A kernel ready to run on this thread. */
export interface CachedKernel extends Runnable {
  readonly key: string;
  /** Bytes of workspace for each thread. */
  readonly workspaceBytes: number;
}

/** Maximum number of cached kernels; then the least recently used one is evicted. */
const MAX_KERNELS = 256;
let count = 0;

const NO_CODE = new Uint8Array();

/** Kernels of one memory by key. */
export class KernelCache {
  private readonly memory: EngineMemory;
  private readonly kernels = new Map<string, CachedKernel>();

  constructor(memory: EngineMemory) {
    this.memory = memory;
  }

  /** Keys of the cached kernels, the most recently used last. */
  get keys(): string[] {
    return [...this.kernels.keys()];
  }

  /** The kernel of a spec; on a miss it is compiled from the code that `write` returns. */
  get(spec: Spec, workspaceBytes: number, write: (spec: Spec) => Uint8Array<ArrayBuffer>): CachedKernel {
    return this.keep(keyOf(spec), workspaceBytes, spec.wide, () => write(spec));
  }

  /**
   * The kernel of a key; on a miss it comes from a module that was compiled before, or is compiled from the code that `write` returns,
   * for 256-bit registers if it is `wide`.
   *
   * @throws MissingKernelError where no module has it and this runtime compiles none
   */
  keep(
    key: string,
    workspaceBytes: number,
    wide: boolean,
    write: () => Uint8Array<ArrayBuffer>,
  ): CachedKernel {
    let kernel = this.kernels.get(key);
    if (kernel) this.kernels.delete(key);
    else {
      const { memory, shared } = this.memory;
      const compiled = shared ? undefined : kernelFiles?.kernelOf(key, memory);
      const code = compiled ? NO_CODE : write();
      const run =
        compiled ??
        (new WebAssembly.Instance(compile(code, wide), { env: { memory } }).exports.run as Runnable["run"]);
      kernel = { key, id: ++count, code, wide, workspaceBytes, run };
      if (this.kernels.size >= MAX_KERNELS) this.kernels.delete(this.kernels.keys().next().value as string);
    }
    this.kernels.set(key, kernel);
    return kernel;
  }
}
