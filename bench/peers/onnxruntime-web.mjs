/**
 * onnxruntime-web: ONNX Runtime as WebAssembly (SIMD), the same in Node and in browsers. Its inputs are copied into
 * WebAssembly's memory in every call, so that is in its time; the peer with constant K and V shows what is left without.
 * The number of threads is fixed when the module first starts: one process, one number.
 */
import * as ort from "onnxruntime-web";
import { composed, multiHead, ortPeer, standard } from "./onnx-graphs.mjs";

const WEB = {
  package: "onnxruntime-web",
  kind: "portable",
  session: () => ({ executionProviders: ["wasm"] }),
};
let started = 0;

function start({ threads }) {
  if (started !== 0 && started !== threads)
    return `onnxruntime-web started with ${started} threads in this process`;
  started = threads;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = "error";
}

/** The module decides when it starts how many threads it has. */
const peer = (operator, graph) => {
  const one = ortPeer(ort, WEB, operator, graph, start);
  return {
    ...one,
    async prepare(c) {
      const ready = await one.prepare(c);
      const { numThreads } = ort.env.wasm;
      return "refuses" in ready || numThreads === c.threads
        ? ready
        : { refuses: `onnxruntime-web runs on ${numThreads} threads here` };
    },
  };
};

export const peers = [
  peer("Attention", standard),
  peer("MultiHeadAttention", multiHead),
  peer("MatMul, Softmax, MatMul", (c) => composed(c)),
  peer("MatMul, Softmax, MatMul, K and V constant", (c) => composed(c, true)),
];
