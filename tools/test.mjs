/**
 * `npm test`: installs, builds, checks types, style and doc comments, runs the suite on the source and again on the built package,
 * runs the built package on Node 20, 22, 24 and 26 and in Chromium, and reads the packed tarball. Runs on
 * Node 20.19 with nothing installed. What cannot be had (a Node, a Chromium) is said and counted as skipped.
 *
 * `npm test -- --only types,platforms` runs some parts; other arguments go to Vitest and Playwright: `npm test -- --only source window`.
 * The last line is `N passed, N failed, N skipped`, over all parts; the exit status is 1 where anything failed.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, install, NODES, pinned, root, run, say, toolchain } from "./setup.mjs";
import { Tally } from "./tally.mjs";

const PARTS = ["types", "lint", "docs", "source", "built", "platforms", "browser", "package"];
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
 * Runs one of the plain scripts, which ends with a closing line, and adds its counts.
 * @param {string} name
 * @param {string} node
 * @param {string[]} argv
 * @param {number} timeout seconds after which it counts as hanging
 * @returns {Promise<void>}
 */
function script(name, node, argv, timeout) {
  return new Promise((resolve) => {
    const child = spawn(node, argv, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, timeout * 1000);
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      process.stderr.write(chunk);
    });
    child.on("error", (error) => {
      text += error.message;
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const before = tally.failed;
      const closed = tally.add(text);
      if (late) tally.check(name, `had not ended by itself after ${timeout} s`);
      else if (!closed) tally.check(name, `ended with status ${code} and no closing line`);
      else if (code !== 0 && tally.failed === before) tally.check(name, `ended with status ${code}`);
      resolve();
    });
  });
}

/**
 * Runs Vitest and adds what its JSON report counts.
 * @param {string} name
 * @param {Record<string, string>} env
 */
function vitest(name, env) {
  const folder = mkdtempSync(join(tmpdir(), "heed-test-"));
  const report = join(folder, "report.json");
  const argv = [at("node_modules/vitest/vitest.mjs"), "run", "--reporter=default", "--reporter=json"];
  const status = run(pinned(), [...argv, `--outputFile.json=${report}`, ...args], { env });
  if (existsSync(report)) {
    const counts = JSON.parse(readFileSync(report, "utf8"));
    tally.passed += counts.numPassedTests;
    tally.failed += counts.numFailedTests;
    tally.skipped += counts.numPendingTests + (counts.numTodoTests ?? 0);
    // A file that does not load, or an error outside any test, fails no test of its own.
    if (status !== 0 && counts.numFailedTests === 0)
      tally.check(name, `Vitest ended with status ${status} (see above)`);
  } else tally.check(name, `Vitest ended with status ${status} and wrote no report`);
  rmSync(folder, { recursive: true, force: true });
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
    // A file that does not load fails no test of its own.
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

if (parts.includes("types")) {
  heading("types: tsc --noEmit");
  const status = run(node, [at("node_modules/typescript/bin/tsc"), "--noEmit", "-p", at("tsconfig.json")]);
  tally.check("types", status === 0 ? "" : "tsc found errors (see above)");
}

if (parts.includes("lint")) {
  heading("lint and import rules: biome ci");
  const status = run(node, [at("node_modules/@biomejs/biome/bin/biome"), "ci", "--error-on-warnings", "."]);
  tally.check("lint", status === 0 ? "" : "biome found problems (see above)");
}

if (parts.includes("docs")) {
  heading("the API reference: every export has a doc comment");
  const status = run(node, [at("tools/site.mjs"), "--check"]);
  tally.check("API reference", status === 0 ? "" : "TypeDoc found problems (see above)");
}

if (parts.includes("source")) {
  heading(
    `the suite on the source, Node ${process.versions.node.split(".")[0] === "24" ? "" : "24 "}`.trim(),
  );
  vitest("suite on the source", {});
}

if (parts.includes("built")) {
  heading("the suite on the built package");
  if (built) vitest("suite on the built package", { TEST_BUILT: "1" });
  else tally.skip("the suite on the built package", "the build failed");
}

if (parts.includes("platforms")) {
  for (const major of NODES.keys()) {
    heading(`the built package on Node ${major}`);
    const binary = built ? toolchain(major) : undefined;
    if (binary === undefined) {
      const why = built
        ? `no Node ${major} for ${process.platform} ${process.arch} on npm`
        : "the build failed";
      tally.skip(`the built package on Node ${major}`, why);
      continue;
    }
    const smoke = at("tests/platforms/smoke.mjs");
    await script(`Node ${major}`, binary, [smoke], 180);
    if (major === 20)
      await script("Node 20, relaxed SIMD", binary, ["--experimental-wasm-relaxed-simd", smoke], 180);
    await script(`Node ${major}, command line`, binary, [at("tests/platforms/command.mjs")], 180);
    if (major >= 24) {
      // Reads files and starts threads; everything else (writing, processes, from Node 25 on the network) is refused.
      const allowed = ["--permission", `--allow-fs-read=${root}`, "--allow-worker"];
      await script(`Node ${major}, permissions`, binary, [...allowed, smoke], 180);
    }
  }
}

if (parts.includes("browser")) {
  heading("the browser tests in Chromium");
  if (built) await playwright();
  else tally.skip("the browser tests", "the build failed");
  if (built) await script("the README's picture", node, [at("tools/pictures.mjs"), "--check"], 120);
}

if (parts.includes("package")) {
  heading("the packed tarball");
  if (built) await script("the packed tarball", node, [at("tools/pack.mjs")], 180);
  else tally.skip("the packed tarball", "the build failed");
}

say("");
process.exitCode = tally.failed > 0 ? 1 : 0;
process.stdout.write(`${tally}\n`);
