/**
 * The suite on the source. With TEST_BUILT=1 only the tests that go through the package's doors run, on the built package:
 * every door is its file in dist/ (tools/doors.mjs). With TEST_INTERNAL=1 only the others run; `npm test` does both.
 */
import { relative, resolve } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { behaviorTests, doors } from "./tools/doors.mjs";
import { root } from "./tools/setup.mjs";

const built = process.env.TEST_BUILT === "1";

/** Leads `heed`, `heed/io` … to the source or, with TEST_BUILT=1, those and imports of a door's source to dist/. */
const toDoors: Plugin = {
  name: "heed-doors",
  enforce: "pre",
  resolveId(name, importer) {
    const path = name.startsWith(".") && importer ? resolve(importer, "..", name) : name;
    const door = doors.find((one) => one.name === name || one.source === path);
    return door && (built ? door.built : door.source);
  },
};

/** Folders with the tests that take longest, in order: processes that are waited for, sweeps over many calls. */
const SLOW = ["cluster", "failure", "platforms", "files", "properties", "conformance", ""].map(
  (name) => `tests/${name}`,
);

/** The slow folders first, so that no long file is left for the end while the other core has nothing to do. */
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

export default defineConfig({
  plugins: [toDoors],
  test: {
    include: built
      ? behaviorTests()
      : [
          "src/**/*.test.ts",
          "explorer/**/*.test.ts",
          "lab/**/*.test.ts",
          "tests/**/*.test.ts",
          "bench/*.test.ts",
        ],
    exclude: ["**/node_modules/**", ...(process.env.TEST_INTERNAL === "1" ? behaviorTests() : [])],
    testTimeout: 60_000,
    // Each file has a process, an engine and threads of its own.
    pool: "forks",
    maxWorkers: "100%",
    sequence: { sequencer: SlowFirst },
  },
});
