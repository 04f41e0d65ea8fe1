/** What one writes by hand: plain loops over Float32Arrays, a row of scores at a time. One thread. */

function attention({ B, H, Nq, Nk, D, causal, query, key, value }, output, scores) {
  const scale = 1 / Math.sqrt(D);
  for (let head = 0; head < B * H; head++)
    for (let i = 0; i < Nq; i++) {
      const row = (head * Nq + i) * D;
      const visible = causal ? i + 1 : Nk;
      let max = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < visible; j++) {
        const at = (head * Nk + j) * D;
        let dot = 0;
        for (let x = 0; x < D; x++) dot += query[row + x] * key[at + x];
        scores[j] = dot * scale;
        max = Math.max(max, scores[j]);
      }
      let sum = 0;
      for (let j = 0; j < visible; j++) sum += scores[j] = Math.exp(scores[j] - max);
      output.fill(0, row, row + D);
      for (let j = 0; j < visible; j++) {
        const at = (head * Nk + j) * D;
        const weight = scores[j] / sum;
        for (let x = 0; x < D; x++) output[row + x] += weight * value[at + x];
      }
    }
  return output;
}

const peer = {
  name: "loops by hand",
  package: "",
  kind: "portable",
  async prepare(c) {
    if (c.threads !== 1) return { refuses: "the loops have one thread" };
    const output = new Float32Array(c.query.length);
    const scores = new Float32Array(c.Nk);
    return { run: () => attention(c, output, scores), order: (data) => data };
  },
};

export const peers = [peer];
