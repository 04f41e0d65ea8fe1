/**
 * The number of a commit, which says what parts of long sweeps `npm test` runs (tests/support/cases/count.ts): HEED_TURN, or a number of
 * the files that the commit has. The result depends on the commit alone, and each commit tries others.
 */
import { spawnSync } from "node:child_process";
import { root } from "../setup.mjs";

/** A number of the commit; 0 outside a git repository. */
function turnOfCommit() {
  const { status, stdout } = spawnSync("git", ["rev-parse", "--short=7", "HEAD^{tree}"], {
    cwd: root,
    encoding: "utf8",
  });
  return status === 0 ? Number.parseInt(stdout.slice(0, 7), 16) : 0;
}

/** The processes of one run share it: they inherit the variable. */
process.env.HEED_TURN ??= `${turnOfCommit()}`;
export const turn = Number(process.env.HEED_TURN);
