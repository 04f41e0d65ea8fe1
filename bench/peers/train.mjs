/**
 * Training of GPT-2's architecture with other packages, for `bench/train.ts`: a step is the loss of a batch, all
 * gradients, and one update of Adam. Parameters come in under Hugging Face's names, attention is put together from each
 * package's operators as its users would, and the first loss is checked against heed's.
 *
 * tfjs: WebAssembly backend, one thread. Products of two matrices reach its fast path, so linear layers are flattened.
 * jax-js: WebAssembly backend, one step (loss, gradients, update) in one `jit`; nn.dotProductAttention.
 */
import { createRequire } from "node:module";
import { lowerTriangle } from "./layout.mjs";

const require = createRequire(import.meta.url);

/** @type {import("./train.mjs").TrainingPeer} */
const tfjs = {
  name: "tfjs wasm",
  package: "@tensorflow/tfjs",
  async prepare(sizes, initial) {
    const tf = require("@tensorflow/tfjs");
    require("@tensorflow/tfjs-backend-wasm");
    if (!(await tf.setBackend("wasm"))) return { refuses: "the wasm backend of tfjs did not start" };
    await tf.ready();
    const { layers, heads, width: C, vocab, context: T, batch: B, lr } = sizes;
    const D = C / heads;
    const w = new Map();
    for (const [name, { data, shape }] of initial) w.set(name, tf.variable(tf.tensor(data, [...shape])));
    const at = (name) => w.get(`transformer.${name}`);
    const mask = tf.tensor2d(lowerTriangle(T, T), [T, T]);
    const optimizer = tf.train.adam(lr);
    const norm = (x, name) => {
      const mean = tf.mean(x, -1, true);
      const centered = tf.sub(x, mean);
      const variance = tf.mean(tf.mul(centered, centered), -1, true);
      const scaled = tf.div(centered, tf.sqrt(tf.add(variance, 1e-5)));
      return tf.add(tf.mul(scaled, at(`${name}.weight`)), at(`${name}.bias`));
    };
    const linear = (x, name) => tf.add(tf.matMul(x, at(`${name}.weight`)), at(`${name}.bias`));
    const gelu = (x) => {
      const cube = tf.mul(tf.mul(x, x), x);
      const inner = tf.mul(tf.add(x, tf.mul(cube, 0.044715)), Math.sqrt(2 / Math.PI));
      return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
    };
    const split = (x) => tf.transpose(tf.reshape(x, [B, T, heads, D]), [0, 2, 1, 3]);
    const loss = (ids, targets) => {
      let x = tf.matMul(tf.oneHot(ids, vocab).toFloat(), at("wte.weight"));
      x = tf.reshape(tf.add(tf.reshape(x, [B, T, C]), at("wpe.weight").slice([0, 0], [T, C])), [B * T, C]);
      for (let n = 0; n < layers; n++) {
        const qkv = linear(norm(x, `h.${n}.ln_1`), `h.${n}.attn.c_attn`);
        const [q, k, v] = tf.split(qkv, 3, 1).map(split);
        const scores = tf.add(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(D)), mask);
        const o = tf.reshape(tf.transpose(tf.matMul(tf.softmax(scores, -1), v), [0, 2, 1, 3]), [B * T, C]);
        x = tf.add(x, linear(o, `h.${n}.attn.c_proj`));
        const inner = gelu(linear(norm(x, `h.${n}.ln_2`), `h.${n}.mlp.c_fc`));
        x = tf.add(x, linear(inner, `h.${n}.mlp.c_proj`));
      }
      const logits = tf.matMul(norm(x, "ln_f"), at("wte.weight"), false, true);
      const chosen = tf.sum(tf.mul(tf.oneHot(targets, vocab), logits), -1);
      return tf.mean(tf.sub(tf.logSumExp(logits, -1), chosen));
    };
    return {
      async step(tokens) {
        const [ids, targets] = shifted(tokens, B, T).map((list) => tf.tensor1d(list, "int32"));
        const value = /** @type {any} */ (
          optimizer.minimize(() => /** @type {any} */ (loss(ids, targets)), true)
        );
        const [number] = value.dataSync();
        tf.dispose([ids, targets, value]);
        return number;
      },
      dispose: () => tf.disposeVariables(),
    };
  },
};

/** @type {import("./train.mjs").TrainingPeer} */
const jax = {
  name: "jax-js",
  package: "@jax-js/jax",
  async prepare(sizes, initial) {
    Object.defineProperty(globalThis, "navigator", { value: { hardwareConcurrency: 1 }, configurable: true });
    Object.assign(globalThis, { Worker: undefined });
    const { defaultDevice, init, jit, nn, numpy: np, tree, valueAndGrad } = await import("@jax-js/jax");
    await init("wasm");
    defaultDevice("wasm");
    const { layers, heads, width: C, vocab, context: T, batch: B, lr } = sizes;
    const D = C / heads;
    let w = {};
    for (const [name, { data, shape }] of initial)
      w[name.replace("transformer.", "")] = np.array(data).reshape([...shape]);
    const zeros = () =>
      Object.fromEntries(Object.entries(w).map(([name, x]) => [name, np.zeros([...x.shape])]));
    let [m, v] = [zeros(), zeros()];
    let steps = 0;
    // Arguments are used up by the function they are given to; `.ref` lends them.
    const norm = (x, p, name) => {
      const centered = x.ref.sub(np.mean(x, -1, { keepdims: true }));
      const variance = np.mean(centered.ref.mul(centered.ref), -1, { keepdims: true });
      const scaled = centered.div(np.sqrt(variance.add(1e-5)));
      return scaled.mul(p[`${name}.weight`].ref).add(p[`${name}.bias`].ref);
    };
    const linear = (x, p, name) => np.matmul(x, p[`${name}.weight`].ref).add(p[`${name}.bias`].ref);
    const loss = (p, ids, targets) => {
      let x = np.matmul(nn.oneHot(ids, vocab), p["wte.weight"].ref);
      x = x
        .reshape([B, T, C])
        .add(p["wpe.weight"].ref)
        .reshape([B * T, C]);
      for (let n = 0; n < layers; n++) {
        const qkv = linear(norm(x.ref, p, `h.${n}.ln_1`), p, `h.${n}.attn.c_attn`);
        const [q, k, v] = np.split(qkv, 3, 1).map((part) => part.reshape([B, T, heads, D]));
        const o = nn.dotProductAttention(q, k, v, { isCausal: true }).reshape([B * T, C]);
        x = x.add(linear(o, p, `h.${n}.attn.c_proj`));
        const inner = nn.gelu(linear(norm(x.ref, p, `h.${n}.ln_2`), p, `h.${n}.mlp.c_fc`), {
          approximate: true,
        });
        x = x.add(linear(inner, p, `h.${n}.mlp.c_proj`));
      }
      const logits = np.matmul(norm(x, p, "ln_f"), np.transpose(p["wte.weight"].ref));
      const chosen = np.sum(nn.oneHot(targets, vocab).mul(logits.ref), -1);
      const value = np.mean(nn.logsumexp(logits, -1).sub(chosen));
      tree.dispose(p);
      return value;
    };
    const update = jit((p, m0, v0, ids, targets, corrections) => {
      const [value, grads] = valueAndGrad(loss)(tree.ref(p), ids, targets);
      const [c1, c2] = np.split(corrections, 2);
      const m1 = tree.map((a, g) => a.mul(0.9).add(g.ref.mul(0.1)), m0, tree.ref(grads));
      const v1 = tree.map((a, g) => a.mul(0.999).add(g.ref.mul(g).mul(0.001)), v0, grads);
      const next = tree.map(
        (a, x, y) =>
          a.sub(
            x.ref
              .div(c1.ref)
              .mul(lr)
              .div(np.sqrt(y.ref.div(c2.ref)).add(1e-8)),
          ),
        p,
        tree.ref(m1),
        tree.ref(v1),
      );
      return [value, next, m1, v1];
    });
    return {
      async step(tokens) {
        steps++;
        const [ids, targets] = shifted(tokens, B, T).map((list) => np.array(list));
        const corrections = np.array(Float32Array.of(1 - 0.9 ** steps, 1 - 0.999 ** steps));
        let value;
        [value, w, m, v] = /** @type {any} */ (update)(w, m, v, ids, targets, corrections);
        return /** @type {Float32Array} */ (await value.data())[0];
      },
      dispose: () => tree.dispose([w, m, v]),
    };
  },
};

/** Inputs and targets of a batch of next-token prediction. */
function shifted(tokens, B, T) {
  const inputs = new Int32Array(B * T);
  const targets = new Int32Array(B * T);
  for (let b = 0; b < B; b++) {
    inputs.set(tokens.subarray(b * (T + 1), b * (T + 1) + T), b * T);
    targets.set(tokens.subarray(b * (T + 1) + 1, (b + 1) * (T + 1)), b * T);
  }
  return [inputs, targets];
}

export const trainingPeers = [tfjs, jax];
