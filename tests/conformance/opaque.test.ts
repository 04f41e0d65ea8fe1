/**
 * A backend whose data JavaScript cannot reach, with an asynchronous read (support/opaque-backend.ts), under the conformance
 * table, with gradients, and in training: what a GPU backend needs is in the contract.
 */
import {
  alibi,
  attentionBackward,
  attentionWeights,
  explain,
  OptionError,
  prepare,
  scaledDotProductAttention,
  Tensor,
  tensor,
  UnsupportedError,
} from "heed";
import * as nn from "heed/nn";
import { AdamW, crossEntropy, Tape } from "heed/train";
import { describe, expect, it } from "vitest";
import { matmul } from "../../src/matmul.ts";
import { normal } from "../support/call.ts";
import type { Case } from "../support/case.ts";
import { use } from "../support/levels.ts";
import { enqueued, onDevice, read } from "../support/opaque-backend.ts";
import { checkResult } from "../support/oracle.ts";
import { CASES } from "./cases.ts";

await prepare({ device: "opaque" });

const moved = (x: unknown): unknown => (x instanceof Tensor ? onDevice(x) : x);

/** A call with query, key, value and mask tensors on the device. */
function callOnDevice(c: Case) {
  const { attnMask, ...rest } = c.options;
  const mask = Array.isArray(attnMask) ? attnMask.map(moved) : moved(attnMask);
  const options = { ...rest, ...(attnMask !== undefined && { attnMask: mask as typeof attnMask }) };
  return scaledDotProductAttention(onDevice(c.query), onDevice(c.key), onDevice(c.value), options);
}

describe("the conformance table", () => {
  for (const { name, make } of CASES)
    it(name, async () => {
      const c = make();
      const result = callOnDevice(c);
      expect([result.output.device, result.lse.device]).toEqual(["opaque", "opaque"]);
      const [output, lse] = await Promise.all([read(result.output), read(result.lse)]);
      checkResult(c, { output, lse });
    });
});

describe("tensors of a device", () => {
  const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [2, 3, 5, 4]));
  const [Q, K, V] = [q, k, v].map(onDevice);

  it("a call enqueues its work and returns at once; data is not there, read gives the numbers", async () => {
    const before = enqueued;
    const { output } = scaledDotProductAttention(Q, K, V, { isCausal: true });
    expect(enqueued).toBe(before + 1);
    expect(() => output.data).toThrow(UnsupportedError);
    expect(() => output.toFloat64()).toThrow(/on the device "opaque"; get them with await tensor.read\(\)/);
    use("reference", 1);
    expect(await output.read()).toEqual(scaledDotProductAttention(q, k, v, { isCausal: true }).output.data);
  });
  it("a float mask on the device is added to the scores", async () => {
    const mask = normal(4, [5, 5]);
    const { output } = scaledDotProductAttention(Q, K, V, { attnMask: onDevice(mask) });
    use("reference", 1);
    expect(await output.read()).toEqual(scaledDotProductAttention(q, k, v, { attnMask: mask }).output.data);
  });

  it("move with to, there and back, as views do", async () => {
    const there = await q.transpose().to("opaque");
    expect([there.device, there.shape]).toEqual(["opaque", [2, 3, 4, 5]]);
    const back = await there.transpose().to("cpu");
    expect([back.device, back.data]).toEqual(["cpu", q.data]);
    expect((await there.reshape([6, 20]).read()).length).toBe(120);
    await expect(q.to("gpu9")).rejects.toThrow(/unknown device "gpu9"; expected one of cpu, opaque/);
    expect(await q.to("cpu")).toBe(q);
  });
  it("operands on different devices are an error that names the conversion", () => {
    expect(() => scaledDotProductAttention(Q, k, V)).toThrow(OptionError);
    expect(() => scaledDotProductAttention(Q, k, V)).toThrow(
      /query is on the device "opaque", but key is on "cpu"; move one of them, e.g. await key.to\("opaque"\)/,
    );
    expect(() => scaledDotProductAttention(Q, K, V, { attnMask: normal(1, [5, 5]) })).toThrow(
      /attnMask\[0\]/,
    );
    expect(() => matmul(Q, k.transpose())).toThrow(/a is on the device "opaque", but b is on "cpu"/);
    expect(() => nn.add(Q, k)).toThrow(/the first tensor is on the device "opaque", but y is on "cpu"/);
  });
  it("what the backend does not support is an error with its reason, not a copy to the CPU", () => {
    const { lse } = scaledDotProductAttention(Q, K, V);
    expect(() => attentionWeights(Q, K, lse, { dropoutP: 0.5 })).toThrow(
      /attentionWeights: not available on the device "opaque": it has no dropout for weights; move the tensors/,
    );
  });
  it("weights, gradients, score tables and the plan", async () => {
    use("reference", 1);
    const options = { isCausal: true, scoreMod: alibi([0.5, 0.25, 0.125]) } as const;
    const [state, cpu] = [
      scaledDotProductAttention(Q, K, V, options),
      scaledDotProductAttention(q, k, v, options),
    ];
    expect(await attentionWeights(Q, K, state.lse, options).read()).toEqual(
      attentionWeights(q, k, cpu.lse, options).data,
    );
    const dOutput = normal(4, [2, 3, 5, 4]);
    const got = attentionBackward(onDevice(dOutput), Q, K, V, state, options);
    const want = attentionBackward(dOutput, q, k, v, cpu, options);
    for (const name of ["dQuery", "dKey", "dValue", "dSlopes"] as const)
      expect(await got[name]?.read(), name).toEqual(want[name]?.data);
    expect(explain(Q, K, V).backend).toBe("opaque");
  });
});

/** A block of attention and an MLP over a sequence; classes of every position. Parameters by name. */
function model(place: (t: Tensor) => Tensor) {
  const [d, hidden, classes] = [8, 16, 3];
  const shapes: Record<string, number[]> = {
    q: [d, d], k: [d, d], v: [d, d], o: [d, d], ob: [d], gain: [d], shift: [d], up: [hidden, d], upb: [hidden], down: [d, hidden], head: [classes, d],
  }; // biome-ignore format: one row
  const parameters = new Map(
    Object.entries(shapes).map(([name, shape], n) => {
      const t =
        name === "gain"
          ? tensor(new Float32Array(d).fill(1), [d])
          : normal(n + 1, shape, shape.length > 1 ? 0.3 : 0);
      return [name, place(t)] as const;
    }),
  );
  const p = (name: string) => parameters.get(name) as Tensor;
  const logits = (x: Tensor) => {
    const [q, k, v] = ["q", "k", "v"].map((name) => nn.linear(x, p(name)));
    const { output } = scaledDotProductAttention(q, k, v, { isCausal: true });
    const a = nn.add(x, nn.linear(output, p("o"), p("ob")));
    const h = nn.gelu(nn.linear(nn.layerNorm(a, p("gain"), p("shift")), p("up"), p("upb")));
    return nn.linear(nn.add(a, nn.linear(h, p("down"))), p("head"));
  };
  return { parameters, logits };
}

async function train(
  place: (t: Tensor) => Tensor,
  steps: number,
): Promise<{ losses: number[]; weights: number[] }> {
  const { parameters, logits } = model(place);
  const optimizer = new AdamW(parameters, { lr: 0.02 });
  const x = place(normal(99, [4, 12, 8]));
  const targets = tensor(
    Int32Array.from({ length: 48 }, (_, n) => (n * 7) % 3),
    [4, 12],
  );
  const losses: Tensor[] = [];
  for (let step = 0; step < steps; step++) {
    const tape = new Tape();
    const loss = tape.run(() => crossEntropy(logits(x), targets));
    optimizer.step(tape.gradients(loss, parameters.values()));
    losses.push(loss);
  }
  // The first read: until here everything was enqueued.
  const numbers = await Promise.all(losses.map(async (loss) => Number((await loss.read())[0])));
  return { losses: numbers, weights: [...(await (parameters.get("q") as Tensor).read())].map(Number) };
}

it("a small model trains on it, with the losses of the CPU to the bit", async () => {
  use("reference", 1);
  const there = await train(onDevice, 40);
  const here = await train((t) => t, 40);
  expect(there).toEqual(here);
  expect(there.losses[39]).toBeLessThan(0.6 * there.losses[0]);
});
