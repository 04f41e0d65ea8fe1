/**
 * Counts the checks of plain scripts (platform runs, browser, package) and prints them in the format that the runner reads:
 * a line for each check that did not pass, then the last line `N passed, N failed, N skipped`.
 * Runs in Node and in pages, so it uses no API of either.
 */

/** The last line of a run. */
const CLOSING = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;

/** Counts of checks. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;

  /** @param {(line: string) => void} print prints a line */
  constructor(print) {
    this.print = print;
  }

  /**
   * One check: `problem` is empty if it passed.
   * @param {string} name
   * @param {string} problem
   */
  check(name, problem) {
    if (problem === "") this.passed++;
    else {
      this.failed++;
      this.print(`  FAILED ${name}: ${problem}`);
    }
  }

  /**
   * One check that was skipped, and why.
   * @param {string} name
   * @param {string} why
   */
  skip(name, why) {
    this.skipped++;
    this.print(`  skipped: ${name}: ${why}`);
  }

  /** Adds the counts of the last line of `text`; false if it has none. @param {string} text */
  add(text) {
    const closing = text
      .trimEnd()
      .split("\n")
      .map((line) => CLOSING.exec(line.trim()))
      .findLast((match) => match !== null);
    if (closing === undefined || closing === null) return false;
    this.passed += Number(closing[1]);
    this.failed += Number(closing[2]);
    this.skipped += Number(closing[3]);
    return true;
  }

  /** The last line. */
  toString() {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }
}
