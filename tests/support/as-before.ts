/**
 * For files that share a process: settings, variables of the environment and replaced functions are after each file what they were before
 * it, so that no file depends on the one that the process reads before it.
 */

import { configure } from "heed";
import { afterAll, beforeAll, vi } from "vitest";

let before: { readonly settings: ReturnType<typeof configure>; readonly environment: NodeJS.ProcessEnv };

beforeAll(() => {
  before = { settings: { ...configure() }, environment: { ...process.env } };
});

// Registered before the hooks of the file, so that it runs after them.
afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  configure(before.settings);
  for (const name of Object.keys(process.env)) if (!(name in before.environment)) delete process.env[name];
  Object.assign(process.env, before.environment);
});
