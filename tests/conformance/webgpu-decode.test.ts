/** Few queries over many keys on a GPU, or on a software adapter of one: the keys are split, and the parts merged. */
import {
  type AttentionOptions,
  alibi,
  cast,
  causal,
  explain,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import { permute } from "heed/nn";
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { normal } from "../support/cases/call.ts";

const { gpu, reason } = await gpuAtHand();
const started = gpu && (await webgpu({ gpu }));
afterAll(() => started?.destroy());

/** A call: queries, keys, value size, and options. */
type Call = readonly [Nq: number, Nk: number, dv: number, options: AttentionOptions];

/** The first ones also where HEED_GPU is not "all": a software driver takes seconds to compile a kernel. */
const CALLS: Readonly<Record<string, Call>> = {
  "one query": [1, 512, 8, {}],
  "one key more than the splits": [1, 769, 8, {}],
  "the last split short, three queries, causal": [3, 600, 8, { isCausal: "lower-right" }],
  "a window that leaves splits empty": [2, 1100, 8, { attnMask: [causal(), slidingWindow(40, 0)], queryOffset: 1098 }],
  "sinks": [1, 530, 8, { sinks: [0.5, -Infinity, 3, -2] }],
  "rows without a key": [2, 520, 8, { attnMask: slidingWindow(3, 0), queryOffset: 700 }],
  "score mods": [1, 520, 8, { scoreMod: [alibi([0.5, 0.1, 0.01, 0]), softcap(2)], isCausal: "lower-right" }],
  "a float mask": [2, 515, 8, { attnMask: normal(4, [2, 515]) }],
  "dropout": [2, 515, 8, { dropoutP: 0.3, seed: 5 }],
  "a value of 130 columns": [16, 515, 130, {}],
}; // biome-ignore format: a row a call

describe.skipIf(!gpu)(`decode on webgpu${reason && `: ${reason}`}`, () => {
  const calls = Object.entries(CALLS).slice(0, process.env.HEED_GPU === "all" ? undefined : 6);
  const inputs = (Nq: number, Nk: number, dv: number) =>
    [normal(1, [2, 4, Nq, 8]), normal(2, [2, 2, Nk, 8]), normal(3, [2, 2, Nk, dv])] as const;

  it.each(calls)(
    "%s: output and lse of the CPU, in two kernels, with the same bits again",
    async (_, [Nq, Nk, dv, options]) => {
      const wide = inputs(Nq, Nk, dv).map((t) => new Tensor(t.toFloat64(), t.shape, "float64"));
      const { attnMask } = options;
      const isTensor = attnMask instanceof Tensor;
      const want = scaledDotProductAttention(wide[0], wide[1], wide[2], {
        ...options,
        ...(isTensor && { attnMask: new Tensor(attnMask.toFloat64(), attnMask.shape, "float64") }),
      });
      const [q, k, v] = await Promise.all(inputs(Nq, Nk, dv).map((t) => t.to("webgpu")));
      const placed = { ...options, ...(isTensor && { attnMask: await attnMask.to("webgpu") }) };
      const before = started!.dispatches();
      const got = scaledDotProductAttention(q, k, v, placed);
      expect(started!.dispatches() - before).toBe(2);
      const [output, lse] = [await got.output.read(), await got.lse.read()];
      for (const [numbers, right] of [
        [output, want.output],
        [lse, want.lse],
      ] as const)
        right.toFloat64().forEach((x, i) => {
          if (x === -Infinity) expect(numbers[i]).toBe(-Infinity);
          else
            expect(Math.abs((numbers[i] as number) - x), `element ${i}`).toBeLessThanOrEqual(
              2e-5 * (1 + Math.abs(x)),
            );
        });
      expect(await scaledDotProductAttention(q, k, v, placed).output.read()).toEqual(output);
    },
  );

  it("16-bit heads in the layout bshd, and the plan names the splits", async () => {
    const axes = [0, 2, 1, 3];
    const cpu = inputs(2, 600, 8).map((t) => cast(permute(t, axes).contiguous(), "float16"));
    const want = scaledDotProductAttention(cpu[0], cpu[1], cpu[2], { layout: "bshd" });
    const [q, k, v] = await Promise.all(cpu.map((t) => t.to("webgpu")));
    const got = scaledDotProductAttention(q, k, v, { layout: "bshd" });
    const numbers = (await got.output.to("cpu")).toFloat64();
    want.output.toFloat64().forEach((x, i) => expect(Math.abs(numbers[i] - x)).toBeLessThanOrEqual(2e-3));
    expect(explain(q, k, v, { layout: "bshd" }).splits).toBe(3);
  });
});
