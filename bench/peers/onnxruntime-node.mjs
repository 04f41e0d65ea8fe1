/** onnxruntime-node: ONNX Runtime's native CPU library (AVX-512 where the machine has it). */
import ort from "onnxruntime-node";
import { composed, grouped, multiHead, ortPeer, standard } from "./onnx-graphs.mjs";

const NODE = {
  package: "onnxruntime-node",
  kind: "native",
  session: ({ threads }) => ({ intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3 }),
};

export const peers = [
  ortPeer(ort, NODE, "MultiHeadAttention", multiHead),
  ortPeer(ort, NODE, "Attention", standard),
  ortPeer(ort, NODE, "MatMul, Softmax, MatMul", (c) => composed(c)),
  ortPeer(ort, NODE, "GroupQueryAttention", grouped, ({ causal, Nq }) =>
    causal || Nq === 1 ? undefined : "GroupQueryAttention is causal only",
  ),
];
