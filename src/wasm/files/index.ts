/**
 * Kernels as files, for runtimes that compile no WebAssembly while they run: `heed/kernels/strict.wasm` has the usual kernels, and
 * `useKernels` takes it as a module that the runtime or the bundler has compiled. See the chapter on runtimes.
 * @module
 * @beta
 */
import { formatValue, OptionError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import { retryEngine } from "../engine/engine.ts";
import { addKernelFile } from "./files.ts";

/**
 * Computes with the kernels of a module from now on: a `WebAssembly.Module` made of `heed/kernels/strict.wasm`. Where this runtime compiles
 * kernels itself, those of the module are used by calls at the level `"strict"` on one thread without shared memory, and others are
 * compiled as always. Returns the keys of the module's kernels, which `explain` names.
 *
 * @throws OptionError where it is no module, or not one of this version of heed
 * @example
 * import kernels from "heed/kernels/strict.wasm"; // Cloudflare Workers: a compiled module
 * import { useKernels } from "heed/kernels";
 * useKernels(kernels);
 * @beta
 */
export function useKernels(module: object): readonly string[] {
  if (Object.prototype.toString.call(module) !== "[object WebAssembly.Module]")
    throw new OptionError(
      "module",
      `useKernels: expected the WebAssembly.Module of heed/kernels/strict.wasm, got ${formatValue(module)}; WebAssembly.compileStreaming makes one of the response with the file`,
      { got: module },
    );
  const [section] = WebAssembly.Module.customSections(module as WebAssembly.Module, "heed");
  const version = section && new TextDecoder().decode(section);
  if (version !== VERSION)
    throw new OptionError(
      "module",
      `useKernels: expected the kernels of heed ${VERSION}, got ${version === undefined ? "a module that is not heed's" : `those of heed ${version}`}`,
      { got: version },
    );
  const keys = addKernelFile(module as WebAssembly.Module);
  retryEngine();
  return keys;
}
