/**
 * The differential driver on drawn problems (differential.ts), others for each commit: every way to compute attention agrees with the reference, with all
 * gradients. HEED_CASES sets how many, HEED_SEED the first seed; `node tools/differential.mjs --count 1000000` runs a million.
 */
import { afterAll, expect, it } from "vitest";
import { turn } from "../../tools/parts/turn.mjs";
import { has, LEVELS, restore } from "../support/backends/levels.ts";
import { caseCount } from "../support/cases/count.ts";
import { compareSeed } from "./differential.ts";

const CASES = caseCount(250, 1000);
/** Within the million that were computed once. */
const SEED = Number(process.env.HEED_SEED ?? 1 + (turn % 900_000));

afterAll(restore);

it(`${CASES} problems from seed ${SEED}: all levels, shards, gather, ring and resident agree with the reference`, {
  timeout: 600_000 + CASES * 600,
}, async () => {
  const levels = LEVELS.filter(has);
  let bounded = 0;
  for (let n = 0; n < CASES; n++) {
    const { answers } = await compareSeed(SEED + n, levels);
    if (answers > 0) bounded++;
  }
  expect(bounded).toBeGreaterThan(0.85 * CASES);
});
