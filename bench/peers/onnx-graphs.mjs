/**
 * Attention as ONNX graphs, one for each way ONNX Runtime offers it: the standard operator (opset 23), the two fused
 * ones of its own, and the textbook's MatMul, Softmax, MatMul. All compute the same numbers.
 */
import { lowerTriangle, swapAxes } from "./layout.mjs";
import { constant, model, node, port } from "./onnx.mjs";

/**
 * @typedef {object} Graph
 * @property {Uint8Array} bytes the model
 * @property {Record<string, { type: "float32" | "int32", data: Float32Array | Int32Array, dims: number[] }>} feeds
 * @property {(data: Float32Array) => Float32Array} order the output as [B, H, Nq, D]
 */

/** Collects what a graph reads. */
class Inputs {
  feeds = {};
  ports = [];
  constants = [];

  feed(name, data, dims) {
    const type = data instanceof Int32Array ? "int32" : "float32";
    this.feeds[name] = { type, data, dims };
    this.ports.push(port(name, type, dims));
  }

  fix(name, data, dims) {
    this.constants.push(constant(name, "float32", dims, data));
  }
}

/** The standard operator, [B, H, N, D]. */
export function standard(c) {
  const { B, H, Nq, Nk, D } = c;
  const inputs = new Inputs();
  inputs.feed("q", c.query, [B, H, Nq, D]);
  inputs.feed("k", c.key, [B, H, Nk, D]);
  inputs.feed("v", c.value, [B, H, Nk, D]);
  const nodes = [node("Attention", ["q", "k", "v"], ["y"], { ints: c.causal ? { is_causal: 1 } : {} })];
  return finish(inputs, nodes, [port("y", "float32", [B, H, Nq, D])], 23, (data) => data);
}

/**
 * softmax(Q·Kᵀ·scale + mask)·V in five operators, [B, H, N, D]. With `fixed`, K and V are constants of the graph: what
 * is left where a runtime's copy of its inputs is taken out of the time.
 */
export function composed(c, fixed = false) {
  const { B, H, Nq, Nk, D } = c;
  const inputs = new Inputs();
  inputs.feed("q", c.query, [B, H, Nq, D]);
  const add = fixed ? inputs.fix.bind(inputs) : inputs.feed.bind(inputs);
  add("k", c.key, [B, H, Nk, D]);
  add("v", c.value, [B, H, Nk, D]);
  inputs.fix("scale", Float32Array.of(1 / Math.sqrt(D)), [1]);
  if (c.causal) inputs.fix("mask", lowerTriangle(Nq, Nk), [1, 1, Nq, Nk]);
  const nodes = [
    node("Transpose", ["k"], ["kt"], { ints: { perm: [0, 1, 3, 2] } }),
    node("MatMul", ["q", "kt"], ["dots"]),
    node("Mul", ["dots", "scale"], ["scores"]),
    ...(c.causal ? [node("Add", ["scores", "mask"], ["masked"])] : []),
    node("Softmax", [c.causal ? "masked" : "scores"], ["weights"]),
    node("MatMul", ["weights", "v"], ["y"]),
  ];
  return finish(inputs, nodes, [port("y", "float32", [B, H, Nq, D])], 21, (data) => data);
}

/** ONNX Runtime's MultiHeadAttention, [B, N, H·D]. */
export function multiHead(c) {
  const { B, H, Nq, Nk, D } = c;
  const inputs = new Inputs();
  inputs.feed("q", swapAxes(c.query, B, H, Nq, D), [B, Nq, H * D]);
  inputs.feed("k", swapAxes(c.key, B, H, Nk, D), [B, Nk, H * D]);
  inputs.feed("v", swapAxes(c.value, B, H, Nk, D), [B, Nk, H * D]);
  const ints = { num_heads: H, ...(c.causal ? { unidirectional: 1 } : {}) };
  const nodes = [node("MultiHeadAttention", ["q", "k", "v"], ["y"], { ints, domain: "com.microsoft" })];
  const outputs = [port("y", "float32", [B, Nq, H * D])];
  return finish(inputs, nodes, outputs, 21, (data) => swapAxes(data, B, Nq, H, D));
}

/**
 * ONNX Runtime's GroupQueryAttention, which is causal only, [B, N, H·D]. One query is a decoding step: Nk − 1 keys
 * come as the cache and one with the query.
 */
export function grouped(c) {
  const { B, H, Nq, Nk, D } = c;
  const past = Nq === 1 ? Nk - 1 : 0;
  /** Keys `from` to `to` of every head. @param {Float32Array} x @param {number} from @param {number} to */
  const cut = (x, from, to) => {
    const out = new Float32Array(B * H * (to - from) * D);
    for (let h = 0; h < B * H; h++)
      out.set(x.subarray((h * Nk + from) * D, (h * Nk + to) * D), h * (to - from) * D);
    return out;
  };
  const fresh = Nk - past;
  const inputs = new Inputs();
  inputs.feed("q", swapAxes(c.query, B, H, Nq, D), [B, Nq, H * D]);
  inputs.feed("k", swapAxes(cut(c.key, past, Nk), B, H, fresh, D), [B, fresh, H * D]);
  inputs.feed("v", swapAxes(cut(c.value, past, Nk), B, H, fresh, D), [B, fresh, H * D]);
  if (past > 0) {
    inputs.feed("pastKey", cut(c.key, 0, past), [B, H, past, D]);
    inputs.feed("pastValue", cut(c.value, 0, past), [B, H, past, D]);
  }
  inputs.feed("lengths", new Int32Array(B).fill(Nk - 1), [B]);
  inputs.feed("total", Int32Array.of(Nk), [1]);
  const caches = past > 0 ? ["pastKey", "pastValue"] : ["", ""];
  const nodes = [
    node("GroupQueryAttention", ["q", "k", "v", ...caches, "lengths", "total"], ["y", "keys", "values"], {
      ints: { num_heads: H, kv_num_heads: H },
      domain: "com.microsoft",
    }),
  ];
  const outputs = [
    port("y", "float32", [B, Nq, H * D]),
    port("keys", "float32", [B, H, "total", D]),
    port("values", "float32", [B, H, "total", D]),
  ];
  return finish(inputs, nodes, outputs, 21, (data) => swapAxes(data, B, Nq, H, D));
}

function finish(inputs, nodes, outputs, opset, order) {
  const { feeds, ports, constants } = inputs;
  return { bytes: model({ nodes, constants, inputs: ports, outputs, opset }), feeds, order };
}

/**
 * A way in which a package with the API of ONNX Runtime offers attention. `graph` makes the model of a case; `start` sets threads, and
 * gives a reason where the case cannot run.
 */
export const ortPeer = (ort, { package: name, kind, session }, operator, graph, start = () => undefined) => ({
  name: `${name} ${operator}`,
  package: name,
  kind,
  async prepare(c) {
    const refuses = start(c);
    if (refuses) return { refuses };
    const { bytes, feeds, order } = graph(c);
    const running = await ort.InferenceSession.create(bytes, {
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      ...session(c),
    });
    const tensors = Object.fromEntries(
      Object.entries(feeds).map(([input, { type, data, dims }]) => [input, new ort.Tensor(type, data, dims)]),
    );
    return {
      run: async () => (await running.run(tensors, ["y"])).y.data,
      order,
      dispose: () => running.release(),
    };
  },
});
