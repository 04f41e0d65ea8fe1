/**
 * The differential driver over many problems (tests/conformance/differential.ts):
 *
 *   node tools/differential.mjs --count 1000000 --seed 1    a million problems from seed 1
 *   node tools/differential.mjs --seed 77 --limit 8         one problem, lengths up to 8: as a failure prints it
 *
 * Prints each failure as the command that reproduces it, and exits with 1 after ten of them.
 */
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { entryPoints } from "./build/entry-points.mjs";

const { values } = parseArgs({
  options: { count: { type: "string" }, seed: { type: "string" }, limit: { type: "string" } },
});
const [count, seed, limit] = [values.count ?? "1", values.seed ?? "1", values.limit ?? "0"].map(Number);

// The tests import the package by its name: here, its source.
registerHooks({
  resolve(name, context, next) {
    const entry = entryPoints.find((one) => one.name === name);
    return entry ? { url: pathToFileURL(entry.source).href, shortCircuit: true } : next(name, context);
  },
});
const { compareSeed } = await import("../tests/conformance/differential.ts");
const { has, LEVELS } = await import("../tests/support/backends/levels.ts");
const levels = LEVELS.filter(has);

const start = performance.now();
let [answers, bounded, failures] = [0, 0, 0];
for (let n = 0; n < count && failures < 10; n++) {
  try {
    const { answers: compared } = await compareSeed(seed + n, levels, limit);
    answers += compared;
    if (compared > 0) bounded++;
  } catch (error) {
    failures++;
    console.log(/** @type {Error} */ (error).message);
  }
  if ((n + 1) % 10_000 === 0) console.log(`${n + 1} problems, ${failures} failures`);
}
const seconds = ((performance.now() - start) / 1000).toFixed(1);
console.log(
  `${count} problems from seed ${seed} on ${levels.join(", ")}: ${bounded} with a bound, ${answers} results compared, ${failures} failures, ${seconds} s`,
);
process.exit(failures > 0 ? 1 : 0);
