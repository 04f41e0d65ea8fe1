import { describe, expect, it } from "vitest";
import { scaledDotProductAttention } from "../../../api/attention.ts";
import { configure } from "../../../backend/settings.ts";
import { Tensor } from "../../../core/tensor.ts";
import { type Call, optionsOf } from "./attention-options.ts";
import { checkRows } from "./check.ts";
import { compute, problemOf } from "./chunked-run.ts";
import { seededTensor } from "./seeded.ts";

const plain: Call = { dropout: 0, seed: 0, layout: "bhsd" };
const quiet = new AbortController().signal;
const [B, H, N, M, d] = [2, 4, 37, 53, 16];

const bits = (t: Tensor) =>
  Buffer.from(new Uint8Array(t.data.buffer, t.data.byteOffset, t.data.byteLength)).toString("hex");

const boolMask = new Tensor(
  Uint8Array.from({ length: B * M }, (_, i) => (i % 7 === 3 ? 0 : 1)),
  [B, 1, 1, M],
  "bool",
);
const bias = seededTensor([H, N, M], 9);
const ids = (length: number) => Int32Array.from({ length }, (_, i) => Math.floor(i / 11));
const documentsPerBatch = new Tensor(
  Int32Array.from([...ids(M), ...ids(M).map((x) => x >> 1)]),
  [B, M],
  "int32",
);

const calls: Record<string, Call> = {
  "no options": plain,
  "causal, lower right": { ...plain, causal: "lower-right" },
  "an offset for each batch entry": { ...plain, causal: true, queryOffset: [3, 16] },
  "offsets of keys and queries for each batch entry": {
    ...plain,
    causal: true,
    queryOffset: [9, 16],
    keyOffset: [4, 12],
    alibi: "auto",
  },
  "window, gaps and global positions": { ...plain, window: [8, 2], dilated: 2, global: [0, 5] },
  "a prefix for each batch entry": { ...plain, prefix: [4, 20] },
  "documents for each batch entry": { ...plain, documents: documentsPerBatch },
  "lengths for each batch entry": { ...plain, keyLengths: [50, 9], queryLengths: [37, 0] },
  "ALiBi, soft cap and scale": { ...plain, alibi: "auto", softcap: 3, scale: 0.3 },
  "slopes for each batch entry": {
    ...plain,
    alibi: new Tensor((seededTensor([B, H], 4).data as Float32Array).map(Math.abs), [B, H], "float32"),
  },
  sinks: { ...plain, sinks: [0.5, -1, 2, 0] },
  "a bool mask": { ...plain, mask: boolMask },
  "a float mask for each head": { ...plain, mask: bias, causal: "upper-left" },
};

describe("compute", () => {
  const query = seededTensor([B, H, N, d], 1);
  const key = seededTensor([B, H / 2, M, d], 2);
  const value = seededTensor([B, H / 2, M, 12], 3);

  for (const [name, call] of Object.entries(calls))
    it(`gives the bits of one call, a head at a time: ${name}`, async () => {
      const problem = problemOf("test", query, key, value, call);
      const single = scaledDotProductAttention(query, key, value, optionsOf(call, problem.shape));
      const shares: number[] = [];
      const done = await compute(
        { query, key, value, call, problem },
        quiet,
        (share) => shares.push(share),
        0,
      );
      expect(shares.length === 0 || shares.length === B * H).toBe(true);
      expect(bits(done.output)).toBe(bits(single.output));
      expect(bits(done.lse)).toBe(bits(single.lse));
      expect(checkRows(problem, done.output, 1000).bounds).toBeLessThanOrEqual(1);
    });

  it("gives the bits of one call, a batch entry at a time, and in layout bshd", async () => {
    const call: Call = { ...plain, layout: "bshd", causal: "lower-right", keyLengths: [50, 9] };
    const swap = (t: Tensor) => t.transpose(1, 2).contiguous();
    const [q, k, v] = [query, key, value].map(swap);
    const problem = problemOf("test", q, k, v, call);
    const single = scaledDotProductAttention(q, k, v, optionsOf(call, problem.shape));
    const shares: number[] = [];
    const least = 2 * B * H * N * M * (d + 12) * 0.75;
    for (const bound of [0, least]) {
      const done = await compute(
        { query: q, key: k, value: v, call, problem },
        quiet,
        (s) => shares.push(s),
        bound,
      );
      expect(bits(done.output)).toBe(bits(single.output));
      expect(bits(done.lse)).toBe(bits(single.lse));
    }
  });

  it("cuts a problem on the reference level into heads, or batch entries where those are small enough", async () => {
    const before = configure();
    configure({ backend: "reference" });
    try {
      const problem = problemOf("test", query, key, value, plain);
      const flops = 2 * B * H * N * M * (d + 12);
      const job = { query, key, value, call: plain, problem };
      expect((await compute(job, quiet, undefined, 0)).pieces).toBe(B * H);
      expect((await compute(job, quiet, undefined, flops * 0.75)).pieces).toBe(B);
      expect((await compute(job, quiet, undefined, flops + 1)).pieces).toBe(1);
      const call = { ...plain, dropout: 0.5 };
      const dropping = { ...job, call, problem: problemOf("test", query, key, value, call) };
      expect((await compute(dropping, quiet, undefined, 0)).pieces).toBe(1);
    } finally {
      configure(before);
    }
  });

  it("stops between pieces where the signal says so", async () => {
    const stop = new AbortController();
    const problem = problemOf("test", query, key, value, plain);
    stop.abort();
    await expect(compute({ query, key, value, call: plain, problem }, stop.signal)).rejects.toThrow(
      "interrupted",
    );
  });
});

describe("checkRows", () => {
  const three = [1, 2, 3].map((seed) => seededTensor([1, 2, 40, 16], seed)) as [Tensor, Tensor, Tensor];

  it("finds one wrong element, wherever it is", () => {
    const problem = problemOf("test", ...three, plain);
    const { output } = scaledDotProductAttention(...three);
    expect(checkRows(problem, output, 80).bounds).toBeLessThanOrEqual(1);
    for (const at of [0, 17, output.size - 1]) {
      const data = (output.data as Float32Array).slice();
      data[at] += 1e-3;
      const check = checkRows(problem, new Tensor(data, output.shape, "float32"), 80);
      expect(check.bounds).toBeGreaterThan(1);
      expect((check.at.h * 40 + check.at.row) * 16 + check.at.column).toBe(at);
    }
  });

  it("finds a NaN that does not belong", () => {
    const problem = problemOf("test", ...three, plain);
    const { output } = scaledDotProductAttention(...three);
    (output.data as Float32Array)[5] = Number.NaN;
    expect(checkRows(problem, output, 80).bounds).toBe(Number.POSITIVE_INFINITY);
  });

  it("fully masked rows must be zero", () => {
    const call: Call = { ...plain, keyLengths: 0 };
    const problem = problemOf("test", ...three, call);
    const { output } = scaledDotProductAttention(...three, optionsOf(call, problem.shape));
    expect(checkRows(problem, output, 80)).toMatchObject({ worst: 0, bounds: 0 });
    (output.data as Float32Array)[3] = 1e-30;
    expect(checkRows(problem, output, 80).bounds).toBe(Number.POSITIVE_INFINITY);
  });
});
