/**
 * Starting one worker: a worker thread in Node, Deno and Bun, a module worker in a page. A bundler may not have copied
 * worker.js; then, where the page's policy allows it, the worker is made from a Blob with the same code.
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
type NodeWorkerClass = new (url: URL, options: object) => NodeWorker;

/** True once worker.js could not be loaded: further workers are made from a Blob at once. */
let needsBlob = false;

/** A classic worker with the code of worker.js, which needs no file. */
function blobWorker(): Worker {
  const settings = [CONTROL, SPIN, MAX_KERNELS].map((value) => JSON.stringify(value)).join(", ");
  const code = `addEventListener("message", ({ data }) => (${serve})(data.memory, data.index, ${settings}), { once: true });`;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = new Worker(url, { name: "heed" });
  URL.revokeObjectURL(url);
  return worker;
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
  const node = process?.getBuiltinModule?.("node:worker_threads") as { Worker: NodeWorkerClass } | undefined;
  try {
    if (node) {
      // execArgv is not handed on: a loader of the host's would only slow the start.
      const worker = new node.Worker(new URL("./worker.js", import.meta.url), {
        workerData: data,
        execArgv: [],
      });
      const handle: Handle = { dead: false, terminate: () => void worker.terminate() };
      const died = () => {
        if (!handle.dead && !isReady()) failed();
        handle.dead = true;
      };
      worker.on("error", died);
      worker.on("exit", died);
      worker.unref();
      return handle;
    }
    // Vite 5 parses these options as text: they are constants.
    let worker = needsBlob
      ? blobWorker()
      : new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "heed" });
    const handle: Handle = { dead: false, terminate: () => worker.terminate() };
    const died = () => {
      if (!handle.dead && !isReady()) failed();
      handle.dead = true;
    };
    const watch = (fromBlob: boolean) =>
      worker.addEventListener("error", () => {
        if (fromBlob || handle.dead || isReady()) return died();
        needsBlob = true;
        try {
          worker = blobWorker();
        } catch {
          return died();
        }
        watch(true);
        worker.postMessage(data);
      });
    watch(needsBlob);
    worker.postMessage(data);
    return handle;
  } catch {
    return undefined;
  }
}
