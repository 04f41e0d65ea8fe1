/**
 * `npm run coverage`: the share of branches of each part of heed below that the tests reach. Runs the tests in these folders, those that read
 * files or send requests to the server, golden data of models, and the conformance cases; prints a row for each folder and what it leaves
 * out, and exits with 1 if a share is below its minimum. `npm run coverage -- --json` prints the shares as JSON.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, install, pinned, root, run } from "./setup.mjs";

/**
 * Folders, what they are, and the minimum share of branches in percent: not more than the measured share, rounded down. `except` are files
 * whose branches are not counted, each with the reason.
 * @type {readonly { what: string, path: string, least: number, except?: Readonly<Record<string, string>> }[]}
 */
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
  {
    what: "cluster",
    path: "src/cluster/",
    least: 92,
    except: {
      "src/cluster/mpi/":
        "runs in the processes of ranks, which tests/cluster starts under Open MPI and MPICH",
    },
  },
  { what: "training", path: "src/train/", least: 94 },
  { what: "models", path: "src/models/", least: 91 },
  {
    what: "WebAssembly",
    path: "src/wasm/",
    least: 93,
    except: {
      "src/wasm/engine/worker.js":
        "runs in worker threads, which tests/failure/threads.test.ts kills and compares with one thread",
      "src/wasm/files/":
        "kernels as a file: the build writes them, tests/kernels.test.ts calls them in processes of its own",
    },
  },
];

/** The tests that run. */
const FOLDERS =
  "api backend cluster core io masks models nn reference rows server store/formats train wasm".split(" ");
const GOLDEN =
  "answerers encoder-decoders evidence families family-names gradients image-models longformer models nn onnx sdpa sharded shipped tokenizer train weights";
const TESTS = [
  ...FOLDERS.map((name) => `src/${name}/`),
  ...GOLDEN.split(" ").map((name) => `tests/golden/${name}`),
  "src/cli/commands/language.test.ts",
  "tests/argument-count.test.ts",
  "tests/arguments.test.ts",
  ...["devices", "layers", "opaque", "reference", "strict", "wide"].map(
    (name) => `tests/conformance/${name}.test.ts`,
  ),
  "tests/corpus.test.ts",
  "tests/explorer/served/server.test.ts",
  "tests/explorer/served/server-fuzz.test.ts",
  ...["allocation", "filesystem", "messages", "sizes", "threads"].map(
    (name) => `tests/failure/${name}.test.ts`,
  ),
  "tests/files/limits.test.ts",
  "tests/files/models.test.ts",
  "tests/mistakes.test.ts",
  "tests/option-names.test.ts",
  "tests/planner.test.ts",
  "tests/properties/context.test.ts",
  "tests/properties/positions.test.ts",
  "tests/wrong-values.test.ts",
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
  const rows = AREAS.map(({ what, path, least, except = {} }) => {
    let [total, covered] = [0, 0];
    const absent = new Set(Object.keys(except));
    for (const [file, { branches }] of Object.entries(files)) {
      if (!file.startsWith(join(root, path))) continue;
      const exception = Object.keys(except).find((name) => file.startsWith(join(root, name)));
      if (exception) absent.delete(exception);
      else {
        total += branches.total;
        covered += branches.covered;
      }
    }
    for (const name of absent) throw new Error(`coverage: the exception ${name} is no file of ${path}`);
    return { what, path, branches: total, share: total === 0 ? 0 : (100 * covered) / total, least, except };
  });
  if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else
    for (const { what, path, branches, share, least, except } of rows)
      process.stdout.write(
        [
          `${share.toFixed(1).padStart(5)} % of ${String(branches).padStart(5)} branches  ${what} (${path}, at least ${least} %)`,
          ...Object.entries(except).map(([name, reason]) => `        without ${name}: ${reason}`),
          "",
        ].join("\n"),
      );
  process.exitCode = status !== 0 || rows.some(({ share, least }) => !(share >= least)) ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
