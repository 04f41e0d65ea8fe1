/**
 * Loads a foreign function interface: the package koffi, or `node:ffi` where the runtime has it (Node 26.10 and later; from 26.1
 * on with `--experimental-ffi`). koffi is called here, node:ffi in node-ffi.ts.
 */
import { UnsupportedError } from "../../core/errors.ts";
import type { CallEnd } from "./call-thread.ts";
import type { ForeignInterface, Parameter } from "./foreign.ts";
import { loadNodeFfi } from "./node-ffi.ts";

/**
 * Loads koffi, or node:ffi where koffi is not installed.
 *
 * @param wanted `koffi` or `node:ffi`; undefined: the first that works
 * @throws UnsupportedError `mpi-koffi` where neither works, with the command that installs koffi
 */
export async function loadForeign(wanted: string | undefined): Promise<ForeignInterface> {
  if (wanted !== undefined && wanted !== "koffi" && wanted !== "node:ffi")
    throw new UnsupportedError(
      "mpi-ffi",
      `heed/cluster: HEED_FFI must be koffi or node:ffi, got ${JSON.stringify(wanted)}`,
      { got: wanted },
    );
  const failures: unknown[] = [];
  for (const [name, load] of [
    ["koffi", loadKoffi],
    ["node:ffi", loadNodeFfi],
  ] as const) {
    if (wanted !== undefined && wanted !== name) continue;
    try {
      return await load();
    } catch (failure) {
      failures.push(failure);
    }
  }
  const error = new UnsupportedError(
    "mpi-koffi",
    wanted === "node:ffi"
      ? `heed/cluster: HEED_FFI=node:ffi, but Node ${process.versions.node} has no node:ffi here: Node 26.10 and later have it, Node 26.1 to 26.9 with --experimental-ffi; or install koffi: npm install koffi`
      : "heed/cluster: MPI is called through the package koffi, which is not installed or does not run here; install it: npm install koffi (Node 26.10 and later need no koffi: they have node:ffi)",
    { failures: failures.map(String) },
  );
  throw Object.assign(error, { cause: failures[0] });
}

/** The part of koffi that is used. */
interface Koffi {
  load(path: string | null, options?: { global?: boolean }): KoffiLibrary;
  address(pointer: unknown): bigint;
  config(change?: { async_stack_size: number }): { readonly async_stack_size: number };
}
interface KoffiFunction {
  (...args: unknown[]): number;
  async(...args: unknown[]): void;
}
interface KoffiLibrary {
  func(name: string, result: string, parameters: readonly string[]): KoffiFunction;
  symbol(name: string, type: string): unknown;
}

const KOFFI_TYPES: Readonly<Record<Parameter, string>> = {
  int: "int",
  pointer: "void *",
  "int-out": "_Out_ int *",
  address: "intptr_t",
};

/** Stack of a call on another thread. koffi's own 128 KiB are too few: MPI_Allreduce of MPICH 4.0 overflows them (measured). */
const STACK = 8 * 2 ** 20;

async function loadKoffi(): Promise<ForeignInterface> {
  // The name is in a variable so that bundlers do not resolve an optional dependency.
  const name = "koffi";
  const module = (await import(name)) as { default?: Koffi } & Koffi;
  const koffi = module.default ?? module;
  // koffi refuses a change after it has loaded a library, such as one that an earlier call tried.
  if (koffi.config().async_stack_size !== STACK) koffi.config({ async_stack_size: STACK });
  return {
    name,
    // Reading `buffer` moves a small array out of V8's heap, where it could move.
    addressOf: ({ buffer, byteOffset, byteLength }) =>
      byteLength === 0 ? 0n : koffi.address(new Uint8Array(buffer, byteOffset, byteLength)),
    load(path) {
      const library = koffi.load(path, { global: true });
      return {
        func(symbol, parameters) {
          const f = library.func(
            symbol,
            "int",
            parameters.map((p) => KOFFI_TYPES[p]),
          );
          const call = (...args: unknown[]): number => f(...args);
          return Object.assign(call, {
            async: (args: readonly unknown[], done: CallEnd) => f.async(...args, done),
          });
        },
        address(symbol) {
          try {
            return koffi.address(library.symbol(symbol, "char"));
          } catch {
            return undefined;
          }
        },
      };
    },
  };
}
