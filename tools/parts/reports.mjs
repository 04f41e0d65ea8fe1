/** What the JSON reports of Vitest and Playwright say: the counts of a run, and a line for each test that failed or has no result. */
import { relative } from "node:path";
import { root } from "../setup.mjs";

/**
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[], unfinished: string[], repeated?: string[] }} Counts
 * failures: a line for each test that failed; unfinished: one for each without a result; repeated: one for each that passed in its second run
 * @typedef {{ fullName: string, status: string, failureMessages?: string[] | null }} TestResult
 * @typedef {{ name: string, status: string, message?: string, assertionResults: TestResult[] }} FileResult
 * @typedef {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, numTodoTests?: number, testResults: FileResult[] }} VitestReport
 * @typedef {{ title: string, tests: { status: string, results: { error?: { message?: string } }[] }[] }} Spec
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

/** More tests than this that pass only in their second run are failures: then it is not chance. */
const REPEATED = 2;

/** A line for each test of a file that ended so: "unexpected", or "flaky" (passed in its second run). @param {Suite} suite @param {string} end @returns {string[]} */
const endedSo = ({ file, specs, suites = [] }, end) => [
  ...specs.flatMap(({ title, tests }) => {
    const results = tests.filter(({ status }) => status === end).flatMap(({ results }) => results);
    if (results.length === 0) return [];
    return [`${file}: ${title}: ${short(results.find(({ error }) => error !== undefined)?.error?.message)}`];
  }),
  ...suites.flatMap((suite) => endedSo(suite, end)),
];

/** A test that passed in its second run counts as passed and is named, up to `REPEATED` of them. @param {PlaywrightReport} report @returns {Counts} */
export function playwrightCounts({ stats, suites }) {
  const failures = suites.flatMap((suite) => endedSo(suite, "unexpected"));
  const repeated = suites.flatMap((suite) => endedSo(suite, "flaky"));
  const tooMany = stats.flaky > REPEATED;
  return {
    passed: stats.expected + (tooMany ? 0 : stats.flaky),
    failed: stats.unexpected + (tooMany ? stats.flaky : 0),
    skipped: stats.skipped,
    failures: tooMany ? [...failures, ...repeated] : failures,
    unfinished: [],
    repeated: tooMany ? [] : repeated,
  };
}
