/**
 * Kernels that were compiled before the program runs: modules that export kernels by their keys. A runtime that compiles no WebAssembly
 * while it runs (Cloudflare Workers) still instantiates such modules. tools/build/kernels.mjs writes the usual ones.
 */
import { warnOnce } from "../../backend/settings.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { ModuleBuilder } from "../assembler/index.ts";

const files: { readonly module: WebAssembly.Module; readonly keys: ReadonlySet<string> }[] = [];

/** Adds a module; returns the keys of its kernels. */
export function addKernelFile(module: WebAssembly.Module): readonly string[] {
  const keys = WebAssembly.Module.exports(module).map(({ name }) => name);
  if (!files.some((file) => file.module === module)) files.push({ module, keys: new Set(keys) });
  return keys;
}

/** True once a module was added. */
export const hasKernelFiles = (): boolean => files.length > 0;

/** The module that has a kernel, if any. */
export const kernelFile = (key: string): WebAssembly.Module | undefined =>
  files.find(({ keys }) => keys.has(key))?.module;

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

/** No module that was added has a kernel, and this runtime compiles none. */
export class MissingKernelError extends UnsupportedError {
  constructor(key: string) {
    super(
      "kernel",
      `this runtime compiles no WebAssembly while it runs, and no module of useKernels has the kernel "${key}"`,
      { key },
    );
  }
}

/** Warns once that calls run without the kernels. */
export const warnOfLoops = (reason: string): void =>
  warnOnce("wasm", `running in plain TypeScript, slowly: ${reason}`);
