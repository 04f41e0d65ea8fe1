/**
 * TensorFlow.js on its WebAssembly backend, attention put together from its operators. Batched products take a plain
 * loop there and only products of two matrices reach its fast path, hence the second peer, head by head.
 * One thread: under Node the package switches its threaded build off.
 */
import { createRequire } from "node:module";
import { lowerTriangle } from "./layout.mjs";

const require = createRequire(import.meta.url);

function peer(name, byHead) {
  return {
    name,
    package: "@tensorflow/tfjs",
    kind: "portable",
    async prepare(c) {
      if (c.threads !== 1) return { refuses: "tfjs has one thread under Node" };
      const tf = require("@tensorflow/tfjs");
      require("@tensorflow/tfjs-backend-wasm");
      if (!(await tf.setBackend("wasm"))) return { refuses: "the wasm backend of tfjs did not start" };
      await tf.ready();
      const { B, H, Nq, Nk, D } = c;
      const heads = B * H;
      const q = tf.tensor3d(c.query, [heads, Nq, D]);
      const k = tf.tensor3d(c.key, [heads, Nk, D]);
      const v = tf.tensor3d(c.value, [heads, Nk, D]);
      const mask = c.causal ? tf.tensor2d(lowerTriangle(Nq, Nk), [Nq, Nk]) : null;
      const scale = tf.scalar(1 / Math.sqrt(D));
      const weights = (dots) => {
        const scores = tf.mul(dots, scale);
        return tf.softmax(mask === null ? scores : tf.add(scores, mask), -1);
      };
      const batched = () => tf.matMul(weights(tf.matMul(q, k, false, true)), v);
      const apart = () => {
        const [qs, ks, vs] = [q, k, v].map((t) => tf.unstack(t));
        return tf.stack(qs.map((one, h) => tf.matMul(weights(tf.matMul(one, tf.transpose(ks[h]))), vs[h])));
      };
      return {
        run: () => {
          const result = tf.tidy(byHead ? apart : batched);
          const data = result.dataSync();
          result.dispose();
          return data;
        },
        order: (data) => data,
        dispose: () => tf.dispose([q, k, v, scale, ...(mask === null ? [] : [mask])]),
      };
    },
  };
}

export const peers = [peer("tfjs wasm", false), peer("tfjs wasm, head by head", true)];
