// @ts-check
/**
 * Debian packages that tests need, installed only where HEED_INSTALL=1 allows it: `npm test` and .ci/run set it and say so, a test
 * that is run by itself installs nothing. Test files run at the same time: one process
 * installs and the others wait for it, so that none uses a package that is only half installed. Imports Node's own modules only.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Seconds of one call of apt-get, and of waiting for another process that installs. */
const [APT, WAIT] = [400, 1000];

/**
 * Runs under the lock: whether a file is missing is known only there. apt-get repeats downloads that fail. A failure is kept for
 * five minutes, so that the next test files do not wait for the same mirror.
 */
const SCRIPT = `
for file in $HEED_FILES; do [ -e "$file" ] || missing=1; done
[ -n "$missing" ] || exit 0
if [ -n "$(find "$HEED_FAILED" -mmin -5 2>/dev/null)" ]; then cat "$HEED_FAILED" >&2; exit 1; fi
apt="timeout ${APT} apt-get -qq -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o DPkg::Lock::Timeout=300"
export DEBIAN_FRONTEND=noninteractive
if $apt update 2>"$HEED_FAILED" && $apt install -y --no-install-recommends $HEED_PACKAGES 2>"$HEED_FAILED"
then rm -f "$HEED_FAILED"
else status=$?; cat "$HEED_FAILED" >&2; exit $status
fi`;

/** Exit status of `timeout` and of `flock` where the time was over. */
const [LATE, LOCKED] = [124, 75];

/**
 * Installs packages if one of `files` is missing, and returns why they could not be installed, or "".
 * @param {readonly string[]} packages
 * @param {readonly string[]} files absolute paths, one or more of each package
 * @param {{ lock?: string, env?: NodeJS.ProcessEnv }} [options] the lock file, and variables of the environment
 * @returns {string}
 */
export function installLocked(packages, files, { lock = join(tmpdir(), "heed-apt.lock"), env } = {}) {
  const done = spawnSync("flock", ["-w", `${WAIT}`, "-E", `${LOCKED}`, lock, "sh", "-c", SCRIPT], {
    env: {
      ...process.env,
      ...env,
      HEED_FILES: files.join(" "),
      HEED_PACKAGES: packages.join(" "),
      HEED_FAILED: `${lock}-${packages.join("-")}`,
    },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (done.status === 0) return "";
  if (done.status === LOCKED) return `another process has installed packages for ${WAIT} s`;
  const late = done.status === LATE ? `apt-get had not ended after ${APT} s; ` : "";
  const message = (done.stderr ?? "").trim().split("\n").slice(-3).join("; ");
  return `${late}${message || (done.error?.message ?? `it ended with ${done.signal ?? done.status}`)}`;
}

/**
 * Installs Debian's packages as root, where one of `files` is missing and HEED_INSTALL=1. Prints what is installed, and why it
 * could not be.
 * @param {readonly string[]} packages
 * @param {readonly string[]} files
 */
export function installPackages(packages, files) {
  const isAllowed = process.env.HEED_INSTALL === "1" && process.getuid?.() === 0;
  if (!isAllowed || !existsSync("/etc/debian_version")) return;
  if (!files.every((file) => existsSync(file)))
    process.stderr.write(`installing ${packages.join(" ")} with apt-get …\n`);
  const problem = installLocked(packages, files);
  if (problem !== "")
    process.stderr.write(
      `apt-get could not install ${packages.join(" ")}: ${problem}; is the mirror reachable?\n`,
    );
}
