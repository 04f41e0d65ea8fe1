/**
 * Staging in pieces: the same bits as in one stage, for any size of the pieces; memory within its budget; no write
 * outside of a region, and no read of uninitialized memory.
 */

import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { filled, someCells } from "../../../tests/failure/calls.ts";
import { has, LEVELS } from "../../../tests/support/backends/levels.ts";
import { countInTurn } from "../../../tests/support/cases/count.ts";
import { type Random, random } from "../../../tests/support/cases/random.ts";
import { type AttentionOptions, resolve } from "../../backend/problem.ts";
import { computeAll } from "../../backend/results.ts";
import { configure } from "../../backend/settings.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  alibi,
  and,
  causal,
  dilated,
  keyLengths,
  longformer,
  prefixLm,
  slidingWindow,
  softcap,
} from "../../masks/index.ts";
import { clearForwardPlans, forward as runForward } from "../attention/forward/forward.ts";
import { discardEngine, getEngine } from "./engine.ts";
import { EngineMemory } from "./memory.ts";
import { empty } from "./resident.ts";

/** The budget of a call's stages in place of the configured one. */
const cutting = vi.hoisted(() => ({ budget: undefined as number | undefined, count: 0 }));
vi.mock("../../backend/plan/tiling.ts", async (original) => {
  const choose = await original<typeof import("../../backend/plan/tiling.ts")>();
  return {
    ...choose,
    planStaging(...[problem, tiling, costs, budget]: Parameters<typeof choose.planStaging>) {
      const staging = choose.planStaging(problem, tiling, costs, cutting.budget ?? budget);
      cutting.count = staging.count;
      return staging;
    },
  };
});

const settings = { ...configure() };
afterEach(() => {
  cutting.budget = undefined;
  vi.restoreAllMocks();
  configure(settings);
});
afterAll(() => getEngine()?.pool.end());

const levels = LEVELS.filter((level) => level !== "reference" && has(level)) as (
  | "wide"
  | "relaxed"
  | "strict"
)[];

interface Case {
  readonly name: string;
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly options: AttentionOptions;
}

const CANARY = 0x55;

/** Output and lse as bytes, from a call that writes into the middle of arrays filled with canaries. */
function forward({ name, q, k, v, options }: Case): [Uint8Array, Uint8Array] {
  const problem = resolve("test", q, k, v, options);
  const { B, Hq, Nq, dv } = problem.shape;
  const across = options.layout === "bshd";
  const [size, rows] = [B * Hq * Nq * dv, B * Hq * Nq];
  const Class = (q.dtype === "float32" ? Float32Array : Uint16Array) as typeof Float32Array;
  const buffer = new Class(size + 64);
  const lseBuffer = new Float32Array(rows + 64);
  const bytes = [buffer, lseBuffer].map((x) => new Uint8Array(x.buffer));
  for (const x of bytes) x.fill(CANARY);
  const output = buffer.subarray(32, 32 + size).fill(0);
  const lse = lseBuffer.subarray(32, 32 + rows);
  // Cached plans do not depend on this budget: evict them.
  clearForwardPlans();
  computeAll(
    runForward(problem, {
      output,
      lse,
      batch: Hq * Nq * dv,
      head: across ? dv : Nq * dv,
      row: across ? Hq * dv : dv,
    }),
  );
  for (const x of bytes) {
    const edge = 32 * (x === bytes[1] || q.dtype === "float32" ? 4 : 2);
    for (let i = 0; i < edge; i++)
      if (x[i] !== CANARY || x[x.length - 1 - i] !== CANARY)
        expect.fail(`${name}: a neighbor of the result was written`);
  }
  return [
    new Uint8Array(buffer.buffer, output.byteOffset, output.byteLength),
    new Uint8Array(lseBuffer.buffer, lse.byteOffset, lse.byteLength),
  ];
}

function same(got: readonly Uint8Array[], want: readonly Uint8Array[], what: string): void {
  want.forEach((x, n) => {
    if (Buffer.compare(x, got[n]) !== 0)
      expect.fail(
        `${what}: ${n ? "lse" : "output"} differs at byte ${x.findIndex((y, i) => y !== got[n][i])}`,
      );
  });
}

/** A view of the same numbers whose rows, heads or columns have gaps or are reversed. */
function apart(t: Tensor, r: Random): Tensor {
  const shape = t.shape;
  const gap = r.int(0, 3);
  const step = r.pick([1, 1, 2]);
  const flip = r.chance(0.3);
  const row = shape[3] * step + gap;
  const strides = [shape[1] * shape[2] * row + 5, shape[2] * row, row, step];
  const Class = t.data.constructor as typeof Float32Array;
  const data = new Class(shape[0] * strides[0] + 8);
  let offset = 3;
  if (flip) {
    offset += (shape[2] - 1) * row;
    strides[2] = -row;
  }
  const view = new Tensor(data, shape, t.dtype, strides, offset);
  for (let b = 0, n = 0; b < shape[0]; b++)
    for (let h = 0; h < shape[1]; h++)
      for (let i = 0; i < shape[2]; i++)
        for (let d = 0; d < shape[3]; d++)
          data[offset + b * strides[0] + h * strides[1] + i * strides[2] + d * strides[3]] = t.data[
            n++
          ] as number;
  return view;
}

/** The same tensor in the engine's memory, where calls use it in place. */
function moved(t: Tensor): Tensor {
  const resident = empty(t.shape, t.dtype);
  (resident.data as Float32Array).set(t.data as Float32Array);
  return resident;
}

function drawn(seed: number): Case {
  const r = random(seed);
  const dtype = r.pick(["float32", "float32", "float16", "bfloat16"] as const);
  const [B, Hkv, G] = [r.int(1, 2), r.int(1, 2), r.int(1, 3)];
  const Hq = Hkv * G;
  const Nq = r.chance(0.2) ? r.int(1, 4) : r.int(5, 150);
  const Nk = r.int(1, 420);
  const [dk, dv] = [r.pick([1, 3, 8, 16, 33, 64]), r.pick([1, 4, 8, 17, 64, 70])];
  const layout = r.pick(["bhsd", "bhsd", "bshd"] as const);
  const make = (n: number, H: number, N: number, d: number) => {
    const t = filled(seed * 8 + n, [B, H, N, d], dtype);
    const view = r.chance(0.4) ? apart(t, r) : r.chance(0.2) ? moved(t) : t;
    return layout === "bshd" ? view.transpose(1, 2) : view;
  };
  const [q, k, v] = [make(1, Hq, Nq, dk), make(2, Hkv, Nk, dk), make(3, Hkv, Nk, dv)];
  const lengths = (limit: number) => Array.from({ length: B }, () => r.int(0, limit));
  const masks: Record<string, () => AttentionOptions["attnMask"]> = {
    none: () => undefined,
    causal: () => causal(),
    window: () => slidingWindow(r.int(0, 90), r.int(-1, 30)),
    lengths: () => keyLengths(lengths(Nk)),
    prefix: () => and(prefixLm(lengths(Nk)), dilated(r.int(1, 3))),
    global: () => longformer(r.int(0, 20), [0, Nk >> 1]),
    bool: () => someCells([r.pick([1, B]), r.pick([1, Hq]), r.pick([1, Nq]), r.pick([1, Nk])]),
    float: () => filled(seed, [r.pick([1, Hq]), r.pick([1, Nq]), Nk]),
    several: () => [someCells([Nq, Nk]), filled(seed, [Hq, 1, Nk]), slidingWindow(100, 40)],
  };
  const name = r.pick(Object.keys(masks));
  const options: AttentionOptions = {
    attnMask: masks[name](),
    layout,
    ...(r.chance(0.3) ? { sinks: Array.from({ length: Hq }, () => r.normal()) } : {}),
    ...(r.chance(0.25) ? { dropoutP: 0.3, seed } : {}),
    ...(r.chance(0.3)
      ? { scoreMod: r.pick([softcap(4), alibi(Array.from({ length: Hq }, () => r.next()))]) }
      : {}),
    ...(r.chance(0.4) ? { queryOffset: r.chance(0.5) ? r.int(-20, 300) : lengths(300) } : {}),
  };
  return {
    name: `seed ${seed}: ${name} ${dtype} ${layout} [${B}, ${Hq}/${Hkv}, ${Nq}, ${dk}] × ${Nk}, ${dv}`,
    q,
    k,
    v,
    options,
  };
}

/** Each draws two hundred calls, of which every fourth has its turn. */
const SEEDS = countInTurn(200, 4);

for (const level of levels)
  it(`${level}: ${SEEDS.length} random calls in pieces of any size have the bits of a single stage`, () => {
    configure({ simd: level, threads: 1 });
    let pieces = 0;
    for (const seed of SEEDS) {
      const one = drawn(seed);
      cutting.budget = 2 ** 40;
      const reference = forward(one);
      for (const budget of [1, 2 ** 13, 2 ** 15, 2 ** 17]) {
        cutting.budget = budget;
        same(forward(one), reference, `${one.name}, in ${budget} bytes`);
        pieces += cutting.count;
      }
    }
    expect(pieces).toBeGreaterThan(20 * SEEDS.length);
  });

describe("regions of a call", () => {
  it("are written only inside, and read only where they were initialized", () => {
    configure({ simd: levels[0], threads: 1 });
    const alloc = EngineMemory.prototype.alloc;
    const free = EngineMemory.prototype.free;
    const contents = new Map<number, number>();
    const EDGE = 256;
    let fill = 0;
    vi.spyOn(EngineMemory.prototype, "alloc").mockImplementation(function (
      this: EngineMemory,
      bytes: number,
    ) {
      const at = alloc.call(this, bytes + 2 * EDGE);
      // NaN where nothing was written; canaries around it.
      this.u8.fill(fill, at, at + bytes + 2 * EDGE);
      this.u8.fill(CANARY, at, at + EDGE);
      this.u8.fill(CANARY, at + EDGE + bytes, at + 2 * EDGE + bytes);
      contents.set(at + EDGE, bytes);
      return at + EDGE;
    });
    const check = (memory: EngineMemory, at: number) => {
      const bytes = contents.get(at) as number;
      for (let n = 0; n < EDGE; n++)
        if (memory.u8[at - 1 - n] !== CANARY || memory.u8[at + bytes + n] !== CANARY)
          expect.fail(`written ${n} bytes outside a region of ${bytes} bytes`);
    };
    vi.spyOn(EngineMemory.prototype, "free").mockImplementation(function (this: EngineMemory, at: number) {
      if (!contents.has(at)) return free.call(this, at);
      check(this, at);
      contents.delete(at);
      free.call(this, at - EDGE);
    });
    for (const seed of countInTurn(120, 4)) {
      const one = drawn(seed);
      // A fresh engine: its workspaces are regions of the size that this call asks for.
      contents.clear();
      discardEngine();
      for (const budget of [2 ** 40, 2 ** 14]) {
        cutting.budget = budget;
        const results = [0xff, 0x00].map((byte) => {
          fill = byte;
          return forward(one);
        });
        same(results[1], results[0], `${one.name}, memory full of NaN before`);
        const { memory } = getEngine() as NonNullable<ReturnType<typeof getEngine>>;
        for (const at of contents.keys()) check(memory, at);
      }
    }
    discardEngine();
  });
});

describe("memory in use", () => {
  for (const threads of [1, 2])
    for (const MiB of [1, 4, 12])
      it(`stays within ${threads} × ${MiB} MiB and its workspaces, from N = 512 to 8192`, () => {
        configure({ simd: levels[0], threads, bytesPerThread: MiB * 2 ** 20 });
        const { memory } = getEngine() as NonNullable<ReturnType<typeof getEngine>>;
        for (const N of [512, 2048, 4096, 8192])
          for (const options of [
            { attnMask: slidingWindow(64, 64) },
            { attnMask: someCells([N]), isCausal: true },
          ]) {
            const t = new Tensor(new Float32Array(64 * N).fill(0.5), [1, 2, N, 64], "float32", [0, 0, 64, 1]);
            const before = memory.resetPeak();
            forward({ name: `N = ${N}`, q: t, k: t, v: t, options });
            expect(memory.peak - before, `N = ${N}`).toBeLessThanOrEqual(
              1.1 * threads * MiB * 2 ** 20 + 2 ** 20,
            );
            expect(memory.resetPeak() - before).toBeLessThanOrEqual(threads * 2 ** 19);
          }
      });
});
