import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    testTimeout: 60_000,
    // Each file has its own engine and its own threads: more than one file at a time only fights for the cores.
    fileParallelism: false,
    pool: "forks",
  },
});
