/**
 * A thread that makes blocking C calls for node-ffi.ts, one after another. Arguments are numbers and addresses; the arrays
 * at these addresses are kept reachable by the thread that sent them.
 */
import { parentPort, workerData } from "node:worker_threads";

// A name in a variable: only Node 26 and later have this module.
const name = "node:ffi";
const { DynamicLibrary } = await import(name);
const library = new DynamicLibrary(workerData.path);
/** @type {Map<string, (...args: (number | bigint)[]) => number>} */
const functions = new Map();

parentPort?.on("message", (/** @type {import("./node-ffi.ts").WorkerCall} */ { id, symbol, types, args }) => {
  try {
    let f = functions.get(symbol);
    if (f === undefined) {
      f = library.getFunction(symbol, { arguments: types, return: "int32" });
      functions.set(symbol, /** @type {(...args: (number | bigint)[]) => number} */ (f));
    }
    const code = /** @type {(...args: (number | bigint)[]) => number} */ (f)(...args);
    parentPort?.postMessage({ id, code });
  } catch (error) {
    parentPort?.postMessage({ id, error: String(error) });
  }
});
