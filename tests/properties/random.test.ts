/**
 * Random calls against the formula in float64, over every level and 1, 2, 3 and 7 threads: Bound B for each, Statistic A for
 * all (tests/support/oracles/tolerance.ts). HEED_ALL=1 draws 3,000, HEED_CASES as many as it says (50,000 for the long run), from
 * HEED_SEED on. A failing case is reduced before it is reported.
 */
import { afterAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, THREADS, use } from "../support/backends/levels.ts";
import { caseCount } from "../support/cases/count.ts";
import { draw, smallest } from "../support/cases/problem/draw.ts";
import { check, type Measure } from "../support/oracles/oracle.ts";
import { STATISTIC_A } from "../support/oracles/tolerance.ts";

const CASES = caseCount(1000, 3000);
const SEED = Number(process.env.HEED_SEED ?? 20261121);
/** Maximum length of a sequence. */
const MOST = 200;
/** Seconds after which a run counts as hanging. */
const SECONDS = Math.max(150, CASES / 20);

const levels = LEVELS.filter(has);
const runs = levels.flatMap((level) =>
  THREADS.filter((threads) => level !== "reference" || threads === 1).map((threads) => ({ level, threads })),
);
const share = Math.ceil(CASES / runs.length);
const ratios: number[] = [];
let done = 0;
let worst = 0;

afterAll(restore);

describe(`random calls from seed ${SEED}, ${CASES} in all`, () => {
  runs.forEach(({ level, threads }, n) => {
    it(`${level}, ${threads} ${threads === 1 ? "thread" : "threads"}: ${share} cases are within Bound B`, {
      timeout: (SECONDS + 60) * 1000,
    }, () => {
      use(level, threads);
      for (let ran = 0; ran < share; ran++) {
        const seed = SEED + n * share + ran;
        let measure: Measure;
        try {
          measure = check(draw(seed, MOST), { ratio: true });
        } catch (error) {
          throw smallest(check, seed, MOST, error);
        }
        worst = Math.max(worst, measure.use);
        if (measure.ratio !== undefined) ratios.push(measure.ratio);
      }
      done += share;
    });
  });

  it("Statistic A: errors are those of the textbook's float32, in the middle and at the tail", () => {
    ratios.sort((a, b) => a - b);
    const [median, p99] = [0.5, 0.99].map((p) => ratios[Math.floor(p * (ratios.length - 1))]);
    console.log(
      `${done} cases on ${runs.map((run) => `${run.level}×${run.threads}`).join(" ")}: at most ${(100 * worst).toFixed(0)} % of Bound B; error over textbook float32: median ${median.toFixed(2)}, 99th percentile ${p99.toFixed(2)}`,
    );
    expect(median).toBeLessThanOrEqual(STATISTIC_A.median);
    expect(p99).toBeLessThanOrEqual(STATISTIC_A.p99);
  });
});
