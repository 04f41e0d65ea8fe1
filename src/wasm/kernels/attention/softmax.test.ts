/** The code of the softmax as text, so that changes are visible in a review. */
import { expect, it } from "vitest";
import wabtOf from "wabt";
import { resolve } from "../../../backend/problem.ts";
import { zeros } from "../../../core/create/construct.ts";
import { causal } from "../../../masks/index.ts";
import { ModuleBuilder } from "../../assembler/index.ts";
import { specOf } from "../../attention/plan.ts";
import { exponentiate, updateRowMax, updateRowSum } from "./softmax.ts";

const t = zeros([1, 1, 64, 16]);

for (const level of ["relaxed", "strict"] as const)
  it(`the passes of the softmax at ${level}`, async () => {
    const { spec } = specOf(resolve("test", t, t, t, { attnMask: causal() }), level, true);
    const module = new ModuleBuilder({ shared: spec.shared });
    updateRowMax(module, spec, true);
    exponentiate(module, spec);
    updateRowSum(module, spec);
    const wabt = await wabtOf();
    const text = wabt
      .readWasm(module.encode(), { threads: true, relaxed_simd: true })
      .toText({ foldExprs: true });
    await expect(text).toMatchFileSnapshot(`snapshots/softmax-${level}.wat`);
  });
