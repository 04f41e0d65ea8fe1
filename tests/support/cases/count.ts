/**
 * The size of a sweep over random cases: with HEED_ALL=1, as before a release, all of them; otherwise a sample from the same seed, as in
 * `npm test`.
 */
export const sweepSize = (sample: number, all: number): number =>
  process.env.HEED_ALL === "1" ? all : sample;

/** The same, unless HEED_CASES sets a number. */
export const caseCount = (sample: number, all: number): number =>
  Number(process.env.HEED_CASES ?? sweepSize(sample, all));
