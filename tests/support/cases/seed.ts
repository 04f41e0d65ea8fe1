/**
 * The seed of tests that draw their cases: HEED_SEED, in CI a number of the commit, elsewhere the clock. The result of CI then depends on
 * the commit alone; other runs try other cases, and a failure prints its seed.
 */
import { turn } from "../../../tools/parts/turn.mjs";

export const seed = Number(process.env.HEED_SEED ?? (process.env.CI ? turn : Date.now() % 2 ** 32));
