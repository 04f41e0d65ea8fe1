/** Corrupted files of each format, from a seed: each is read and written again to the same tensors, or raises a FormatError with its offset. */
import { describe, expect, test } from "vitest";
import { sweepSize } from "../support/cases/count.ts";
import { seed } from "../support/cases/seed.ts";
import { FORMATS, readMutants } from "./mutants.ts";

const COUNT = sweepSize(25_000, 100_000);

describe(`mutated files (HEED_SEED=${seed})`, () => {
  test.each(FORMATS)(
    "no mutant of %s does anything but read right or raise a FormatError",
    { timeout: 300_000 },
    async (format) => {
      const { mutants, accepted, refused } = await readMutants(format, COUNT, seed);
      console.log(`${format}, seed ${seed}: ${accepted} valid, ${JSON.stringify(refused)}`);
      expect(mutants).toBe(COUNT);
      // Both outcomes happen, and the mutations reach many checks: otherwise the generator tests too little.
      expect(accepted).toBeGreaterThan(COUNT / 200);
      expect(Object.keys(refused).length).toBeGreaterThan(8);
    },
  );
});
