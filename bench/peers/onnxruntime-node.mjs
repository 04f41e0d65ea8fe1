/** onnxruntime-node: ONNX Runtime's native CPU library (AVX-512 where the machine has it). */
import ort from "onnxruntime-node";
import { composed, grouped, multiHead, standard } from "./onnx-graphs.mjs";

/**
 * @param {string} operator
 * @param {(c: import("./index.mjs").Case) => import("./onnx-graphs.mjs").Graph} graph
 * @param {(c: import("./index.mjs").Case) => string} [refuses]
 * @returns {import("./index.mjs").Peer}
 */
function peer(operator, graph, refuses = () => "") {
  return {
    name: `onnxruntime-node ${operator}`,
    package: "onnxruntime-node",
    kind: "native",
    async prepare(c) {
      const why = refuses(c);
      if (why !== "") return { refuses: why };
      const { bytes, feeds, order } = graph(c);
      const session = await ort.InferenceSession.create(bytes, {
        intraOpNumThreads: c.threads,
        interOpNumThreads: 1,
        executionMode: "sequential",
        graphOptimizationLevel: "all",
        logSeverityLevel: 3,
      });
      const tensors = Object.fromEntries(
        Object.entries(feeds).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
      );
      return {
        run: async () => (await session.run(tensors, ["y"])).y.data,
        order,
        dispose: () => session.release(),
      };
    },
  };
}

export const peers = [
  peer("MultiHeadAttention", multiHead),
  peer("Attention", standard),
  peer("MatMul, Softmax, MatMul", (c) => composed(c)),
  peer("GroupQueryAttention", grouped, (c) =>
    c.causal || c.Nq === 1 ? "" : "GroupQueryAttention is causal only",
  ),
];
