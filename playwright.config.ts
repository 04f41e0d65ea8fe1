/**
 * The browser tests (`*.spec.mjs`), on the built package in the Chromium of this machine; Playwright downloads none.
 * `npx playwright test lines` runs one file, `-g "words"` the tests with that text in their names, `--trace on` records every step.
 */
import { availableParallelism } from "node:os";
import { defineConfig } from "@playwright/test";
import { chromiumOptions } from "./tests/platforms/chromium.mjs";

export default defineConfig({
  testDir: ".",
  testMatch: ["tests/**/*.spec.mjs", "lab/**/*.spec.mjs"],
  testIgnore: "**/node_modules/**",
  // Imports of `heed` are the files in dist/, as for a user, not the sources that tsconfig.json names.
  tsconfig: "./tests/playwright.tsconfig.json",
  outputDir: "./tmp/browser-tests",
  // Each worker has its own server, each test its own browser context.
  fullyParallel: true,
  // Pages wait for frames: keyboard, print and values take 63 s with two workers on two cores, 52 s with three, 57 s with four.
  workers: Math.ceil(1.5 * availableParallelism()),
  timeout: 180_000,
  // A test that fails runs once more and records a trace; tools/test.mjs names each that passes then, and refuses more than two.
  // Recording each test would take half as much time again (keyboard and print: 55 s without, 85 s with).
  retries: 1,
  // Assertions wait for pages of a busy machine.
  expect: { timeout: 30_000 },
  forbidOnly: process.env.CI !== undefined,
  reporter: "list",
  use: {
    browserName: "chromium",
    launchOptions: chromiumOptions(),
    screenshot: "only-on-failure",
    trace: "on-first-retry",
  },
});
