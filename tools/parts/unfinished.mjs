/** The tests of a Vitest run whose process ended before they had a result: Vitest counts them neither as passed nor as failed. */
import { relative } from "node:path";
import { root } from "../setup.mjs";

/**
 * @typedef {{ name: string, status: string, assertionResults: { fullName: string, status: string }[] }} FileResult
 * @param {{ testResults: FileResult[] }} report of Vitest's JSON reporter
 * @returns {string[]} a line for each file without tests and for each test without a result
 */
export function unfinishedTests({ testResults }) {
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name);
    // A file that does not load has failed, and is reported as such.
    if (assertionResults.length === 0 && status !== "failed") return [file];
    return assertionResults
      .filter((one) => one.status === "pending")
      .map((one) => `${file}: ${one.fullName}`);
  });
}
