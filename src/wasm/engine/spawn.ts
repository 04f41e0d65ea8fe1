/**
 * Starts one worker: a worker thread in Node, Deno and Bun, a module worker in a page. A bundler may not have copied
 * worker.js; then the worker is made from the same code as text, in a page from a Blob where its policy allows that.
 */
import { CONTROL, MAX_KERNELS, SPIN, serve, THREAD } from "./worker.js";

/** A started worker. */
export interface WorkerHandle {
  terminate(): void;
  dead: boolean;
}

interface NodeWorker {
  on(event: string, listener: (error: Error) => void): void;
  unref(): void;
  terminate(): unknown;
}
interface NodeModule {
  readonly Worker: new (program: URL | string, options: object) => NodeWorker;
}

/** True after worker.js failed to load: further workers are made from its code. */
let needsCode = false;

/** Neither worker.js nor a Blob with its code became a worker: the error event of a page does not say why. */
const NO_PAGE_WORKER =
  'a bundle needs worker.js beside it (import.meta.resolve("heed/worker.js")), or a content security policy with worker-src blob:';

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

/** A thread of Node, or a worker of a page: from worker.js, or from its code where worker.js has no address (a bundle of CommonJS) or did not load. */
function makeWorker(node: NodeModule | undefined, data: object): NodeWorker | Worker {
  // execArgv is not inherited: a loader of the host would only slow the start.
  const options = { workerData: data, execArgv: [] };
  // The name is a variable so that bundlers for pages leave the file out: Parcel's page would not load with it.
  const file = "./worker.js";
  if (!needsCode)
    try {
      return node
        ? new node.Worker(new URL(file, import.meta.url), options)
        : // Vite 5 parses these options as text: they are constants.
          new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "heed" });
    } catch {
      needsCode = true;
    }
  return node
    ? new node.Worker(program("require('node:worker_threads').workerData"), { ...options, eval: true })
    : blobWorker();
}

/**
 * A worker in Node, or in a page or another worker. Throws the runtime's error where it refuses one. `failed` gets the reason if
 * the worker ends before it is ready.
 */
export function spawnWorker(
  memory: WebAssembly.Memory,
  index: number,
  isReady: () => boolean,
  failed: (reason: string) => void,
): WorkerHandle {
  const data = { heed: THREAD, memory, index };
  const process = (globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }).process;
  const node = process?.getBuiltinModule?.("node:worker_threads") as NodeModule | undefined;
  let worker = makeWorker(node, data);
  let isStopped = false;
  const terminate = () => {
    isStopped = true;
    void worker.terminate();
  };
  const handle: WorkerHandle = { dead: false, terminate };
  const died = (reason: string) => {
    if (!handle.dead && !isReady()) failed(reason);
    handle.dead = true;
  };
  const watch = (fromCode: boolean) => {
    // A worker that was replaced ends too: its exit is ignored.
    const watched = worker;
    const onError = ({ message }: { message?: string }) => {
      const reason = node ? `${message}` : NO_PAGE_WORKER;
      if (fromCode || isStopped || handle.dead || isReady()) return died(reason);
      needsCode = true;
      try {
        worker = makeWorker(node, data);
      } catch {
        return died(reason);
      }
      watch(true);
    };
    if ("on" in worker) {
      worker.on("error", onError);
      worker.on("exit", () => {
        if (worker === watched) died("ended");
      });
      worker.unref();
    } else {
      worker.addEventListener("error", onError);
      worker.postMessage(data);
    }
  };
  watch(needsCode);
  return handle;
}
