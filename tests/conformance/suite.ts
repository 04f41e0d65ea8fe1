/**
 * What every level of the engine must do: the table of cases.ts within Bound B, the same bits on 1, 2, 3 and 7 threads
 * and in repeated calls, and ONNX's cases. A level lists what it skips, each with a reason.
 */
import { scaledDotProductAttention } from "heed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Case } from "../support/case.ts";
import { has, type Level, restore, THREADS, use } from "../support/levels.ts";
import { check } from "../support/oracle.ts";
import { hasShared } from "../support/shared.ts";
import { CASES } from "./cases.ts";
import { onnxCases, runOnnx, skipped } from "./onnx.ts";

/** Bytes of output and lse, as a string that compares and prints. */
function bits(c: Case): string {
  const { output, lse } = scaledDotProductAttention(c.query, c.key, c.value, c.options);
  const hex = (t: typeof output) =>
    Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength).toString("hex");
  return `${hex(output)} ${hex(lse)}`;
}

/** Runs the suite for a level; `skip` maps features to the reason why the level leaves them out. */
export function conformance(
  level: Level,
  { skip = {} }: { skip?: Readonly<Record<string, string>> } = {},
): void {
  describe.skipIf(!has(level))(level, () => {
    afterAll(restore);
    const reasonOf = (features: readonly string[]) =>
      features.map((f) => skip[f]).find((x) => x !== undefined);

    describe("every case lies within Bound B", () => {
      beforeAll(() => use(level, 1));
      for (const { name, features, make } of CASES) {
        const reason = reasonOf(features);
        it.skipIf(reason)(reason ? `${name} (${reason})` : name, () => {
          check(make());
        });
      }
    });

    it("the same bits on 1, 2, 3 and 7 threads, and when called again", () => {
      const cases = CASES.filter(({ features }) => !reasonOf(features)).map(({ make }) => make());
      use(level, 1);
      const once = cases.map(bits);
      for (const threads of [1, ...THREADS]) {
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
