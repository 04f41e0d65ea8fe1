/**
 * jax-js: nn.dotProductAttention under jit, on its WebAssembly backend, [B, N, H, D]. Its threads are Web Workers, which
 * Node lacks: with more than one thread a worker of Node replaces them. How many is fixed at the first start.
 */
import { resolveObjectURL } from "node:buffer";
import { Worker as NodeWorker } from "node:worker_threads";
import { swapAxes } from "./layout.mjs";

let started = 0;

/** What a worker of Node needs in order to run a script that was written for a Web Worker. */
const PRELUDE = `{
  const { parentPort } = require("node:worker_threads");
  globalThis.self = globalThis;
  globalThis.postMessage = (data) => parentPort.postMessage(data);
  parentPort.on("message", (data) => globalThis.onmessage?.({ data }));
}
`;

/** The part of a Web Worker that jax-js uses, from a blob's address. */
class WebWorker {
  onmessage;
  onerror;
  #worker;
  #early = [];

  constructor(address) {
    resolveObjectURL(String(address))
      ?.text()
      .then((source) => {
        const worker = new NodeWorker(PRELUDE + source, { eval: true });
        worker.unref();
        worker.on("message", (data) => this.onmessage?.({ data }));
        worker.on("error", (error) => this.onerror?.(error));
        this.#worker = worker;
        for (const data of this.#early) worker.postMessage(data);
      });
  }

  postMessage(data) {
    if (this.#worker === undefined) this.#early.push(data);
    else this.#worker.postMessage(data);
  }

  terminate() {
    this.#worker?.terminate();
  }
}

const peer = {
  name: "jax-js",
  package: "@jax-js/jax",
  kind: "portable",
  async prepare(c) {
    if (started !== 0 && started !== c.threads)
      return { refuses: `jax-js started with ${started} threads in this process` };
    if (started === 0) {
      started = c.threads;
      const navigator = { hardwareConcurrency: c.threads };
      Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
      // Other peers leave Node's own Worker here, which takes no blob; without any, jax-js stays on one thread.
      Object.assign(globalThis, { Worker: c.threads > 1 ? WebWorker : undefined });
    }
    const { defaultDevice, init, jit, nn, numpy } = await import("@jax-js/jax");
    await init("wasm");
    defaultDevice("wasm");
    const { B, H, Nq, Nk, D } = c;
    const array = (x, N) => numpy.array(swapAxes(x, B, H, N, D)).reshape([B, N, H, D]);
    const [q, k, v] = [array(c.query, Nq), array(c.key, Nk), array(c.value, Nk)];
    const options = c.causal ? { isCausal: true } : {};
    const attention = jit((a, b, d) => nn.dotProductAttention(a, b, d, options));
    return {
      // A call uses its arguments up; `.ref` lends them.
      run: async () => /** @type {Float32Array} */ (await attention(q.ref, k.ref, v.ref).data()),
      order: (data) => swapAxes(data, B, Nq, H, D),
      dispose: () => {
        for (const one of [q, k, v]) one.dispose();
      },
    };
  },
};

export const peers = [peer];
