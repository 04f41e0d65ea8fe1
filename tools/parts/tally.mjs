/**
 * Counts the checks of plain scripts (platform runs, browser, package) and prints them in the format that the runner reads:
 * a line for each check that did not pass, then the last line `N passed, N failed, N skipped`. It keeps the lines of failures, so
 * that a run of many parts can print them once more at its end.
 * Runs in Node and in pages, so it uses no API of either.
 */

/** The last line of a run. */
const CLOSING = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;

/** The line of a check that failed. */
const FAILED = /^ {2}FAILED (.*)$/;

/** Counts of checks. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** @type {string[]} a line for each check that failed: its name and the problem */
  failures = [];

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
      this.failures.push(`${name}: ${problem}`);
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

  /** Adds the counts of the last line of `text`, and its lines of failures; false if it has no last line. @param {string} text */
  add(text) {
    const lines = text.trimEnd().split("\n");
    for (const line of lines) {
      const failure = FAILED.exec(line)?.[1];
      if (failure !== undefined) this.failures.push(failure);
    }
    const closing = lines.map((line) => CLOSING.exec(line.trim())).findLast((match) => match !== null);
    if (closing === undefined || closing === null) return false;
    this.passed += Number(closing[1]);
    this.failed += Number(closing[2]);
    this.skipped += Number(closing[3]);
    return true;
  }

  /** Adds the counts and the failures of another tally. @param {Tally} other */
  include(other) {
    this.passed += other.passed;
    this.failed += other.failed;
    this.skipped += other.skipped;
    this.failures.push(...other.failures);
  }

  /** The last line. */
  toString() {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }
}
