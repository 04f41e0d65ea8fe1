/**
 * The seed of tests that draw their cases: HEED_SEED, in CI a fixed number, elsewhere the clock. The result of CI then depends on
 * the change alone; other runs try other cases, and a failure prints its seed.
 */
export const seed = Number(process.env.HEED_SEED ?? (process.env.CI ? 20_261_123 : Date.now() % 2 ** 32));
