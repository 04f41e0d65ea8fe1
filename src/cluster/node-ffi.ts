/**
 * C functions through `node:ffi`, which is part of Node from 26.1 on (experimental; on by default from 26.10 on). It calls
 * on the thread that asks only, so the worker `ffi-worker.js` makes the calls on another thread: this thread sends it
 * addresses, and keeps the arrays reachable until the answer.
 */
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

interface NodeWorker {
  on(event: string, listener: (value: never) => void): void;
  postMessage(value: unknown): void;
  ref(): void;
  unref(): void;
}

/** A call that the worker makes. Addresses are numbers of their own, so nothing is copied. */
export interface WorkerCall {
  readonly id: number;
  readonly symbol: string;
  readonly types: readonly string[];
  readonly args: readonly (number | bigint)[];
}

/** What the worker answers. */
export interface WorkerAnswer {
  readonly id: number;
  readonly code?: number;
  readonly error?: string;
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
  const worker = lazyWorker(path);
  return {
    func(symbol, parameters) {
      const types = parameters.map((p) => TYPES[p]);
      const f = library.getFunction(symbol, { arguments: types, return: "int32" });
      const call = (...args: unknown[]): number => {
        const written: { readonly from: Int32Array; readonly to: number[] }[] = [];
        const given = parameters.map((parameter, n) => {
          if (parameter !== "int-out") return toArgument(ffi, parameter, args[n]);
          const from = new Int32Array(1);
          written.push({ from, to: args[n] as number[] });
          return addressOf(ffi, from);
        });
        const code = Number(f(...given));
        for (const { from, to } of written) to[0] = from[0];
        return code;
      };
      return Object.assign(call, {
        async: (args: readonly unknown[], done: (error: unknown, code: number) => void) => {
          const numbers = parameters.map((parameter, n) => toArgument(ffi, parameter, args[n]));
          worker(symbol, types, numbers, done);
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

type Caller = (
  symbol: string,
  types: readonly string[],
  args: readonly (number | bigint)[],
  done: (error: unknown, code: number) => void,
) => void;

/** A worker that loads the library and makes one call after another; started at the first call. */
function lazyWorker(path: string | null): Caller {
  const waiting = new Map<number, (error: unknown, code: number) => void>();
  let worker: NodeWorker | undefined;
  let calls = 0;
  const settle = (id: number, error: unknown, code: number) => {
    const done = waiting.get(id);
    waiting.delete(id);
    // The worker keeps the process alive only while a call runs.
    if (waiting.size === 0) worker?.unref();
    done?.(error, code);
  };
  const start = (): NodeWorker => {
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    // Not written inside `new Worker(…)`: bundlers would bundle a worker that only Node runs.
    const url = new URL("./ffi-worker.js", import.meta.url);
    const started = new Worker(url, {
      workerData: { path },
      execArgv: process.execArgv.filter((flag) => /ffi/.test(flag)),
    }) as unknown as NodeWorker;
    started.on("message", (({ id, error, code }: WorkerAnswer) =>
      settle(id, error === undefined ? null : new Error(error), code ?? 0)) as (value: never) => void);
    started.on("error", ((error: unknown) => {
      for (const id of [...waiting.keys()]) settle(id, error, 0);
    }) as (value: never) => void);
    return started;
  };
  return (symbol, types, args, done) => {
    worker ??= start();
    const id = calls++;
    waiting.set(id, done);
    worker.ref();
    worker.postMessage({ id, symbol, types, args } satisfies WorkerCall);
  };
}
