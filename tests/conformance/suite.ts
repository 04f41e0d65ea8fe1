/**
 * The conformance suite of SIMD levels: all of device.ts, the same bits on 1, 2, 3 and 7 threads and in repeated calls, and
 * ONNX's cases. `WASM` lists the operations that the wasm backend does not support, with the reason that `supports` returns.
 */
import { scaledDotProductAttention } from "heed";
import { afterAll, describe, expect, it } from "vitest";
import { reference } from "../../src/reference/backend.ts";
import { wasm } from "../../src/wasm/backend.ts";
import { has, type Level, restore, THREADS, use } from "../support/backends/levels.ts";
import type { Case } from "../support/cases/problem/case.ts";
import { hasShared } from "../support/shared.ts";
import { CASES } from "./cases.ts";
import { deviceConformance } from "./device.ts";
import { onnxCases, runOnnx, skipped } from "./onnx.ts";

/** Bytes of output and lse, as a string that compares and prints. */
function bits(c: Case): string {
  const { output, lse } = scaledDotProductAttention(c.query, c.key, c.value, c.options);
  const hex = (t: typeof output) =>
    Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength).toString("hex");
  return `${hex(output)} ${hex(lse)}`;
}

/** Operations without a kernel, at all levels. */
export const WASM: Readonly<Record<string, RegExp>> = {
  "matmul: an empty sum": /needs no kernel/,
  array: /no kernels for array operations/,
  float64: /float64/,
  "rowwise: add": /no kernel for a \+ scale/,
  "rowwise: add in place": /no kernel for a \+ scale/,
  "rowwise: map relu": /no kernel for relu/,
  "rowwise: map-backward relu": /no kernel for relu/,
  "rowwise: map elu1": /no kernel for elu1/,
  "rowwise: map-backward elu1": /no kernel for elu1/,
};

/** Runs the suite for a level; `skip` maps unsupported cases and features to reasons. */
export function conformance(
  level: Level,
  { skip = {} }: { skip?: Readonly<Record<string, string | RegExp>> } = {},
): void {
  describe.skipIf(!has(level))(level, () => {
    afterAll(restore);
    const backend = level === "reference" ? reference : wasm;
    deviceConformance(level, { backend, before: () => use(level, 1), skip });

    it("the same bits on 1, 2, 3 and 7 threads, and when called again", () => {
      const cases = CASES.map(({ make }) => make());
      use(level, 1);
      const once = cases.map(bits);
      // The reference has no threads: other numbers of them change nothing that it does.
      for (const threads of level === "reference" ? [3] : [1, ...THREADS]) {
        use(level, threads);
        cases.forEach((c, n) => {
          if (bits(c) !== once[n]) expect.fail(`${c.name}: other bits on ${threads} threads`);
        });
      }
    });

    describe.skipIf(!hasShared("conformance/onnx-attention"))("ONNX", () => {
      it("56 cases, of which 7 are of another operator", () => {
        expect([onnxCases.length, onnxCases.filter(skipped).length]).toEqual([56, 7]);
      });
      for (const c of onnxCases) {
        const reason = skipped(c);
        it.skipIf(reason)(reason ? `${c.name} (${reason})` : c.name, () => {
          use(level, 2);
          runOnnx(c);
        });
      }
    });
  });
}
