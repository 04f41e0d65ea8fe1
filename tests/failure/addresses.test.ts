/** Addresses are unsigned: the same bits if a call's regions are below, across and above 2^31, up to the end of memory. */
import { configure, maskMod, UnsupportedError } from "heed";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { discardEngine, getEngine } from "../../src/wasm/engine/engine.ts";
import type { EngineMemory } from "../../src/wasm/engine/memory.ts";
import { has, restore, use } from "../support/backends/levels.ts";
import { type Call, call, everyKind, filled, unlike } from "./calls.ts";

const level = has("relaxed") ? "relaxed" : "strict";
const before = configure();

beforeEach(() => use(level, 1));
afterAll(() => {
  discardEngine();
  configure(before);
  restore();
});

/** A fresh engine whose next regions begin `below` bytes under an address, in memory full of NaN. */
function engineBelow(address: number, below: number): EngineMemory {
  discardEngine();
  const { memory } = getEngine() as NonNullable<ReturnType<typeof getEngine>>;
  const next = memory.alloc(64);
  memory.free(next);
  memory.alloc(address - below - next - 256);
  const filler = Math.min(below + 2 ** 18, 2 ** 32 - address + below) - 256;
  const used = memory.alloc(Math.floor(filler / 64) * 64);
  memory.u8.fill(0xff, used, used + filler);
  memory.free(used);
  return memory;
}

/** Bytes that a call of a fresh engine takes. */
function taken({ run }: Call): number {
  const memory = engineBelow(2 ** 20, 0);
  const start = memory.resetPeak();
  run();
  return memory.peak - start;
}

describe(`${level}: each region of a call in turn crosses 2^31:`, () => {
  const calls = [
    call("full", { Nq: 50, Nk: 40, dk: 8 }),
    call("causal", { Nq: 30, Nk: 30, dk: 12 }, { isCausal: true }),
    call("a float tensor", { Nq: 9, Nk: 20, dk: 4 }, { attnMask: filled(6, [2, 9, 20]) }),
    call("decode", { Hq: 4, Hkv: 1, Nq: 1, Nk: 40, dk: 8 }),
    call("weights", { Nq: 9, Nk: 20, dk: 4 }, { returnWeights: true }),
  ];
  for (const one of calls)
    it(one.name, () => {
      const want = one.run();
      const bytes = taken(one);
      const steps = 40;
      for (let n = 0; n <= steps; n++) {
        const below = Math.ceil((n * bytes) / steps / 64) * 64;
        const memory = engineBelow(2 ** 31, below);
        const wrong = unlike(one.run(), want);
        if (wrong) expect.fail(`${below} of ${bytes} bytes below 2^31: ${wrong}`);
        expect(memory.memory.buffer.byteLength).toBeGreaterThanOrEqual(2 ** 31);
      }
    });
});

it("a list of runs crosses 2^31", () => {
  const stripes = maskMod(({ h, q, k }) => k.floorDiv(128).mod(2).eq(0).and(k.ge(h), q.ge(0)));
  const one = call("stripes", { Hq: 8, Nq: 20, Nk: 1000, dk: 4 }, { attnMask: stripes });
  const want = one.run();
  const bytes = taken(one);
  for (let below = bytes; below > bytes - 2048; below -= 64) {
    engineBelow(2 ** 31, below);
    const wrong = unlike(one.run(), want);
    if (wrong) expect.fail(`${below} of ${bytes} bytes below 2^31: ${wrong}`);
  }
});

it("calls of every kind give the same bits past 2^31, on two threads too", () => {
  const calls = [
    ...everyKind(),
    call("larger", { Nq: 300, Nk: 300, dk: 32 }),
    call("causal", { Nq: 300, Nk: 300, dk: 16 }, { isCausal: true }),
  ];
  discardEngine();
  const want = calls.map(({ run }) => run());
  engineBelow(2 ** 31, 0);
  for (const threads of [1, 2]) {
    use(level, threads);
    calls.forEach(({ name, run }, n) => expect(unlike(run(), want[n]), name).toBeUndefined());
  }
});

it("at the end of memory a call fits, or is rejected before it writes anything; after memory is freed, it runs again", () => {
  const one = call("full", { Nq: 300, Nk: 300, dk: 32 });
  const want = one.run();
  const bytes = taken(one);
  for (const below of [64 * 1024, bytes >> 1, bytes - 64, bytes, bytes + 4096]) {
    const memory = engineBelow(2 ** 32, Math.floor(below / 64) * 64);
    const used = memory.resetPeak();
    let got: Float64Array[] | undefined;
    try {
      got = one.run();
    } catch (error) {
      expect(error).toBeInstanceOf(UnsupportedError);
      expect((error as UnsupportedError).fields).toMatchObject({ allowed: 2 ** 32 });
    }
    expect(got !== undefined, `${below} of ${bytes} bytes left`).toBe(below >= bytes);
    if (got) expect(unlike(got, want)).toBeUndefined();
    else expect(memory.resetPeak() - used).toBeLessThan(bytes);
  }
  discardEngine();
  expect(unlike(one.run(), want)).toBeUndefined();
});
