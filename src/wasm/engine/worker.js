/**
 * A thread: waits for jobs in the shared memory, compiles the kernel it is pointed to, and takes tasks until none is
 * left. It imports nothing, so that it starts quickly and works as it is in Node and in a page. threads.ts imports the
 * numbers of the words they share from here.
 */

/**
 * Words at the start of the memory; from `ready` and `workspace` on one for each of 64 threads.
 * @type {Record<string, number>}
 */
export const WORDS = {
  epoch: 16,
  tickets: 17,
  active: 18,
  failed: 19,
  wanted: 20,
  kernel: 21,
  kernelAt: 22,
  kernelBytes: 23,
  tasks: 24,
  taskSize: 25,
  count: 26,
  ready: 32,
  workspace: 128,
};

/** What a worker is told to become a thread; a worker of the host's own, which may import this file, is told other things. */
export const THREAD = "heed thread";

/** Loads of the epoch before sleeping: about 0.3 ms (measured), so that calls in a row wake nobody. */
const SPIN = 20000;
/** Kernels kept; the main thread keeps as many. */
const KEPT = 256;

/**
 * @param {WebAssembly.Memory} memory
 * @param {number} index number of this thread, from 0
 */
function serve(memory, index) {
  // A fixed region of shared memory: this view stays valid when the memory grows.
  const words = new Int32Array(memory.buffer, 0, 1024);
  /** @type {Map<number, (task: number, workspace: number) => void>} */
  const kernels = new Map();
  let seen = 0;
  Atomics.store(words, WORDS.ready + index, 1);
  for (;;) {
    for (let n = 0; n < SPIN && Atomics.load(words, WORDS.epoch) === seen; n++);
    while (Atomics.load(words, WORDS.epoch) === seen) Atomics.wait(words, WORDS.epoch, seen);
    seen = Atomics.load(words, WORDS.epoch);
    Atomics.add(words, WORDS.active, 1);
    // Tickets first: where some are left, the job cannot end before this thread does, so all words are this job's.
    if (Atomics.load(words, WORDS.tickets) > 0 && index < Atomics.load(words, WORDS.wanted)) {
      try {
        const count = words[WORDS.count];
        const id = words[WORDS.kernel];
        let run = kernels.get(id);
        if (!run) {
          const at = words[WORDS.kernelAt];
          const bytes = new Uint8Array(memory.buffer).slice(at, at + words[WORDS.kernelBytes]);
          const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
          run = /** @type {(task: number, workspace: number) => void} */ (instance.exports.run);
          if (kernels.size >= KEPT) kernels.delete(kernels.keys().next().value ?? 0);
          kernels.set(id, run);
        }
        const [tasks, size, workspace] = [
          words[WORDS.tasks],
          words[WORDS.taskSize],
          words[WORDS.workspace + index],
        ];
        for (;;) {
          const left = Atomics.sub(words, WORDS.tickets, 1);
          if (left <= 0) break;
          run(tasks + (count - left) * size, workspace);
        }
      } catch {
        Atomics.store(words, WORDS.failed, 1);
      }
    }
    if (Atomics.sub(words, WORDS.active, 1) === 1) Atomics.notify(words, WORDS.active);
  }
}

const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.("node:worker_threads");
if (node) {
  if (node.workerData?.heed === THREAD) serve(node.workerData.memory, node.workerData.index);
} else if (typeof (/** @type {any} */ (globalThis).WorkerGlobalScope) === "function") {
  globalThis.addEventListener(
    "message",
    (event) => {
      const { heed, memory, index } = /** @type {MessageEvent} */ (event).data ?? {};
      if (heed === THREAD) serve(memory, index);
    },
    { once: true },
  );
}
