/**
 * `npm test`: installs, builds, checks types, style and doc comments, runs each test of the suite once (tests that import only
 * the package's entry points on the built package, the others on the source), runs the built package on Node 20, 22, 24 and
 * 26 and in Chromium, and reads the packed tarball. Runs on Node 20.19 with nothing installed. If a Node or a Chromium is not
 * available, the checks that need it are reported and counted as skipped.
 *
 * `npm test -- --only types,platforms` runs some parts; other arguments go to Vitest and Playwright: `npm test -- --only source window`.
 * The last line is `N passed, N failed, N skipped`, over all parts; the exit status is 1 where anything failed.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, install, NODES, pinned, root, run, say, toolchain } from "./setup.mjs";
import { Tally } from "./tally.mjs";

const PARTS = ["types", "lint", "docs", "source", "faults", "built", "platforms", "browser", "package"];
const args = process.argv.slice(2);
const only = args.indexOf("--only");
const parts = only < 0 ? PARTS : (args.splice(only, 2)[1] ?? "").split(",");
for (const part of parts)
  if (!PARTS.includes(part)) {
    say(`npm test: --only takes ${PARTS.join(", ")}; got "${part}"`);
    process.exit(2);
  }

process.chdir(root);
const tally = new Tally(say);
const began = Date.now();

/** @param {string} title */
const heading = (title) => say(`\n── ${title} (${((Date.now() - began) / 1000).toFixed(0)} s)`);

/**
 * Runs a program and resolves to its exit status and its output. The output is shown immediately, or in one piece when the program
 * ends if several run side by side.
 * @param {string} command
 * @param {string[]} argv
 * @param {{ timeout?: number, title?: string }} [options] timeout in seconds; title: shows the output in one piece under this title
 * @returns {Promise<{ status: number | null, text: string, late: boolean }>}
 */
function output(command, argv, { timeout = 600, title } = {}) {
  return new Promise((resolve) => {
    const started = Date.now();
    const child = spawn(command, argv, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    let [text, shown] = ["", ""];
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, timeout * 1000);
    const show = (/** @type {string} */ chunk) => {
      if (title === undefined) process.stderr.write(chunk);
      else shown += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      show(chunk);
    });
    child.stderr.setEncoding("utf8").on("data", show);
    child.on("error", (error) => {
      text += error.message;
      show(error.message);
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      if (title !== undefined)
        process.stderr.write(`· ${title} (${((Date.now() - started) / 1000).toFixed(0)} s)\n${shown}`);
      resolve({ status, text, late });
    });
  });
}

/**
 * Runs a plain script, whose last line has its counts, and adds them.
 * @param {string} name
 * @param {string} node
 * @param {string[]} argv
 * @param {number} timeout in seconds, after which the script counts as hanging
 * @param {string} [title] see `output`
 */
async function script(name, node, argv, timeout, title) {
  const { status, text, late } = await output(node, argv, { timeout, title });
  const before = tally.failed;
  const closed = tally.add(text);
  if (late) tally.check(name, `had not ended by itself after ${timeout} s`);
  else if (!closed) tally.check(name, `ended with status ${status} and no closing line`);
  else if (status !== 0 && tally.failed === before) tally.check(name, `ended with status ${status}`);
}

/**
 * A check that passes if a program exits with 0.
 * @param {string} name
 * @param {string[]} argv of the pinned Node
 */
async function check(name, argv) {
  const { status } = await output(node, argv, { title: name });
  tally.check(name, status === 0 ? "" : `it ended with status ${status} (see above)`);
}

/**
 * Runs Vitest and adds what its JSON report counts.
 * @param {string} name
 * @param {Record<string, string>} env
 */
function vitest(name, env) {
  const folder = mkdtempSync(join(tmpdir(), "heed-test-"));
  const report = join(folder, "report.json");
  const argv = [
    at("node_modules/vitest/vitest.mjs"),
    "run",
    "--passWithNoTests",
    "--reporter=default",
    "--reporter=json",
  ];
  const status = run(pinned(), [...argv, `--outputFile.json=${report}`, ...args], { env });
  if (existsSync(report)) {
    const counts = JSON.parse(readFileSync(report, "utf8"));
    tally.passed += counts.numPassedTests;
    tally.failed += counts.numFailedTests;
    tally.skipped += counts.numPendingTests + (counts.numTodoTests ?? 0);
    // A file that does not load, or an error outside of any test, is not in the counts.
    if (status !== 0 && counts.numFailedTests === 0)
      tally.check(name, `Vitest ended with status ${status} (see above)`);
  } else tally.check(name, `Vitest ended with status ${status} and wrote no report`);
  rmSync(folder, { recursive: true, force: true });
}

/** `--seed N` with a number of the commit, so that each run on it draws the same faults; nothing outside a git repository. */
function seedOfCommit() {
  const { status, stdout } = spawnSync("git", ["rev-parse", "--short=7", "HEAD^{tree}"], {
    cwd: root,
    encoding: "utf8",
  });
  return status === 0 ? ["--seed", `${Number.parseInt(stdout.slice(0, 7), 16)}`] : [];
}

/** Runs Playwright on the browser tests and adds what its JSON report counts. */
async function playwright() {
  const { chromiumPath, NO_CHROMIUM } = await import("../tests/platforms/chromium.mjs");
  if (chromiumPath() === undefined) {
    tally.skip("the browser tests", NO_CHROMIUM);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "heed-test-"));
  const report = join(folder, "report.json");
  const argv = [at("node_modules/@playwright/test/cli.js"), "test", "--reporter=list,json"];
  const status = run(pinned(), [...argv, "--pass-with-no-tests", ...args], {
    env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report },
  });
  if (existsSync(report)) {
    const { stats } = JSON.parse(readFileSync(report, "utf8"));
    tally.passed += stats.expected;
    tally.failed += stats.unexpected + stats.flaky;
    tally.skipped += stats.skipped;
    // A file that does not load is not in the counts.
    if (status !== 0 && stats.unexpected === 0)
      tally.check("the browser tests", `Playwright ended with status ${status} (see above)`);
  } else tally.check("the browser tests", `Playwright ended with status ${status} and wrote no report`);
  rmSync(folder, { recursive: true, force: true });
}

heading("install and build");
install();
const node = pinned();
const builtStatus = run(node, [at("tools/build.mjs")]);
tally.check("build", builtStatus === 0 ? "" : "tsc found errors (see above)");
const built = builtStatus === 0;

/** Static checks, each a separate program: they run side by side. */
const CHECKS = new Map([
  ["types", ["node_modules/typescript/bin/tsc", "--noEmit", "-p", at("tsconfig.json")]],
  ["lint", ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."]],
  ["docs", ["tools/site.mjs", "--check"]],
]);
const checks = [...CHECKS].filter(([name]) => parts.includes(name));
if (checks.length > 0) {
  heading(
    `${checks.map(([name]) => name).join(", ")}: tsc --noEmit; biome ci; every export has a doc comment`,
  );
  await Promise.all(checks.map(([name, [program, ...argv]]) => check(name, [at(program), ...argv])));
}

if (parts.includes("source")) {
  const rest = parts.includes("built");
  heading(`the suite on the source${rest ? ", except the tests that run on the built package" : ""}`);
  vitest("suite on the source", rest ? { TEST_INTERNAL: "1" } : {});
}

if (parts.includes("faults")) {
  heading("planted faults: a sample of tools/faults.mjs");
  await script("planted faults", node, [at("tools/faults.mjs"), "--sample", "3", ...seedOfCommit()], 1200);
}

if (parts.includes("built")) {
  heading("the suite on the built package");
  if (built) vitest("suite on the built package", { TEST_BUILT: "1" });
  else tally.skip("the suite on the built package", "the build failed");
}

/** The built package on one Node. @param {number} major */
async function platform(major) {
  const binary = built ? toolchain(major) : undefined;
  if (binary === undefined) {
    const why = built
      ? `no Node ${major} for ${process.platform} ${process.arch} on npm`
      : "the build failed";
    tally.skip(`the built package on Node ${major}`, why);
    return;
  }
  const smoke = at("tests/platforms/smoke.mjs");
  const run = (/** @type {string} */ name, /** @type {string[]} */ ...argv) =>
    script(name, binary, argv, 900, name);
  await run(`Node ${major}`, smoke);
  if (major === 20) await run("Node 20, relaxed SIMD", "--experimental-wasm-relaxed-simd", smoke);
  await run(`Node ${major}, command line`, at("tests/platforms/command.mjs"));
  // It may read files and start threads; everything else (writing, processes, from Node 25 the network) is denied.
  if (major >= 24)
    await run(
      `Node ${major}, permissions`,
      "--permission",
      `--allow-fs-read=${root}`,
      "--allow-worker",
      smoke,
    );
}

if (parts.includes("platforms")) {
  heading(`the built package on Node ${[...NODES.keys()].join(", ")}`);
  const waiting = [...NODES.keys()];
  const lane = async () => {
    for (let major = waiting.shift(); major !== undefined; major = waiting.shift()) await platform(major);
  };
  await Promise.all([lane(), lane()]);
}

if (parts.includes("browser")) {
  heading("the browser tests in Chromium");
  if (built) await playwright();
  else tally.skip("the browser tests", "the build failed");
  if (built) await script("the README's picture", node, [at("tools/pictures.mjs"), "--check"], 600);
}

if (parts.includes("package")) {
  heading("the packed tarball");
  if (built) await script("the packed tarball", node, [at("tools/pack.mjs")], 900);
  else tally.skip("the packed tarball", "the build failed");
}

say("");
process.exitCode = tally.failed > 0 ? 1 : 0;
process.stdout.write(`${tally}\n`);
