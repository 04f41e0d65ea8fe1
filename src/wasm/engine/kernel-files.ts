/**
 * Kernels that were compiled before the program runs, where heed/kernels adds some; and whether this runtime compiles others. Programs
 * without heed/kernels bundle nothing of how such kernels are found.
 */
import { warnOnce } from "../../backend/settings.ts";
import { ModuleBuilder } from "../assembler/index.ts";

/** Modules with kernels that were compiled before. */
export interface KernelFiles {
  /** The kernel of a key on a memory that is not shared; undefined where no module has it. Throws where this runtime compiles none either. */
  kernelOf(key: string, memory: WebAssembly.Memory): ((task: number, workspace: number) => void) | undefined;
  /** The message of the MissingKernelError that `work` throws, with a warning; undefined where it throws none. */
  missing(work: () => unknown): string | undefined;
}

let files: KernelFiles | undefined;

/** The modules that were added, if any. */
export { files as kernelFiles };

export function setKernelFiles(added: KernelFiles): void {
  files = added;
}

let compileReason: { readonly text: string | undefined } | undefined;

/** Why this runtime compiles no WebAssembly while it runs; undefined where it does. */
export function unsupportedCompilation(): string | undefined {
  compileReason ??= { text: findCompileReason() };
  return compileReason.text;
}

function findCompileReason(): string | undefined {
  try {
    // A page whose policy lacks 'wasm-unsafe-eval' validates modules, but does not compile them.
    new WebAssembly.Module(new ModuleBuilder({ initial: 1, maximum: 1, shared: false }).encode());
    return undefined;
  } catch (error) {
    const { document, importScripts } = globalThis as { document?: unknown; importScripts?: unknown };
    const { message } = error as Error;
    return document !== undefined || importScripts !== undefined
      ? `WebAssembly may not be compiled here (a Content-Security-Policy needs script-src 'wasm-unsafe-eval'): ${message}`
      : `this runtime compiles no WebAssembly while it runs (${message}); useKernels of heed/kernels takes modules that are compiled before`;
  }
}

/** Warns once that calls run without the kernels. */
export const warnOfLoops = (reason: string): void =>
  warnOnce("wasm", `running in plain TypeScript, slowly: ${reason}`);
