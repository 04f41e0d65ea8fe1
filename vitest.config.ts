/**
 * The suite: on the source, and with TEST_BUILT=1 on the built package, where only the tests that go through the
 * package's doors run and every door is its file in dist/ (tools/doors.mjs).
 */
import { resolve } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { behaviourTests, doors } from "./tools/doors.mjs";

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

export default defineConfig({
  plugins: [toDoors],
  test: {
    include: built
      ? behaviourTests()
      : [
          "src/**/*.test.ts",
          "explorer/**/*.test.ts",
          "lab/**/*.test.ts",
          "tests/**/*.test.ts",
          "bench/*.test.ts",
        ],
    exclude: ["**/node_modules/**"],
    testTimeout: 60_000,
    // Each file has its own engine and its own threads: more than one file at a time only fights for the cores.
    fileParallelism: false,
    pool: "forks",
  },
});
