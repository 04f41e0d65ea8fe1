/**
 * Do the tests catch mistakes? Plants one fault at a time in a copy of the repository, runs the tests that should detect it, and
 * requires that at least one of them fails (a file that no longer loads does not count). The repository itself is not changed.
 *
 *   node tools/faults.mjs            all faults
 *   node tools/faults.mjs causal io  those whose name or file contains one of the words
 *   node tools/faults.mjs --sample 3 three of them, drawn from those that unit tests detect; `--seed N` draws the same again
 *
 * `npm test` draws a sample by the commit. Prints `N caught, M missed` and the counts that tools/test.mjs adds up; exits with 1 if
 * one was missed, if its tests ran out of time, or if the text that a fault replaces no longer occurs exactly once. A new fault is
 * one row of tools/faults/table.mjs; `hangs: true` is the row of a fault whose tests wait for ever, which is then how it is caught.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAULTS, isOf } from "./faults/table.mjs";
import { at } from "./setup.mjs";

/** The result of a run of tests. */
const PASSED = "passed";
const FAILED = "failed";
const BROKEN = "broken";
const LATE = "out of time";

/** Time limits: of a run, and of all test files together without a fault. */
const [LIMIT_MS, ALL_MS] = [180_000, 1_200_000];

const words = process.argv.slice(2);
/** @param {string} name */
const numberOf = (name) => {
  const at = words.indexOf(name);
  return at < 0 ? undefined : Number(words.splice(at, 2)[1]);
};
const sample = numberOf("--sample");
const seed = numberOf("--seed") ?? Date.now() % 2 ** 31;
const named = FAULTS.filter(
  ({ name, file }) => words.length === 0 || words.some((word) => `${name} ${file}`.includes(word)),
);
const chosen = sample === undefined ? named : drawn(named.filter(isQuick), sample, seed);
if (chosen.length === 0) throw new Error(`no fault has one of the words ${words.join(", ")}`);
if (sample !== undefined) console.log(`a sample of ${chosen.length}; --seed ${seed} draws it again`);

/** Whether unit tests beside the source detect it: they take seconds. @param {import("./faults/table.mjs").Fault} fault */
function isQuick({ tests }) {
  return tests.every((test) => test.startsWith("src/"));
}

/**
 * Some of a list, drawn by a seed (mulberry32).
 * @template T
 * @param {readonly T[]} list
 * @param {number} count
 * @param {number} seed
 */
function drawn(list, count, seed) {
  const rest = [...list];
  const some = [];
  for (let state = seed; some.length < count && rest.length > 0; ) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const place = Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * rest.length);
    some.push(...rest.splice(place, 1));
  }
  return some;
}

const folder = mkdtempSync(join(tmpdir(), "heed-faults-"));
const copy = join(folder, "heed");
const COPIED =
  "src tests tools docs examples explorer lab models ui package.json tsconfig.json vitest.config.ts README.md";
for (const name of COPIED.split(" "))
  if (existsSync(at(name))) cpSync(at(name), join(copy, name), { recursive: true });
symlinkSync(at("node_modules"), join(copy, "node_modules"));
// Large golden data is beside the repository; tests that need it are skipped where it is absent.
if (existsSync(at("../shared"))) symlinkSync(at("../shared"), join(folder, "shared"));

/**
 * Runs test files in the copy.
 * @param {readonly string[]} tests
 * @param {number} limit milliseconds
 */
function run(tests, limit = LIMIT_MS) {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const vitest = join(copy, "node_modules/vitest/vitest.mjs");
  const { error } = spawnSync(
    process.execPath,
    [vitest, "run", "--bail=1", "--reporter=json", `--outputFile=${report}`, ...tests],
    { cwd: copy, timeout: limit, stdio: "ignore", env: { ...process.env, HEED_CASES: "600", NO_COLOR: "1" } },
  );
  if (error && /** @type {NodeJS.ErrnoException} */ (error).code === "ETIMEDOUT") return LATE;
  if (!existsSync(report)) return BROKEN;
  const { numFailedTests, success } = JSON.parse(readFileSync(report, "utf8"));
  return numFailedTests > 0 ? FAILED : success ? PASSED : BROKEN;
}

/** The test files of the last run in which a test ran. */
function filesThatRan() {
  /** @type {import("vitest/node").JsonTestResults} */
  const { testResults } = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  return testResults
    .filter(({ assertionResults }) => assertionResults.some(({ status }) => status === "passed"))
    .map(({ name }) => name);
}

/** The failures of the last run, with their tests. */
function failures() {
  const report = join(folder, "report.json");
  if (!existsSync(report)) return "no report";
  /** @type {import("vitest/node").JsonTestResults} */
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  return testResults
    .filter(({ status }) => status !== "passed")
    .flatMap(({ name, message, assertionResults }) => [
      [name, message].join(" "),
      ...assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ fullName, failureMessages }) => [fullName, ...(failureMessages ?? [])].join("\n")),
    ])
    .join("\n");
}

let [caught, missed, stale, skipped, late] = [0, 0, 0, 0, 0];
try {
  const all = [...new Set(chosen.flatMap(({ tests }) => tests))];
  console.log(`${chosen.length} faults; the ${all.length} test files without any:`);
  const clean = run(all, ALL_MS);
  console.log(`  ${clean}`);
  if (clean !== PASSED) throw new Error(`the tests must pass before faults are planted:\n${failures()}`);
  const ran = filesThatRan();
  for (const { name, file, find, put, tests, hangs = false } of chosen) {
    const path = join(copy, file);
    const text = readFileSync(path, "utf8");
    if (text.split(find).length !== 2) {
      console.log(`stale   ${file}: ${name} (its text occurs ${text.split(find).length - 1} times)`);
      stale++;
      continue;
    }
    if (!tests.some((test) => ran.some((path) => isOf(test, path)))) {
      console.log(`skipped ${file}: ${name} (its tests are skipped on this machine)`);
      skipped++;
      continue;
    }
    writeFileSync(
      path,
      text.replace(find, () => put),
    );
    const result = run(tests);
    writeFileSync(path, text);
    const isCaught = result === FAILED || (result === LATE && hangs);
    if (isCaught) caught++;
    else if (result === LATE) late++;
    else missed++;
    const words = { [BROKEN]: "BROKEN", [LATE]: "LATE  ", [PASSED]: "MISSED", [FAILED]: "caught" };
    console.log(`${isCaught ? "caught" : words[result]}  ${file}: ${name}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  `${caught} caught, ${missed} missed${stale ? `, ${stale} stale` : ""}${late ? `, ${late} out of time` : ""}`,
);
console.log(`${caught} passed, ${missed + stale + late} failed, ${skipped} skipped`);
process.exitCode = missed + stale + late > 0 ? 1 : 0;
