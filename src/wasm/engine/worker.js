/**
 * A thread: waits for jobs in the shared memory, compiles the job's kernel, and takes tasks until none is
 * left. It imports nothing, so that it starts quickly and runs unchanged in Node and in a page. worker-pool.ts
 * imports the indices of the shared words from here.
 */

/** @internal Indices of words at the start of the memory; at `ready` and `workspace` one word for each of 64 threads. */
export const CONTROL = Object.freeze({
  epoch: 16,
  remaining: 17,
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
});

/** @internal Marks the message that starts a thread; a worker of the host that imports this file gets other messages. */
export const THREAD = "heed thread";

/** @internal Loads of the epoch before sleeping: about 0.3 ms (measured), so that consecutive calls need no wake-up. */
export const SPIN = 20000;
/** @internal Maximum number of cached kernels; the same in the main thread. */
export const MAX_KERNELS = 256;

/**
 * @internal Serves jobs until the process ends. Its source text is also run alone (spawn.ts), so it uses only its parameters.
 * @param {WebAssembly.Memory} memory
 * @param {number} index number of this thread, from 0
 * @param {Record<"epoch" | "remaining" | "active" | "wanted" | "failed" | "count" | "kernel" | "kernelAt" | "kernelBytes" | "tasks" | "taskSize" | "ready" | "workspace", number>} CONTROL
 * @param {number} SPIN
 * @param {number} MAX_KERNELS
 */
export function serve(memory, index, CONTROL, SPIN, MAX_KERNELS) {
  // A fixed region of shared memory: this view stays valid when the memory grows.
  const words = new Int32Array(memory.buffer, 0, 1024);
  /** @type {Map<number, (task: number, workspace: number) => void>} */
  const kernels = new Map();
  let lastEpoch = 0;
  Atomics.store(words, CONTROL.ready + index, 1);
  for (;;) {
    for (let n = 0; n < SPIN && Atomics.load(words, CONTROL.epoch) === lastEpoch; n++);
    while (Atomics.load(words, CONTROL.epoch) === lastEpoch) Atomics.wait(words, CONTROL.epoch, lastEpoch);
    lastEpoch = Atomics.load(words, CONTROL.epoch);
    Atomics.add(words, CONTROL.active, 1);
    // Check `remaining` first: while tasks remain, the job cannot end before this thread does, so all words are those of this job.
    if (Atomics.load(words, CONTROL.remaining) > 0 && index < Atomics.load(words, CONTROL.wanted)) {
      try {
        const count = words[CONTROL.count];
        const id = words[CONTROL.kernel];
        let run = kernels.get(id);
        if (!run) {
          const at = words[CONTROL.kernelAt];
          const bytes = new Uint8Array(memory.buffer).slice(at, at + words[CONTROL.kernelBytes]);
          const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
          run = /** @type {(task: number, workspace: number) => void} */ (instance.exports.run);
          if (kernels.size >= MAX_KERNELS) kernels.delete(kernels.keys().next().value ?? 0);
          kernels.set(id, run);
        }
        const [tasks, size, workspace] = [
          words[CONTROL.tasks],
          words[CONTROL.taskSize],
          words[CONTROL.workspace + index],
        ];
        for (;;) {
          const left = Atomics.sub(words, CONTROL.remaining, 1);
          if (left <= 0) break;
          run(tasks + (count - left) * size, workspace);
        }
      } catch {
        Atomics.store(words, CONTROL.failed, 1);
      }
    }
    if (Atomics.sub(words, CONTROL.active, 1) === 1) Atomics.notify(words, CONTROL.active);
  }
}

const node = /** @type {any} */ (globalThis).process?.getBuiltinModule?.("node:worker_threads");
if (node) {
  if (node.workerData?.heed === THREAD)
    serve(node.workerData.memory, node.workerData.index, CONTROL, SPIN, MAX_KERNELS);
} else if (typeof (/** @type {any} */ (globalThis).WorkerGlobalScope) === "function") {
  globalThis.addEventListener(
    "message",
    (event) => {
      const { heed, memory, index } = /** @type {MessageEvent} */ (event).data ?? {};
      if (heed === THREAD) serve(memory, index, CONTROL, SPIN, MAX_KERNELS);
    },
    { once: true },
  );
}
