/** fast-check with the seed of `seed.ts`: vitest.config.ts resolves `fast-check` to this file. */
import fc from "fast-check";
import { seed } from "./seed.ts";

fc.configureGlobal({ seed: seed | 0 });

export * from "fast-check";
export default fc;
