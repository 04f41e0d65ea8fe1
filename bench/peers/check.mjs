/**
 * `npm run check`: every peer on small full, causal and decoding cases against a float64 loop, with one thread and with
 * two, each number of threads in a process of its own because some packages fix it when they start.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { missing, peers } from "./index.mjs";

const SHAPES = [
  { name: "full", B: 1, H: 3, Nq: 40, Nk: 56, D: 32, causal: false },
  { name: "causal", B: 1, H: 2, Nq: 48, Nk: 48, D: 64, causal: true },
  { name: "decode", B: 1, H: 4, Nq: 1, Nk: 200, D: 64, causal: false },
];

/** Seeded numbers in [−2, 2): a linear congruence (Numerical Recipes). @param {number} length @param {number} seed */
function numbers(length, seed) {
  const out = new Float32Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[i] = state / 2 ** 30 - 2;
  }
  return out;
}

/** The formula in float64. @param {import("./index.mjs").Case} c */
function exact({ B, H, Nq, Nk, D, causal, query, key, value }) {
  const output = new Float64Array(query.length);
  for (let head = 0; head < B * H; head++)
    for (let i = 0; i < Nq; i++) {
      const row = (head * Nq + i) * D;
      const seen = causal ? i + 1 : Nk;
      const scores = Array.from({ length: seen }, (_, j) => {
        let dot = 0;
        for (let x = 0; x < D; x++) dot += query[row + x] * key[(head * Nk + j) * D + x];
        return dot / Math.sqrt(D);
      });
      const max = Math.max(...scores);
      const sum = scores.reduce((total, s) => total + Math.exp(s - max), 0);
      for (let j = 0; j < seen; j++)
        for (let x = 0; x < D; x++)
          output[row + x] += (Math.exp(scores[j] - max) / sum) * value[(head * Nk + j) * D + x];
    }
  return output;
}

async function check(/** @type {number} */ threads) {
  let failed = 0;
  for (const { name, ...shape } of SHAPES) {
    const { B, H, Nq, Nk, D } = shape;
    const query = numbers(B * H * Nq * D, 1);
    const key = numbers(B * H * Nk * D, 2);
    const value = numbers(B * H * Nk * D, 3);
    const c = { ...shape, threads, query, key, value };
    const want = exact(c);
    for (const peer of peers) {
      let line;
      try {
        const ready = await peer.prepare(c);
        if ("refuses" in ready) line = `refused: ${ready.refuses}`;
        else {
          await ready.run();
          const got = ready.order(await ready.run());
          let worst = got.length === want.length ? 0 : Number.POSITIVE_INFINITY;
          for (let i = 0; i < want.length; i++) {
            const error = Math.abs(got[i] - want[i]);
            if (!(error <= worst)) worst = error;
          }
          if (!(worst < 2e-5)) failed++;
          line = `${worst < 2e-5 ? "right" : "WRONG"}, largest error ${worst.toExponential(1)}`;
          await ready.dispose?.();
        }
      } catch (error) {
        failed++;
        line = `FAILED: ${error}`;
      }
      console.log(
        `${threads} thread${threads > 1 ? "s" : ""}  ${name.padEnd(7)} ${peer.name.padEnd(60)} ${line}`,
      );
    }
  }
  for (const [file, why] of Object.entries(missing)) console.log(`${file}: not there (${why})`);
  return failed;
}

const asked = Number(process.argv[2]);
if (asked > 0) process.exit((await check(asked)) > 0 ? 1 : 0);
const self = fileURLToPath(import.meta.url);
const results = ["1", "2"].map((n) => spawnSync(process.execPath, [self, n], { stdio: "inherit" }).status);
process.exit(results.every((status) => status === 0) ? 0 : 1);
