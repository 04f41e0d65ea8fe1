/**
 * What can be counted of the GPU's kernels without a GPU: dispatches, pipelines, workgroup memory, and operations in their texts. The table of
 * docs/webgpu.md is this one, so that a change that costs more of something shows. Times need hardware.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cast, causal, type DType, slidingWindow } from "heed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolve } from "../../src/backend/problem.ts";
import { forward, forwardShape, levelOf, workgroupBytes } from "../../src/webgpu/attention/forward.ts";
import { backward } from "../../src/webgpu/attention/gradients.ts";
import { map } from "../../src/webgpu/attention/map.ts";
import { matrixText } from "../../src/webgpu/attention/matrices.ts";
import { weights } from "../../src/webgpu/attention/weights.ts";
import { device, type SelfTests, session, start, stop } from "../../src/webgpu/device.ts";
import { LEVELS, NARROW } from "../../src/webgpu/levels.ts";
import { threadsOf } from "../../src/webgpu/tile.ts";
import { placeOn } from "../support/backends/place.ts";
import { silentGpu } from "../support/backends/silent-gpu.ts";
import { normal } from "../support/cases/call.ts";

/** A GPU that computes nothing passes no self-test. */
const noTests: SelfTests = { begin: async () => undefined, copy: (_session, _bytes, work) => work() };
const place = placeOn(device);
const problemOf = (Nq: number, Nk: number, options = {}, dtype: DType = "float32") => {
  const [q, k, v] = [[1, 4, Nq, 64], [1, 2, Nk, 64], [1, 2, Nk, 64]].map((shape, n) => place(cast(normal(n, shape), dtype)));
  return resolve("counts", q, k, v, options);
}; // biome-ignore format: a row

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** The row of a level and a smallest subgroup in the table. */
async function rowOf(level: (typeof LEVELS)[number], subgroup: number): Promise<string> {
  const { gpu, codes, workgroups } = silentGpu(["subgroups", ...level.features], subgroup);
  await start(gpu, noTests);
  const isNarrow = NARROW.includes(level);
  session().levels = isNarrow ? [LEVELS[2], level] : [level];
  session().matrixText = matrixText;
  const problem = problemOf(1024, 1024, { isCausal: true }, isNarrow ? "float16" : "float32");
  const shape = forwardShape(session(), problem);
  forward(session(), problem);
  // The second rounds the output to 16 bits.
  expect(codes).toHaveLength(isNarrow ? 2 : 1);
  const [text] = codes;
  // Declarations and functions come before the entry point.
  const main = text.slice(text.indexOf("fn main("));
  const cells = [
    level.name === "subgroups" ? `${level.name}, of ${subgroup} and more` : level.name,
    `${shape.tile.rows} × 32`,
    threadsOf(shape.tile),
    workgroupBytes(shape),
    workgroups[0],
    count(main, /workgroupBarrier\(\)|workgroupUniformLoad/g),
    count(main, /subgroupShuffleXor/g),
    count(main, /\bexp\(/g),
    count(main, /\b[so]\d+ \+= /g),
    count(main, /subgroupMatrixMultiplyAccumulate/g),
    count(main, /\b[qkv](?:Of|Pair)\(/g),
  ];
  return `| ${cells.join(" | ")} |`;
}

describe("counts of the GPU's kernels", () => {
  afterAll(stop);

  it("the table of the chapter is what the levels print", async () => {
    const rows = [];
    for (const level of LEVELS)
      for (const subgroup of level.name === "subgroups" ? [4, 8] : [32])
        rows.push(await rowOf(level, subgroup));
    const chapter = readFileSync(join(import.meta.dirname, "../../docs/webgpu.md"), "utf8");
    const names = LEVELS.map(({ name }) => name).join("|");
    expect(chapter.match(new RegExp(`^\\| (?:${names})(?:,.*)? \\| \\d+ × 32 .*$`, "gm"))).toEqual(rows);
  });

  it("tensors of 16 bits in pairs of columns take half, and many rows of float16 without dropout matrices", async () => {
    await start(silentGpu(["subgroups"], 32).gpu, noTests);
    session().levels = LEVELS.slice(2);
    const nameOf = (...problem: Parameters<typeof problemOf>) =>
      levelOf(session(), problemOf(...problem)).name;
    expect(nameOf(65, 70)).toBe("subgroups");
    expect([nameOf(65, 70, {}, "bfloat16"), nameOf(32, 70, {}, "float16")]).toEqual(["half", "half"]);
    expect(nameOf(65, 70, { dropoutP: 0.5, seed: 1 }, "float16")).toBe("half");
    expect(nameOf(33, 70, {}, "float16")).toBe("matrices");
    session().levels = LEVELS.slice(2, 4);
    expect(nameOf(65, 70, {}, "float16")).toBe("half");
  });

  describe("dispatches and pipelines", () => {
    const silent = silentGpu();
    beforeAll(() => start(silent.gpu, noTests));
    const countsOf = (run: () => void) => {
      const [codes, workgroups] = [silent.codes.length, silent.workgroups.length];
      run();
      return [silent.workgroups.length - workgroups, silent.codes.length - codes];
    };

    it("forward, weights and map are one kernel each, split keys two, a backward pass three and one for each sum over batch entries", () => {
      const problem = problemOf(65, 70);
      const output = place(normal(7, [1, 4, 65, 64]));
      const lse = place(normal(8, [1, 4, 65]));
      expect(countsOf(() => forward(session(), problem))).toEqual([1, 1]);
      expect(countsOf(() => forward(session(), problemOf(1, 1024)))).toEqual([2, 2]);
      expect(countsOf(() => weights(session(), problem, lse, { heads: [0], rows: [3] }))).toEqual([1, 1]);
      expect(
        countsOf(() => map(session(), problem, lse, { heads: [0], rows: [0, 65], columns: [0, 35, 70] })),
      ).toEqual([1, 1]);
      expect(countsOf(() => backward(session(), problem, { dOutput: output, output, lse }, []))).toEqual([
        3, 3,
      ]);
    });

    it("another length or window compiles nothing", () => {
      const call = (n: number, window: number) => () =>
        forward(session(), problemOf(n, n, { attnMask: [causal(), slidingWindow(window, 0)] }));
      expect(countsOf(call(200, 30))[1]).toBe(1);
      expect(countsOf(call(700, 90))).toEqual([1, 0]);
    });

    it("a causal call has half of the tiles, and no workgroup for more", () => {
      const { workgroups } = silent;
      forward(session(), problemOf(1024, 1024, { isCausal: true }));
      expect(workgroups.at(-1)).toBe(4 * 32);
    });
  });
});
