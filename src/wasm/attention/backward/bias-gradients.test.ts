/** Gradients of what is added to the scores: masks of every shape, slopes, tables by any index; the reference's, and the same bits on any threads and at either fused level. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { has, restore, use } from "../../../../tests/support/backends/levels.ts";
import { expectBits } from "../../../../tests/support/cases/call.ts";
import { random } from "../../../../tests/support/cases/random.ts";
import { scaledDotProductAttention } from "../../../api/attention.ts";
import { type AttentionGradients, attentionBackward, type BackwardOptions } from "../../../api/backward.ts";
import { prepare } from "../../../api/dispatch/engine.ts";
import { type Problem, resolve } from "../../../backend/problem.ts";
import { configure } from "../../../backend/settings.ts";
import { Tensor } from "../../../core/tensor.ts";
import { alibi, causal, relativeBias, scoreMod, softcap, table } from "../../../masks/index.ts";
import { getEngine } from "../../engine/engine.ts";
import { wasmBackward } from "./backward.ts";

afterAll(restore);
beforeAll(async () => {
  configure({ threads: 3 });
  await prepare();
});

const [B, Hq, Hkv, Nq, Nk, d] = [2, 4, 2, 70, 90, 12];
const r = random(5);
const normal = (...shape: number[]): Tensor =>
  new Tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => r.normal()),
    shape,
    "float32",
  );
const [q, k, v, dO] = [
  normal(B, Hq, Nq, d),
  normal(B, Hkv, Nk, d),
  normal(B, Hkv, Nk, d),
  normal(B, Hq, Nq, d),
];

/** A float mask with some −∞. */
function bias(...shape: number[]): Tensor {
  const t = normal(...shape);
  const data = t.data as Float32Array;
  for (let n = 0; n < data.length; n += 11) if (data.length > 20) data[n] = -Infinity;
  return t;
}
const flags = new Tensor(
  Uint8Array.from({ length: Nq * Nk }, (_, n) => (n % 5 ? 1 : 0)),
  [Nq, Nk],
  "bool",
);
const ahead = table(normal(2 * Nk + Nq));
const square = table(normal(Nq, Nk));
const factors = table(new Float32Array(Hq).fill(0.7));

const CASES: Record<string, BackwardOptions> = {
  "a mask of every cell": { attnMask: bias(B, Hq, Nq, Nk) },
  "a mask that heads share": { attnMask: bias(B, 1, Nq, Nk) },
  "a mask that all share, and a bool mask": { attnMask: [bias(Nq, Nk), flags] },
  "a mask by key": { attnMask: bias(Hq, 1, Nk) },
  "a mask by row": { attnMask: bias(B, 1, Nq, 1) },
  "a mask by head": { attnMask: bias(Hq, 1, 1) },
  "masks of three kinds, causal": { attnMask: [bias(Nq, Nk), bias(Nk), bias(Nq, 1), causal()] },
  "slopes of ALiBi": { scoreMod: alibi(new Float32Array([0.5, 0.25, 0.1, 0.05])) },
  "slopes by batch entry, causal": { scoreMod: alibi(normal(B, Hq)), attnMask: causal() },
  "T5's table": { scoreMod: relativeBias(normal(16, Hq), { maxDistance: 40 }) },
  "a table by distance": { scoreMod: scoreMod(({ score, q, k }) => score.add(ahead.at(k.sub(q).add(Nq)))) },
  "a table of rows and keys, with indices beyond it": {
    scoreMod: scoreMod(({ score, i, k }) => score.add(square.at(i.mul(2), k.sub(3)))),
  },
  "a factor of each query, after others": { queryOffset: 9, scoreMod: scoreMod(({ score, q }) => score.mul(ahead.at(q))) },
  "a factor of each head, whose slope is the score": {
    scoreMod: scoreMod(({ score, h }) => score.mul(factors.at(h))),
  },
  "three changes, a mask, sinks and dropout": {
    scoreMod: [alibi(normal(Hq)), softcap(4), relativeBias(normal(8, Hq), { maxDistance: 20 })],
    attnMask: [bias(Hq, 1, Nk), causal()],
    sinks: [0, 1, -1, 2],
    dropoutP: 0.2,
    seed: 3,
  },
}; // biome-ignore format: a row a case

function gradients(options: BackwardOptions): AttentionGradients {
  return attentionBackward(dO, q, k, v, scaledDotProductAttention(q, k, v, options), options);
}

/** All gradients of a call, by name. */
function named(g: AttentionGradients): [string, Tensor][] {
  return Object.entries(g).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((t, n): [string, Tensor][] =>
      t ? [[`${name} ${n}`, t]] : [],
    ),
  );
}

/** Fails unless two tensors differ by at most 10⁻⁵ times the larger of 1 and the largest number. */
function expectClose(got: Tensor, want: Tensor, name: string): void {
  const [a, b] = [got.toFloat64(), want.toFloat64()];
  const tolerance = 1e-5 * b.reduce((largest, x) => Math.max(largest, Math.abs(x)), 1);
  a.forEach((x, n) => {
    if (!(Math.abs(x - b[n]) <= tolerance))
      expect.fail(`${name}, number ${n}: ${x}, expected ${b[n]} ± ${tolerance}`);
  });
}

describe.each(Object.entries(CASES))("%s", (_, options) => {
  use("reference", 1);
  const want = named(gradients(options));
  restore();

  it.each((["wide", "relaxed", "strict"] as const).filter(has))(
    "gradients are the reference's on %s",
    (level) => {
      use(level, 1);
      const got = named(gradients(options));
      expect(got.map(([name, t]) => [name, t.shape])).toEqual(want.map(([name, t]) => [name, t.shape]));
      got.forEach(([name, t], n) => void expectClose(t, want[n][1], name));
    },
  );

  it("in small pieces too", () => {
    use("strict", 1);
    configure({ bytesPerThread: 2 ** 20 });
    named(gradients(options)).forEach(([name, t], n) => void expectClose(t, want[n][1], name));
    restore();
  });

  it.runIf(has("wide"))("the same bits on 1, 2 and 3 threads, wide and relaxed", async () => {
    const runs: [string, Tensor][][] = [];
    for (const [level, threads] of [["relaxed", 1], ["relaxed", 2], ["wide", 3]] as const) {
      use(level, threads);
      await prepare();
      runs.push(named(gradients(options)));
    } // biome-ignore format: one list
    for (const run of runs.slice(1)) run.forEach(([name, t], n) => void expectBits(t, runs[0][n][1], name));
  });
});

it.runIf(getEngine())("a table whose copies do not fit is rejected with a reason", () => {
  const unsupported = (problem: Problem) => wasmBackward.supports({ kind: "backward", problem });
  const large = table(normal(100), { name: "large" });
  const problem = (index: "row" | "cell") => {
    const change = scoreMod(({ score, q, k }) => score.add(large.at(index === "row" ? q : q.add(k))));
    return resolve("test", q, k, v, { scoreMod: change });
  };
  const [byRow, byCell] = [problem("row"), problem("cell")];
  expect(unsupported(byCell)).toBeUndefined();
  Object.assign(large.table, { data: { length: 2e7 } });
  expect(unsupported(byRow)).toBeUndefined();
  expect(unsupported(byCell)).toMatch(
    /^the gradient of tables that are read cell by cell needs 160000000 bytes/,
  );
});
