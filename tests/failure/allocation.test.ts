/**
 * Allocation k of a call fails, for k = 1, 2, … until the call needs no more (SQLite's practice): each time the error is typed,
 * no memory stays in use, and the next call is right.
 */
import { configure, UnsupportedError } from "heed";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { getEngine } from "../../src/wasm/engine/engine.ts";
import { EngineMemory } from "../../src/wasm/engine/memory.ts";
import { has, LEVELS, restore, use } from "../support/backends/levels.ts";
import { everyKind, unlike } from "./calls.ts";

afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(restore);

const alloc = EngineMemory.prototype.alloc;

/** Makes the k-th allocation from now on fail; returns the number of allocations. */
function refuse(k: number): () => number {
  let count = 0;
  vi.spyOn(EngineMemory.prototype, "alloc").mockImplementation(function (this: EngineMemory, bytes: number) {
    if (++count === k) throw new UnsupportedError("memory", `refused: ${bytes} bytes`, { requested: bytes });
    return alloc.call(this, bytes);
  });
  return () => count;
}

const inUse = () => getEngine()?.memory.resetPeak() as number;

for (const level of LEVELS.filter((level) => (level === "relaxed" || level === "strict") && has(level)))
  describe(level, () => {
    for (const bytesPerThread of [2 ** 20, 12 * 2 ** 20])
      it(`with ${bytesPerThread / 2 ** 20} MiB a thread`, () => {
        use(level, 1);
        configure({ bytesPerThread });
        for (const { name, run } of everyKind()) {
          const want = run();
          const before = inUse();
          for (let k = 1; ; k++) {
            const count = refuse(k);
            let error: unknown;
            let got: Float64Array[] | undefined;
            try {
              got = run();
            } catch (e) {
              error = e;
            }
            vi.restoreAllMocks();
            if (got) {
              expect(count(), `${name}: allocations of a call`).toBe(k - 1);
              expect(k, `${name} allocates`).toBeGreaterThan(3);
              break;
            }
            expect(error, `${name}, allocation ${k}`).toBeInstanceOf(UnsupportedError);
            expect((error as UnsupportedError).code).toBe("memory");
            expect(inUse(), `${name}, bytes in use after allocation ${k} was refused`).toBe(before);
            expect(
              unlike(run(), want),
              `${name}, the call after allocation ${k} was refused`,
            ).toBeUndefined();
          }
          expect(inUse()).toBe(before);
        }
      });
  });

it("after a large workspace could not be allocated, a small call allocates only a small one", () => {
  use("strict", 1);
  const [small] = everyKind();
  const want = small.run();
  const { memory, pool } = getEngine() as NonNullable<ReturnType<typeof getEngine>>;
  const before = inUse();
  refuse(1);
  expect(() => pool.reserve(2 ** 31, 1)).toThrow(UnsupportedError);
  vi.restoreAllMocks();
  expect(unlike(small.run(), want)).toBeUndefined();
  expect(memory.resetPeak()).toBeLessThanOrEqual(before);
});
