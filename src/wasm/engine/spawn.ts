/**
 * Starts one worker: a worker thread in Node, Deno and Bun, a module worker in a page. A bundler may not have copied
 * worker.js; then the worker is made from the same code as text, in a page from a Blob where its policy allows that.
 */
import { CONTROL, MAX_KERNELS, SPIN, serve, THREAD } from "./worker.js";

/** A started worker. */
export interface Handle {
  terminate(): void;
  dead: boolean;
}

interface NodeWorker {
  on(event: string, listener: () => void): void;
  unref(): void;
  terminate(): Promise<number>;
}
interface NodeModule {
  readonly Worker: new (program: URL | string, options: object) => NodeWorker;
}

/** True after worker.js failed to load: further workers are made from its code. */
let needsCode = false;

/** The code of a thread as a program; `message` is an expression for the message that starts it. */
function program(message: string): string {
  const settings = [CONTROL, SPIN, MAX_KERNELS].map((value) => JSON.stringify(value)).join(", ");
  return `(({ memory, index }) => (${serve})(memory, index, ${settings}))(${message});`;
}

/** A classic worker with the code of worker.js, which needs no file. */
function blobWorker(): Worker {
  const code = `addEventListener("message", ({ data }) => { ${program("data")} }, { once: true });`;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = new Worker(url, { name: "heed" });
  URL.revokeObjectURL(url);
  return worker;
}

/** A thread of Node, from worker.js or from its code. */
function nodeWorker(node: NodeModule, data: object): NodeWorker {
  // execArgv is not inherited: a loader of the host would only slow the start.
  const options = { workerData: data, execArgv: [] };
  const code = () =>
    new node.Worker(program("require('node:worker_threads').workerData"), { ...options, eval: true });
  if (needsCode) return code();
  // The name is a variable so that bundlers for pages leave the file out: Parcel's page would not load with it.
  const file = "./worker.js";
  return new node.Worker(new URL(file, import.meta.url), options);
}

/** A worker in Node, or in a page or another worker; undefined where the runtime refuses one. */
export function spawnWorker(
  memory: WebAssembly.Memory,
  index: number,
  isReady: () => boolean,
  failed: () => void,
): Handle | undefined {
  const data = { heed: THREAD, memory, index };
  const process = (globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }).process;
  const node = process?.getBuiltinModule?.("node:worker_threads") as NodeModule | undefined;
  const handle: Handle = { dead: false, terminate: () => undefined };
  const died = () => {
    if (!handle.dead && !isReady()) failed();
    handle.dead = true;
  };
  try {
    if (node) {
      let worker = nodeWorker(node, data);
      let isStopped = false;
      handle.terminate = () => {
        isStopped = true;
        void worker.terminate();
      };
      const watch = (fromCode: boolean) => {
        // A worker that was replaced ends too: its exit is ignored.
        const watched = worker;
        worker.on("error", () => {
          if (fromCode || isStopped || handle.dead || isReady()) return died();
          needsCode = true;
          try {
            worker = nodeWorker(node, data);
          } catch {
            return died();
          }
          watch(true);
        });
        worker.on("exit", () => {
          if (worker === watched) died();
        });
        worker.unref();
      };
      watch(needsCode);
      return handle;
    }
    // Vite 5 parses these options as text: they are constants.
    let worker = needsCode
      ? blobWorker()
      : new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "heed" });
    handle.terminate = () => worker.terminate();
    const watch = (fromBlob: boolean) =>
      worker.addEventListener("error", () => {
        if (fromBlob || handle.dead || isReady()) return died();
        needsCode = true;
        try {
          worker = blobWorker();
        } catch {
          return died();
        }
        watch(true);
        worker.postMessage(data);
      });
    watch(needsCode);
    worker.postMessage(data);
    return handle;
  } catch {
    return undefined;
  }
}
