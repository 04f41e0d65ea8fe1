/**
 * The suite on the source. With TEST_BUILT=1 only the tests that import nothing but the package's entry points run, on the
 * built package: every entry point is its file in dist/ (tools/build/entry-points.mjs). With TEST_INTERNAL=1 only the others run,
 * with TEST_CLUSTER=1 only those of tests/cluster, with TEST_CLUSTER=0 those elsewhere; `npm test` does all.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { behaviorTests, entryPoints } from "./tools/build/entry-points.mjs";
import { root } from "./tools/setup.mjs";

const built = process.env.TEST_BUILT === "1";

/** fast-check with the seed of CI. */
const FAST_CHECK = resolve(root, "tests/support/cases/fast-check.ts");

/**
 * Resolves `heed`, `heed/io` … to the source. With TEST_BUILT=1, resolves them and the source of an entry point to dist/.
 * Resolves `fast-check` to the file that sets its seed.
 */
const toEntryPoints: Plugin = {
  name: "heed-entry-points",
  enforce: "pre",
  resolveId(name, importer) {
    if (name === "fast-check" && importer !== FAST_CHECK) return FAST_CHECK;
    const path = name.startsWith(".") && importer ? resolve(importer, "..", name) : name;
    const entry = entryPoints.find((one) => one.name === name || one.source === path);
    return entry && (built ? entry.built : entry.source);
  },
};

// Vitest says that a worker exited, not how: a signal tells a crash (SIGSEGV) from a lack of memory (SIGKILL).
subscribe("child_process", (message) => {
  const { process: child } = message as { process: ChildProcess };
  child.on("exit", (code, signal) => {
    if (code || (signal && signal !== "SIGTERM"))
      console.error(`${child.spawnfile} (process ${child.pid}) ended with ${signal ?? `status ${code}`}`);
  });
});

/** Folders with the tests that take longest, in order: they wait for processes, or sweep over many calls. */
const SLOW = ["cluster", "failure", "platforms", "files", "properties", "conformance", ""].map(
  (name) => `tests/${name}`,
);

/** The slow folders first, so that no long file runs alone at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const name = relative(root, moduleId).replaceAll("\\", "/");
      const at = SLOW.findIndex((folder) => name.startsWith(folder));
      return at < 0 ? SLOW.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

const behavior = behaviorTests();
const { TEST_CLUSTER, TEST_INTERNAL } = process.env;
const files = built
  ? behavior
  : globSync("{src,explorer,lab,ui,tests,bench}/**/*.test.ts", { cwd: root }).filter((name) => {
      const isCluster = name.startsWith(join("tests", "cluster"));
      if (TEST_CLUSTER !== undefined && isCluster !== (TEST_CLUSTER === "1")) return false;
      return isCluster || TEST_INTERNAL !== "1" || !behavior.includes(name);
    });

/**
 * Files that have a process to themselves: they replace modules, start threads and processes, or compute for long. The others are read one after
 * the other by the same processes, which saves each the half second in which a process starts and loads heed.
 */
const alone = files.filter(
  (name) =>
    /^src.wasm.engine|^lab.pages|^tests(?!.(?:golden|properties|conformance))/.test(name) ||
    /\bvi\.(?:mock|doMock|resetModules)\(/.test(readFileSync(resolve(root, name), "utf8")),
);

/** @param name its name in the output */
const project = (name: string, include: string[], isolate: boolean) => ({
  extends: true as const,
  test: {
    name,
    include,
    isolate,
    setupFiles: ["tests/support/equal-bytes.ts", ...(isolate ? [] : ["tests/support/as-before.ts"])],
  },
});

export default defineConfig({
  plugins: [toEntryPoints],
  test: {
    projects: [
      project("alone", alone, true),
      project(
        "together",
        files.filter((name) => !alone.includes(name)),
        false,
      ),
    ],
    exclude: ["**/node_modules/**"],
    // For tests that hang: some take 20 s on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    maxWorkers: "100%",
    // Programs that tests start share their compiled code: `vitest run tests/platforms/cli-input` takes 13 s of processor time
    // instead of 30 s.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), `heed-compile-cache-${process.getuid?.() ?? 0}`) },
    sequence: { sequencer: SlowFirst },
  },
});
