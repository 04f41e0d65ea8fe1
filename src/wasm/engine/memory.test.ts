/** Properties of the allocator: regions do not overlap, gaps merge, growth keeps data, and exhaustion is a typed error. */
import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { EngineMemory } from "./memory.ts";

const PAGE = 65536;

/** Bytes in use, from `resetPeak`. */
const used = (memory: EngineMemory) => memory.resetPeak();

for (const shared of [false, true])
  describe(shared ? "shared memory:" : "memory of one thread:", () => {
    it("regions are aligned to 64 bytes, do not overlap, and keep their data while the memory grows", () => {
      const r = random(7);
      const memory = new EngineMemory(shared);
      const allocated: { at: number; bytes: number; mark: number }[] = [];
      const check = ({ at, bytes, mark }: (typeof allocated)[number]) => {
        const { u8 } = memory;
        for (const n of [0, bytes >> 1, bytes - 1])
          if (u8[at + n] !== mark) expect.fail(`byte ${n} of ${at}`);
      };
      for (let n = 0; n < 3000; n++)
        if (allocated.length > 0 && r.chance(0.48)) {
          const [one] = allocated.splice(r.int(0, allocated.length - 1), 1);
          check(one);
          memory.free(one.at);
        } else {
          const bytes = r.size(200_000);
          const one = { at: memory.alloc(bytes), bytes, mark: r.int(1, 255) };
          expect(one.at % 64).toBe(0);
          expect(one.at).toBeGreaterThanOrEqual(8192);
          expect(one.at + bytes).toBeLessThanOrEqual(memory.memory.buffer.byteLength);
          memory.u8.fill(one.mark, one.at, one.at + bytes);
          allocated.push(one);
          if (n % 50 === 0) {
            allocated.forEach(check);
            const inOrder = [...allocated].sort((a, b) => a.at - b.at);
            inOrder.forEach((x, i) => {
              if (i > 0) expect(x.at).toBeGreaterThanOrEqual(inOrder[i - 1].at + inOrder[i - 1].bytes);
            });
          }
        }
      allocated.forEach(check);
      for (const { at } of allocated) memory.free(at);
      expect(used(memory)).toBe(0);
      // All gaps are merged: a region as large as the whole heap needs no growth.
      const { byteLength } = memory.memory.buffer;
      memory.alloc(byteLength - 8192 - 256);
      expect(memory.memory.buffer.byteLength).toBe(byteLength);
    });

    it("gaps merge in any order in which their regions are freed", () => {
      const orders = [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 3, 0, 2],
        [2, 0, 3, 1],
        [1, 2, 0, 3],
      ];
      for (const order of orders) {
        const memory = new EngineMemory(shared);
        const at = [0, 1, 2, 3].map(() => memory.alloc(100_000));
        for (const n of order) memory.free(at[n]);
        expect(memory.alloc(400_000)).toBe(at[0]);
      }
    });

    it("freeing a region twice, or an unknown address, does nothing", () => {
      const memory = new EngineMemory(shared);
      const [a, b] = [memory.alloc(1000), memory.alloc(1000)];
      memory.free(a);
      memory.free(a);
      memory.free(b + 64);
      memory.free(0);
      expect(memory.alloc(1000)).toBe(a);
      expect(memory.alloc(1000)).toBeGreaterThan(b);
    });

    it("views are up to date after the memory grew", () => {
      const memory = new EngineMemory(shared);
      const before = memory.f32;
      const at = memory.alloc(40 * PAGE);
      memory.f32[at / 4 + 10 * PAGE - 1] = 1.5;
      expect(memory.f32 === before).toBe(false);
      expect(memory.f32[at / 4 + 10 * PAGE - 1]).toBe(1.5);
      for (const view of [memory.i32, memory.u8, memory.u16, memory.f32])
        expect(view.buffer).toBe(memory.memory.buffer);
    });

    it("the peak is the maximum in use since it was reset", () => {
      const memory = new EngineMemory(shared);
      const a = memory.alloc(1000);
      const b = memory.alloc(5000);
      memory.free(b);
      expect(memory.peak).toBeGreaterThanOrEqual(6000);
      const now = memory.resetPeak();
      expect([now >= 1000, memory.peak === now]).toEqual([true, true]);
      memory.free(a);
      expect(memory.peak).toBe(now);
    });

    it("more than the maximum is rejected with the bytes requested, allocated and allowed; the memory works as before", () => {
      const memory = new EngineMemory(shared);
      const a = memory.alloc(3 * PAGE);
      memory.u8[a] = 42;
      const before = used(memory);
      for (const bytes of [2 ** 32, 2 ** 40, 2 ** 52]) {
        let error: unknown;
        try {
          memory.alloc(bytes);
        } catch (e) {
          error = e;
        }
        expect(error).toBeInstanceOf(UnsupportedError);
        const { code, fields, message } = error as UnsupportedError;
        expect(code).toBe("memory");
        expect(fields.requested).toBeGreaterThanOrEqual(bytes);
        expect(fields.allocated).toBe(memory.memory.buffer.byteLength);
        expect(fields.allowed).toBe(memory.maximum);
        expect(message).toContain(String(fields.allowed));
      }
      expect([used(memory), memory.u8[a]]).toEqual([before, 42]);
      expect(memory.alloc(1000)).toBeGreaterThan(a);
    });

    it("growth that the system refuses is the same typed error, with its cause", () => {
      const memory = new EngineMemory(shared);
      const refusal = new RangeError("WebAssembly.Memory.grow(): Unable to grow instance memory");
      Object.defineProperty(memory.memory, "grow", {
        value: () => {
          throw refusal;
        },
      });
      expect(() => memory.alloc(100 * PAGE)).toThrow(UnsupportedError);
      try {
        memory.alloc(100 * PAGE);
      } catch (error) {
        expect((error as Error).cause).toBe(refusal);
        expect((error as UnsupportedError).fields).toMatchObject({
          allocated: 16 * PAGE,
          allowed: 65536 * PAGE,
        });
      }
      expect(memory.alloc(1000)).toBe(8192);
    });

    it("addresses above 2^31 are allocated, written and freed", () => {
      const memory = new EngineMemory(shared);
      const filler = memory.alloc(2 ** 31);
      const at = memory.alloc(1000);
      expect(at).toBeGreaterThan(2 ** 31);
      memory.f32[at / 4] = 2.5;
      memory.u16[at / 2 + 2] = 7;
      expect([memory.f32[at / 4], memory.u16[at / 2 + 2]]).toEqual([2.5, 7]);
      memory.free(filler);
      memory.free(at);
      expect(used(memory)).toBe(0);
    });
  });
