/** What the JSON reports of Vitest and Playwright say: the counts of a run, and a line for each test that failed or has no result. */
import { relative } from "node:path";
import { root } from "../setup.mjs";

/**
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[], unfinished: string[] }} Counts
 * failures: a line for each test that failed; unfinished: one for each without a result
 * @typedef {{ fullName: string, status: string, failureMessages?: string[] | null }} TestResult
 * @typedef {{ name: string, status: string, message?: string, assertionResults: TestResult[] }} FileResult
 * @typedef {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, numTodoTests?: number, testResults: FileResult[] }} VitestReport
 * @typedef {{ title: string, tests: { results: { error?: { message?: string } }[] }[] }} Spec
 * @typedef {{ file: string, specs: Spec[], suites?: Suite[] }} Suite
 * @typedef {{ stats: { expected: number, unexpected: number, flaky: number, skipped: number }, suites: Suite[] }} PlaywrightReport
 */

/** The first lines of an error, in one line. */
const short = (/** @type {string | undefined} */ message) =>
  (message ?? "no message")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: color codes of a terminal begin with one.
    .replace(/\u001b\[[\d;]*m/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, 4)
    .join(" | ")
    .slice(0, 400);

/** @param {VitestReport} report @returns {Counts} */
export function vitestCounts({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
  const failures = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    if (assertionResults.length === 0 && status === "failed") return [`${file}: ${short(message)}`];
    return assertionResults
      .filter((one) => one.status === "failed")
      .map((one) => `${file}: ${one.fullName}: ${short(one.failureMessages?.[0])}`);
  });
  const unfinished = testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name);
    // A file that does not load has failed, and is reported as such.
    if (assertionResults.length === 0 && status !== "failed") return [file];
    return assertionResults
      .filter((one) => one.status === "pending")
      .map((one) => `${file}: ${one.fullName}`);
  });
  return {
    passed: numPassedTests,
    failed: numFailedTests,
    skipped: numPendingTests + (numTodoTests ?? 0),
    failures,
    unfinished,
  };
}

/** A line for each test of a file that failed once. @param {Suite} suite @returns {string[]} */
const failuresOf = ({ file, specs, suites = [] }) => [
  ...specs.flatMap(({ title, tests }) => {
    const failure = tests.flatMap(({ results }) => results).find(({ error }) => error !== undefined);
    return failure === undefined ? [] : [`${file}: ${title}: ${short(failure.error?.message)}`];
  }),
  ...suites.flatMap(failuresOf),
];

/** A test that passed in its second run counts as failed. @param {PlaywrightReport} report @returns {Counts} */
export const playwrightCounts = ({ stats, suites }) => ({
  passed: stats.expected,
  failed: stats.unexpected + stats.flaky,
  skipped: stats.skipped,
  failures: suites.flatMap(failuresOf),
  unfinished: [],
});
