import { expect, test } from "vitest";
import { attentionWeights, scaledDotProductAttention } from "../../../api/attention.ts";
import { tensor } from "../../../core/create/construct.ts";
import { and, causal, dilated } from "../../../masks/index.ts";
import { MASK_KINDS } from "../../../masks/registry.ts";
import { UsageError } from "../line/command.ts";
import { CALL_HELP, optionsOf, readCall } from "./attention-options.ts";

const shape = { B: 1, Hq: 1, Nq: 6, Nk: 6 } as never;
const x = tensor(
  Float32Array.from({ length: 24 }, (_, n) => Math.sin(n)),
  [6, 4],
);

test("--mask takes masks by name as JSON, and computes what their builders do", async () => {
  const call = await readCall({ mask: '{"and": ["causal", {"dilated": 2}]}' }, {});
  const named = scaledDotProductAttention(x, x, x, optionsOf(call, shape));
  const options = { attnMask: and(causal(), dilated(2)) };
  const built = scaledDotProductAttention(x, x, x, options);
  expect(named.output.toFloat64()).toEqual(built.output.toFloat64());
  expect(attentionWeights(x, x, built.lse, options).at(5, 4)).toBe(0);
  // A name alone is JSON too.
  const alone = scaledDotProductAttention(
    x,
    x,
    x,
    optionsOf(await readCall({ mask: '"causal"' }, {}), shape),
  );
  const causally = scaledDotProductAttention(x, x, x, { attnMask: causal() });
  expect(alone.output.toFloat64()).toEqual(causally.output.toFloat64());
});

test("--mask names what is wrong with it, and its help lists every mask", async () => {
  await expect(readCall({ mask: '{"dilated": 0}' }, {})).rejects.toThrow(
    "--mask: dilated: n must be an integer from 1",
  );
  await expect(readCall({ mask: '{"nothing": 1}' }, {})).rejects.toThrow(/--mask: expected one of .*causal/);
  await expect(readCall({ mask: "{" }, {})).rejects.toThrow(UsageError);
  for (const { name } of MASK_KINDS) expect(CALL_HELP.mask).toContain(name);
});
