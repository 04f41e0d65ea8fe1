/**
 * Counts checks of the plain scripts (platform runs, browser, package) and prints them the way the runner reads them:
 * a line for each check that did not pass, then `N passed, N failed, N skipped` alone on the last line.
 * Runs in Node and in pages, so it touches nothing of either.
 */

/** The closing line of a run. */
export const CLOSING = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;

/** Counts of checks, added up as they come in. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;

  /** @param {(line: string) => void} print where lines go */
  constructor(print) {
    this.print = print;
  }

  /**
   * One check: `problem` is empty where it passed.
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
   * One check that was left out, and why.
   * @param {string} name
   * @param {string} why
   */
  skip(name, why) {
    this.skipped++;
    this.print(`  left out: ${name}: ${why}`);
  }

  /** Adds the counts of the closing line in `text`; false where there is none. @param {string} text */
  add(text) {
    const found = text
      .trimEnd()
      .split("\n")
      .map((line) => CLOSING.exec(line.trim()))
      .findLast((match) => match !== null);
    if (found === undefined || found === null) return false;
    this.passed += Number(found[1]);
    this.failed += Number(found[2]);
    this.skipped += Number(found[3]);
    return true;
  }

  /** The closing line. */
  toString() {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }
}
