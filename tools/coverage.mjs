/**
 * `npm run coverage`: the share of branches of the parsers, the planner, the dispatcher, the server, the core, the masks and the rows that
 * the tests reach. Runs the tests in these folders, those that read files or send requests to the server, and the reference
 * conformance cases; prints a row for each folder, and exits with 1 if one is below its minimum.
 * `npm run coverage -- --json` prints the shares as JSON.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, install, pinned, root, run } from "./setup.mjs";

/** Folders, what they are, and the minimum share of branches in percent: not more than the measured share, rounded down. */
const AREAS = [
  { what: "parsers of files", path: "src/io/", least: 97 },
  { what: "parsers of attention files", path: "src/store/formats/", least: 97 },
  { what: "parsers of tokenizers", path: "src/models/tokenizer/", least: 96 },
  { what: "planner", path: "src/backend/", least: 97 },
  { what: "dispatcher", path: "src/api/dispatch/", least: 97 },
  { what: "server", path: "src/server/", least: 97 },
  { what: "core", path: "src/core/", least: 97 },
  { what: "masks", path: "src/masks/", least: 97 },
  { what: "rows", path: "src/rows/", least: 100 },
];

/** The tests that run. */
const TESTS = [
  ...[
    "io",
    "store/formats",
    "models/tokenizer",
    "backend",
    "server",
    "core",
    "masks",
    "rows",
    "reference",
  ].map((name) => `src/${name}/`),
  "src/api/asynchronous.test.ts",
  "src/api/attention.test.ts",
  "src/api/backward.test.ts",
  "src/models/files/files.test.ts",
  "src/models/text-model.test.ts",
  "tests/files/limits.test.ts",
  "tests/corpus.test.ts",
  "tests/explorer/served/server.test.ts",
  "tests/golden/tokenizer",
  "tests/golden/weights",
  ...["api/dispatch/dispatch", "api/matmul", "mistakes", "api/rowwise", "api/tidy"].map(
    (name) => `src/${name}.test.ts`,
  ),
  "src/nn/ops/",
  "src/wasm/ops/",
  "tests/conformance/opaque.test.ts",
  "tests/conformance/reference.test.ts",
  "tests/explorer/served/server-fuzz.test.ts",
  "tests/option-names.test.ts",
  "tests/planner.test.ts",
  "tests/properties/positions.test.ts",
  "tests/arguments.test.ts",
  "tests/argument-count.test.ts",
  "tests/mistakes.test.ts",
  "tests/wrong-values.test.ts",
  "tests/conformance/devices.test.ts",
];

install();
const folder = mkdtempSync(join(tmpdir(), "heed-coverage-"));
try {
  const argv = [
    at("node_modules/vitest/vitest.mjs"),
    "run",
    "--reporter=dot",
    "--coverage.enabled",
    "--coverage.provider=v8",
    "--coverage.reportOnFailure",
    "--coverage.reporter=json-summary",
    `--coverage.reportsDirectory=${folder}`,
    ...AREAS.map(({ path }) => `--coverage.include=${path.endsWith("/") ? `${path}**` : path}`),
    ...TESTS,
  ];
  const status = run(pinned(), argv, { quiet: process.argv.includes("--json") });
  const report = join(folder, "coverage-summary.json");
  if (!existsSync(report)) {
    process.stderr.write(`coverage: no report; Vitest ended with ${status}\n`);
    process.exit(1);
  }
  /** @type {Record<string, { branches: { total: number, covered: number } }>} */
  const files = JSON.parse(readFileSync(report, "utf8"));
  const rows = AREAS.map(({ what, path, least }) => {
    let [total, covered] = [0, 0];
    for (const [file, { branches }] of Object.entries(files))
      if (file.startsWith(join(root, path))) {
        total += branches.total;
        covered += branches.covered;
      }
    return { what, path, branches: total, share: total === 0 ? 0 : (100 * covered) / total, least };
  });
  if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else
    for (const { what, path, branches, share, least } of rows)
      process.stdout.write(
        `${share.toFixed(1).padStart(5)} % of ${String(branches).padStart(5)} branches  ${what} (${path}, at least ${least} %)\n`,
      );
  process.exitCode = status !== 0 || rows.some(({ share, least }) => !(share >= least)) ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
