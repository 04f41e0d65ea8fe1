/**
 * The contract for calling C functions from JavaScript, on this thread, or on another one while this thread computes. koffi.ts and
 * node-ffi.ts implement it; `binding.ts` lists the functions of MPI.
 */
import type { CallEnd } from "./call-thread.ts";

/**
 * A parameter of a C function: a 32-bit integer, an address (a view, an address as bigint, or null), a pointer to one 32-bit
 * integer that the function writes (an array of one number), or an integer as wide as an address.
 */
export type Parameter = "int" | "pointer" | "int-out" | "address";

/** A C function that returns an int. */
export interface ForeignFunction {
  (...args: unknown[]): number;
  /** Calls on another thread. `done` gets the result, or an error. Arrays must stay reachable until then. */
  async(args: readonly unknown[], done: CallEnd): void;
}

/** A loaded library. */
export interface ForeignLibrary {
  func(name: string, parameters: readonly Parameter[]): ForeignFunction;
  /** Address of a symbol; undefined where the library has none of that name. */
  address(symbol: string): bigint | undefined;
}

/** A foreign function interface: koffi or node:ffi. */
export interface ForeignInterface {
  readonly name: "koffi" | "node:ffi";
  /**
   * Loads a library with its symbols global: Open MPI's components look their symbols up in the process. `null`: the
   * libraries that this process has loaded.
   */
  load(path: string | null): ForeignLibrary;
  /** Address of a view's first byte, for a call on another thread; 0 for an empty view. The view must stay reachable. */
  addressOf(view: ArrayBufferView): bigint;
}
