/**
 * The self-test of kernels at their first use: a fault planted into the text of a kernel is found, and only its results are refused. Needs
 * an adapter, as tests/conformance/webgpu.test.ts, and is skipped without one.
 */
import {
  attentionBackward,
  attentionMap,
  attentionWeights,
  cast,
  maskMod,
  scaledDotProductAttention,
  softcap,
  type Tensor,
  UnsupportedError,
} from "heed";
import * as nn from "heed/nn";
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { resolve } from "../../src/backend/problem.ts";
import { forward } from "../../src/webgpu/attention/forward.ts";
import { session } from "../../src/webgpu/device.ts";
import type { TestedOperation } from "../../src/webgpu/self-test/cases.ts";
import { checked } from "../../src/webgpu/self-test/first-use.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { wrongGpu } from "../support/backends/wrong-gpu.ts";
import { normal } from "../support/cases/call.ts";

const { gpu, reason } = await gpuAtHand();
const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [2, 40, 8]));
const here = scaledDotProductAttention(q, k, v);
const inputs = [q, k, v, here.output, here.lse];
const long = (t: Tensor) => nn.concat(Array<Tensor>(16).fill(t), 1);

type Row = readonly [kernel: string, from: string, to: string, run: (...t: Tensor[]) => Tensor];

/** A fault of each kernel: its text, what it becomes, and a call that runs it. */
const FAULTS: readonly Row[] = [
  ["forward of split keys", "total += w;", "total = w;", (q, k, v) => scaledDotProductAttention(nn.slice(q, 1, 0, 1), long(k), long(v)).output],
  ["weights", "kAt + j * k_row()", "kAt", (q, k, _v, _o, lse) => attentionWeights(q, k, lse, { rows: [3, 7] })],
  ["map", "sum / f32(area)", "sum", (q, k, _v, _o, lse) => attentionMap(q, k, lse, { size: 4 }).mean],
  ["backward with a mask", "let delta = total(thread, sum);", "let delta = sum;", (q, k, v, output, lse) => attentionBackward(q, q, k, v, { output, lse }, { isCausal: true }).dKey],
  ["backward with a mask, sinks", "store_dSinks(row, -x)", "store_dSinks(row, x)", (q, k, v, output, lse) => attentionBackward(q, q, k, v, { output, lse }, { isCausal: true, sinks: [0.5] }).dSinks as Tensor],
  ["weights with a mask", "= floorMod(", "= floorDiv(", (q, k, _v, _o, lse) => attentionWeights(q, k, lse, { attnMask: maskMod((x) => x.k.mod(3).le(x.q)), rows: [3] })],
  ["weights with bfloat16", "<< 16u)", "<< 15u)", (q, k, _v, _o, lse) => attentionWeights(cast(q, "bfloat16"), cast(k, "bfloat16"), lse, { rows: [3] })],
  ["matmul", "x += load_bias(biasFrom() + j * biasColumn())", "x += load_bias(biasFrom())", (q, k) => nn.matmul(q, k.transpose())],
  ["norm", "let r = 1.0 / sqrt(total(", "let r = 1.0 / (total(", (q) => nn.layerNorm(q)],
  ["map gelu", "x * cdf(x));", "x * cdf(-x));", (q) => nn.gelu(q)],
  ["add", "load_a(n) + ", "load_a(n) - ", (q, k) => nn.add(q, k)],
  ["softmax", "select(p / l, 0.0", "select(p, 0.0", (q) => nn.softmax(q)],
  ["sum", "store_y(row, all)", "store_y(row, sum)", (q) => nn.sum(q, 1)],
  ["sort", "!precedes(v, w) && j < i", "!precedes(v, w) && j > i", (q) => nn.sort(q).values],
  ["cumsum", "sum = next;", "sum = v;", (q) => nn.cumsum(q, 1)],
  ["cast to float16", "0xfffu + ((a >> 13u) & 1u)", "0x1fffu", (q) => cast(q, "float16")],
  ["copy of 4-byte elements", "s0[n] = s1[at(n)];", "s0[n] = s1[n];", (q) => q.transpose().contiguous()],
]; // biome-ignore format: a row a fault

describe.skipIf(!gpu)(`the self-test of kernels${reason && `: ${reason}`}`, () => {
  let started: { destroy(): void } | undefined;
  afterAll(() => started?.destroy());

  it.each(FAULTS)("a fault in %s is found", { timeout: 240_000 }, async (kernel, from, to, run) => {
    const wrapped = wrongGpu(gpu!, from, to, kernel);
    started = await webgpu({ gpu: wrapped.gpu });
    const place = () => Promise.all(inputs.map((t) => t.to("webgpu")));
    const moved = await place();
    const error = await run(...moved)
      .read()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({ code: "self-test", fields: { adapter: `wrong ${kernel}`, kernel } });
    expect((error as Error).message).toMatch(
      /in its self-test element \d+ of \w+ is \S+, the formula in float64 gives \S+; update/,
    );
    expect(wrapped.changed()).toBeGreaterThan(0);
    // Now it is known: the call throws, and other kernels are not affected.
    expect(() => run(...moved)).toThrow(/which is not used/);
    const doubled = await nn.scale(moved[0], 2).read();
    expect(doubled[5]).toBe(2 * (q.data[5] as number));
    // A lost device changes nothing.
    started.destroy();
    started = await webgpu({ gpu: wrapped.gpu });
    const again = await place();
    expect(() => run(...again)).toThrow(/which is not used/);
  });

  it("what reads the result of an untested kernel is refused with it", { timeout: 240_000 }, async () => {
    started = await webgpu({ gpu: wrongGpu(gpu!, "x * cdf(x));", "x * cdf(-x));", "chain").gpu });
    const moved = await q.to("webgpu");
    const last = nn.scale(nn.add(nn.gelu(moved), moved), 0.5);
    await expect(last.read()).rejects.toMatchObject({ code: "self-test", fields: { kernel: "map gelu" } });
    expect((await moved.read())[3]).toBe(q.data[3]);
  });

  it("a kernel that passed costs no more: no name and no problem of a test is made again", { timeout: 240_000 }, async () => {
    started = await webgpu({ gpu: gpu! });
    const moved = await q.to("webgpu");
    const operation = { kind: "forward", problem: resolve("test", moved, moved, moved, { scoreMod: softcap(2) }) } as const;
    let reads = 0;
    const get = (all: object, name: string | symbol): unknown => {
      reads++;
      return Reflect.get(all, name);
    };
    const counted = new Proxy<TestedOperation>(operation, { get });
    const run = () => checked(session(), counted, () => forward(session(), operation.problem));
    await run().output.read();
    expect(reads).toBeGreaterThan(0);
    reads = 0;
    for (let n = 0; n < 10; n++) run();
    expect(reads).toBe(0);
  }); // biome-ignore format: one test
});
