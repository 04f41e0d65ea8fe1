/**
 * onnxruntime-web: ONNX Runtime as WebAssembly (SIMD), the same in Node and in browsers. Its inputs are copied into
 * WebAssembly's memory in every call, so that is in its time; the peer with constant K and V shows what is left without.
 * The number of threads is fixed when the module first starts: one process, one number.
 */
import * as ort from "onnxruntime-web";
import { composed, multiHead, standard } from "./onnx-graphs.mjs";

let started = 0;

/**
 * @param {string} operator
 * @param {(c: import("./index.mjs").Case) => import("./onnx-graphs.mjs").Graph} graph
 * @returns {import("./index.mjs").Peer}
 */
function peer(operator, graph) {
  return {
    name: `onnxruntime-web ${operator}`,
    package: "onnxruntime-web",
    kind: "portable",
    async prepare(c) {
      if (started !== 0 && started !== c.threads)
        return { refuses: `onnxruntime-web started with ${started} threads in this process` };
      started = c.threads;
      ort.env.wasm.numThreads = c.threads;
      ort.env.logLevel = "error";
      const { bytes, feeds, order } = graph(c);
      const session = await ort.InferenceSession.create(bytes, {
        executionProviders: ["wasm"],
        executionMode: "sequential",
        graphOptimizationLevel: "all",
      });
      if (ort.env.wasm.numThreads !== c.threads)
        return { refuses: `onnxruntime-web runs on ${ort.env.wasm.numThreads} threads here` };
      const tensors = Object.fromEntries(
        Object.entries(feeds).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
      );
      return {
        run: async () => /** @type {Float32Array} */ ((await session.run(tensors, ["y"])).y.data),
        order,
        dispose: () => session.release(),
      };
    },
  };
}

export const peers = [
  peer("Attention", standard),
  peer("MultiHeadAttention", multiHead),
  peer("MatMul, Softmax, MatMul", (c) => composed(c)),
  peer("MatMul, Softmax, MatMul, K and V constant", (c) => composed(c, true)),
];
