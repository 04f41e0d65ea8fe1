/** The number of files that one warm call enters, measured and limited. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Files of `src/` that a warm call may enter. Before planning became one step: forward 29, backward 32. */
const LIMITS: Readonly<Record<string, number>> = {
  forward: 16,
  "forward causal": 16,
  "backward causal": 19,
  // The check computes weights of three rows of a head.
  "backward causal, sums checked": 23,
  matmul: 16,
};

it("a warm call enters few files", () => {
  const script = fileURLToPath(new URL("../tools/call-path.mjs", import.meta.url));
  const text = execFileSync(process.execPath, [script, "--json"], { encoding: "utf8" });
  const paths: { name: string; files: string[] }[] = JSON.parse(text);
  expect(paths.map(({ name }) => name)).toEqual(Object.keys(LIMITS));
  for (const { name, files } of paths) {
    expect(files.length, `${name}: ${files.join(", ")}`).toBeGreaterThan(8);
    expect(files.length, `${name}: ${files.join(", ")}`).toBeLessThanOrEqual(LIMITS[name]);
  }
});
