/**
 * Random backward calls against float64, over every level and 1, 2, 3 and 7 threads, each within a bound without
 * tunable factors (tests/support/oracles/backward-oracle.ts). HEED_CASES sets how many, HEED_SEED where they start.
 */
import { afterAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, THREADS, use } from "../support/backends/levels.ts";
import { caseCount } from "../support/cases/count.ts";
import { draw, smallest } from "../support/cases/problem/draw.ts";
import { BACKWARD_STATISTIC, checkBackward } from "../support/oracles/backward-oracle.ts";

const CASES = caseCount(500, 1500);
const SEED = Number(process.env.HEED_SEED ?? 31_121);
/** Maximum length of a sequence. */
const MOST = 100;
/** Seconds after which a run counts as hanging. */
const SECONDS = Math.max(240, CASES / 10);

const runs = LEVELS.filter(has).flatMap((level) =>
  THREADS.filter((threads) => level !== "reference" || threads === 1).map((threads) => ({ level, threads })),
);
const share = Math.ceil(CASES / runs.length);
let [done, bounded, worst] = [0, 0, 0];
const ratios: number[] = [];

afterAll(restore);

describe(`random backward calls from seed ${SEED}, ${CASES} in all`, () => {
  runs.forEach(({ level, threads }, n) => {
    it(`${level}, ${threads} ${threads === 1 ? "thread" : "threads"}: ${share} cases are within the bound`, {
      timeout: (SECONDS + 60) * 1000,
    }, () => {
      use(level, threads);
      for (let ran = 0; ran < share; ran++) {
        const seed = SEED + n * share + ran;
        try {
          const measure = checkBackward(draw(seed, MOST));
          worst = Math.max(worst, measure.use);
          if (measure.bounded) bounded++;
          ratios.push(...measure.ratios);
        } catch (error) {
          throw smallest(checkBackward, seed, MOST, error);
        }
      }
      done += share;
    });
  });

  it("nearly all cases have a bound", () => {
    console.log(
      `${done} backward cases, ${bounded} with a bound: at most ${(100 * worst).toFixed(0)} % of it`,
    );
    expect(bounded).toBeGreaterThan(0.8 * done);
  });

  it("errors are those of the textbook's float32, in the middle and at the tail", () => {
    ratios.sort((a, b) => a - b);
    const [median, p99] = [0.5, 0.99].map((p) => ratios[Math.floor(p * (ratios.length - 1))]);
    console.log(
      `${ratios.length} gradients: error over textbook float32: median ${median.toFixed(2)}, 99th percentile ${p99.toFixed(2)}`,
    );
    expect(median).toBeLessThanOrEqual(BACKWARD_STATISTIC.median);
    expect(p99).toBeLessThanOrEqual(BACKWARD_STATISTIC.p99);
  });
});
