/** Tests of the built package (`dist/`). In a clone without a build they are skipped, with the sentence that says why. */
import { existsSync } from "node:fs";
import { describe, it } from "vitest";
import { at } from "../../tools/setup.mjs";

/** Whether `npm run build` has made the package, the element and the pages. */
export const isBuilt = ["dist/index.js", "dist/attention-view.js", "dist/page/index.html"].every((file) =>
  existsSync(at(file)),
);

if (!isBuilt)
  process.stderr.write("skipped: tests of the built package, because dist/ is missing (npm run build)\n");

/** `it`, on the built package. */
export const itBuilt = it.skipIf(!isBuilt);

/** `describe`, on the built package. */
export const describeBuilt = describe.skipIf(!isBuilt);
