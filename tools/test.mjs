/**
 * `npm test`: installs, builds, checks types, style and doc comments, runs each test of the suite once (tests that import only
 * the package's entry points on the built package, the others on the source), runs the built package on Node 20, 22, 24 and
 * 26 and in Chromium, and reads the packed tarball. Runs on Node 20.19 with nothing installed. If a Node or a Chromium is not
 * available, the checks that need it are reported and counted as skipped. As root on Debian it installs packages that tests need
 * (Chromium, a font, Open MPI, MPICH, zsh, fish) with apt-get and says so; HEED_INSTALL=0 refuses it.
 *
 * Many tests wait for other processes and leave the processor idle, so three rows of parts run side by side: Vitest, the browser, and the
 * tests of ranks on clusters, which mostly wait; whichever ends first begins the others. Their output is shown part by part (parts.mjs).
 *
 * `npm test -- --only types,platforms` runs some parts; other arguments go to Vitest and Playwright: `npm test -- --only source window`.
 * At the end a line for each browser test that passed only in its second run (more than two are failures) and for each test that
 * failed, then `N passed, N failed, N skipped` over all parts; the exit status is 1 where anything failed.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Parts } from "./parts/parts.mjs";
import { playwrightCounts, vitestCounts } from "./parts/reports.mjs";
import { turn } from "./parts/turn.mjs";
import { at, install, NODES, pinned, root, say, toolchain } from "./setup.mjs";

/** @typedef {import("./parts/parts.mjs").Part} Part */

const NAMES = [
  "types",
  "lint",
  "docs",
  "source",
  "cluster",
  "faults",
  "built",
  "platforms",
  "browser",
  "package",
];
const args = process.argv.slice(2);
const only = args.indexOf("--only");
const names = only < 0 ? NAMES : (args.splice(only, 2)[1] ?? "").split(",");
for (const name of names)
  if (!NAMES.includes(name)) {
    say(`npm test: --only takes ${NAMES.join(", ")}; got "${name}"`);
    process.exit(2);
  }
const has = (/** @type {string} */ name) => names.includes(name);

process.chdir(root);
process.env.HEED_INSTALL ??= "1";
/** Tests that passed in their second run. @type {string[]} */
const repeated = [];
const parts = new Parts(root, (text) => process.stderr.write(text));
install();
const node = pinned();
say(`installed (${parts.seconds()} s)`);

/**
 * Runs Vitest or Playwright with a JSON report and adds its counts.
 * @param {Part} part
 * @param {string[]} argv
 * @param {(report: string) => { argv?: string[], env?: Record<string, string> }} options from the path of the report
 * @param {(report: any) => import("./parts/reports.mjs").Counts} countsOf
 */
async function runner(part, argv, options, countsOf) {
  const folder = mkdtempSync(join(tmpdir(), "heed-test-"));
  const report = join(folder, "report.json");
  const { argv: more = [], env } = options(report);
  const { status } = await part.run(node, [...argv, ...more, ...args], { env });
  if (existsSync(report)) {
    const counts = countsOf(JSON.parse(readFileSync(report, "utf8")));
    part.tally.add(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    part.tally.failures.push(...counts.failures);
    repeated.push(...(counts.repeated ?? []));
    for (const name of counts.unfinished) part.tally.check(name, "has no result: its process ended early");
    // A file that does not load, or an error outside of any test, is not in the counts.
    if (status !== 0 && part.tally.failed === 0)
      part.tally.check(part.title, `ended with status ${status} (see above)`);
  } else part.tally.check(part.title, `ended with status ${status} and wrote no report`);
  rmSync(folder, { recursive: true, force: true });
}

/** @param {Part} part @param {Record<string, string>} env @param {string[]} argv */
const vitest = (part, env, ...argv) =>
  runner(
    part,
    [at("node_modules/vitest/vitest.mjs"), "run", "--passWithNoTests", ...argv],
    (report) => ({ argv: ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`], env }),
    vitestCounts,
  );

/** @param {Part} part */
async function playwright(part) {
  const { chromiumPath, NO_CHROMIUM } = await import("../tests/platforms/chromium.mjs");
  if (chromiumPath() === undefined) part.tally.skip("the browser tests", NO_CHROMIUM);
  // Beside Vitest, pages that wait leave no core idle: the first half of the tests has a worker a core, the second more.
  else
    for (const half of has("source") || has("built")
      ? [["--shard=1/2", `--workers=${availableParallelism()}`], ["--shard=2/2"]]
      : [[]])
      await runner(
        part,
        [at("node_modules/@playwright/test/cli.js"), "test", "--reporter=list,json", "--pass-with-no-tests"],
        (report) => ({ argv: half, env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report } }),
        playwrightCounts,
      );
}

/** The built package on one Node. @param {Part} part @param {number} major */
async function platform(part, major) {
  const binary = toolchain(major);
  if (binary === undefined) {
    const why = `no Node ${major} for ${process.platform} ${process.arch} on npm`;
    part.tally.skip(`the built package on Node ${major}`, why);
    return;
  }
  const smoke = at("tests/platforms/smoke.mjs");
  const run = (/** @type {string} */ title, /** @type {string[]} */ ...argv) =>
    part.script(title, binary, argv, { timeout: 900, title });
  await run(`Node ${major}`, smoke);
  if (major === 20) await run("Node 20, relaxed SIMD", "--experimental-wasm-relaxed-simd", smoke);
  if (major === 26) await run("Node 26, 256 bits", "--experimental-wasm-revectorize", smoke);
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

/**
 * A part of that name, where it is asked for.
 * @param {string} name
 * @param {string} title
 * @param {(part: Part) => Promise<void>} work
 */
const add = (name, title, work) => (has(name) ? parts.add(title, work) : async () => {});

/**
 * A part that needs the build, and counts as skipped without it.
 * @param {string} name
 * @param {string} title
 * @param {(part: Part) => Promise<void>} work
 */
const addOnBuild = (name, title, work) =>
  add(name, title, async (part) => {
    if (await isBuilt) await work(part);
    else part.tally.skip(title, "the build failed");
  });

/** Static checks, each a separate program: they run side by side. */
const CHECKS = new Map([
  ["types", ["node_modules/typescript/bin/tsc", "--noEmit", "-p", at("tsconfig.json")]],
  ["lint", ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."]],
  ["docs", ["tools/site.mjs", "--check"]],
]);

// The parts in the order in which they are shown.

/** @type {(isDone: boolean) => void} */
let builtOrNot;
/** @type {Promise<boolean>} */
const isBuilt = new Promise((resolve) => {
  builtOrNot = resolve;
});
const build = parts.add("build", async (part) => {
  builtOrNot(await part.check("build", node, [at("tools/build.mjs")]));
});

const checks = [...CHECKS].filter(([name]) => has(name));
const check = add(
  checks[0]?.[0] ?? "types",
  `${checks.map(([name]) => name).join(", ")}: tsc --noEmit; biome ci; every export has a doc comment`,
  async (part) => {
    await Promise.all(
      checks.map(([title, [program, ...argv]]) => part.check(title, node, [at(program), ...argv], { title })),
    );
  },
);

const source = add(
  "source",
  `the suite on the source${has("built") ? ", except the tests that run on the built package" : ""}`,
  (part) =>
    vitest(part, {
      ...(has("built") && { TEST_INTERNAL: "1" }),
      ...(has("cluster") && { TEST_CLUSTER: "0" }),
    }),
);

const cluster = add("cluster", "ranks on clusters, one file after the other", (part) =>
  vitest(part, { TEST_CLUSTER: "1" }, "--maxWorkers=1"),
);

const built = addOnBuild("built", "the suite on the built package", (part) =>
  vitest(part, { TEST_BUILT: "1" }),
);

const faults = add("faults", "planted faults: a sample of tools/faults.mjs", (part) => {
  const [count, timeout] = process.env.HEED_ALL === "1" ? ["40", 3600] : ["3", 1200];
  return part.script(
    "planted faults",
    node,
    [at("tools/faults.mjs"), "--sample", count, "--seed", `${turn}`],
    { timeout },
  );
});

const platforms = addOnBuild(
  "platforms",
  `the built package on Node ${[...NODES.keys()].join(", ")}`,
  async (part) => {
    const waiting = [...NODES.keys()];
    const lane = async () => {
      for (let major = waiting.shift(); major !== undefined; major = waiting.shift())
        await platform(part, major);
    };
    await Promise.all([lane(), lane()]);
  },
);

const packed = addOnBuild("package", "the packed tarball", (part) =>
  part.script("the packed tarball", node, [at("tools/pack.mjs")], { timeout: 900 }),
);

const browser = addOnBuild("browser", "the browser tests in Chromium", async (part) => {
  await playwright(part);
  await part.script("the pictures of the explorer", node, [at("tools/pictures.mjs"), "--check"], {
    timeout: 600,
  });
});

// Three rows of parts, the longest first. The tests on the source start the built program too.
const checked = check();
const others = [
  platforms,
  packed,
  // The faults are planted in a copy of the folders, into which the doc comments' check installs.
  () => checked.then(faults),
];
const rest = async () => {
  for (let part = others.shift(); part !== undefined; part = others.shift()) await part();
};
await Promise.all([
  build().then(source).then(built).then(rest),
  checked.then(browser).then(rest),
  checked.then(cluster).then(rest),
]);

const tally = parts.tally();
process.exitCode = tally.failed > 0 ? 1 : 0;
const failures = [
  ...repeated.map((line) => `PASSED IN ITS SECOND RUN ${line}\n`),
  ...tally.failures.map((line) => `FAILED ${line}\n`),
].join("");
// After everything that waits on stderr: where both are one pipe, the last line is the last.
process.stderr.write(`\n${failures}`, () => process.stdout.write(`${tally}\n`));
