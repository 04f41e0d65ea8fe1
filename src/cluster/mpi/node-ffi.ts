/**
 * C functions through `node:ffi`, which is part of Node from 26.1 on (experimental; on by default from 26.10 on). It calls only
 * on the current thread, so the worker `ffi-worker.js` makes the calls on another thread: this thread sends it addresses, and
 * keeps the arrays reachable until the answer.
 */
import { type CallEnd, CallThread } from "./call-thread.ts";
import type { ForeignInterface, ForeignLibrary, Parameter } from "./foreign.ts";

/** The part of node:ffi that is used. */
interface NodeFfi {
  readonly DynamicLibrary: new (path: string | null) => NodeLibrary;
  getRawPointer(source: ArrayBufferLike): bigint;
}
interface Signature {
  readonly arguments: readonly string[];
  readonly return: string;
}
interface NodeLibrary {
  getFunction(name: string, signature: Signature): (...args: unknown[]) => number | bigint;
  getSymbol(name: string): bigint;
}

/** A call for the worker. Addresses are passed as numbers, so nothing is copied. */
export interface WorkerCall {
  readonly id: number;
  readonly symbol: string;
  readonly types: readonly string[];
  readonly args: readonly (number | bigint)[];
}

const TYPES: Readonly<Record<Parameter, string>> = {
  int: "int32",
  pointer: "pointer",
  "int-out": "pointer",
  address: "int64",
};

/** dlopen's flags RTLD_NOW | RTLD_GLOBAL. */
const FLAGS: Readonly<Record<string, number>> = { linux: 0x102, darwin: 0xa };

/** @throws where this runtime has no node:ffi */
export async function loadNodeFfi(): Promise<ForeignInterface> {
  const name = "node:ffi";
  const ffi = (await import(name)) as NodeFfi;
  return { name, load: (path) => loadLibrary(ffi, path), addressOf: (view) => addressOf(ffi, view) };
}

function loadLibrary(ffi: NodeFfi, path: string | null): ForeignLibrary {
  if (path !== null) openGlobally(ffi, path);
  const library = new ffi.DynamicLibrary(path);
  const thread = new CallThread<WorkerCall>(new URL("./ffi-worker.js", import.meta.url), { path });
  return {
    func(symbol, parameters) {
      const types = parameters.map((p) => TYPES[p]);
      const f = library.getFunction(symbol, { arguments: types, return: "int32" });
      const call = (...args: unknown[]): number => {
        const written: { readonly from: Int32Array; readonly to: number[] }[] = [];
        const callArguments = parameters.map((parameter, n) => {
          if (parameter !== "int-out") return toArgument(ffi, parameter, args[n]);
          const from = new Int32Array(1);
          written.push({ from, to: args[n] as number[] });
          return addressOf(ffi, from);
        });
        const code = Number(f(...callArguments));
        for (const { from, to } of written) to[0] = from[0];
        return code;
      };
      return Object.assign(call, {
        async: (args: readonly unknown[], done: CallEnd) => {
          const numbers = parameters.map((parameter, n) => toArgument(ffi, parameter, args[n]));
          thread.call({ symbol, types, args: numbers }, done);
        },
      });
    },
    address(symbol) {
      try {
        return library.getSymbol(symbol);
      } catch {
        return undefined;
      }
    },
  };
}

/** Node loads libraries with their symbols local; dlopen once more makes them global. */
function openGlobally(ffi: NodeFfi, path: string): void {
  const flags = FLAGS[process.platform];
  if (flags === undefined) return;
  const dlopen = new ffi.DynamicLibrary(null).getFunction("dlopen", {
    arguments: ["pointer", "int32"],
    return: "pointer",
  });
  const name = new TextEncoder().encode(`${path}\0`);
  // Where it fails, DynamicLibrary fails too, with a message.
  dlopen(addressOf(ffi, name), flags);
}

/** Address of a view's first byte. Reading `buffer` moves a small array out of V8's heap, where it could move. */
function addressOf(ffi: NodeFfi, view: ArrayBufferView): bigint {
  const { buffer, byteOffset, byteLength } = view;
  return byteLength === 0 ? 0n : ffi.getRawPointer(buffer) + BigInt(byteOffset);
}

function toArgument(ffi: NodeFfi, parameter: Parameter, value: unknown): number | bigint {
  if (parameter === "int") return Number(value);
  if (ArrayBuffer.isView(value)) return addressOf(ffi, value);
  return value === null || value === undefined ? 0n : BigInt(value as number | bigint);
}
