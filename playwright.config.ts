/**
 * The browser tests (`*.spec.mjs`), on the built package in the Chromium of this machine; Playwright downloads none.
 * `npx playwright test lines` runs one file, `-g "words"` the tests with that text in their names, `--trace on` records every step.
 */
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
  workers: "100%",
  timeout: 180_000,
  forbidOnly: process.env.CI !== undefined,
  reporter: "list",
  use: {
    browserName: "chromium",
    launchOptions: chromiumOptions(),
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
  },
});
