/**
 * Training that is killed by its own process at calls of the file system while it saves checkpoints: at every third one, others for each commit, at every one with HEED_ALL=1. Each time the next run
 * finds a complete checkpoint, not older than the last complete one, and ends with the bits of an uninterrupted run; no other
 * file remains.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { readCheckpoint } from "../../src/train/index.ts";
import { turn } from "../../tools/parts/turn.mjs";
import { sweepSize } from "../support/cases/count.ts";
import { EVERY, run, STEPS } from "./train-run.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-train-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (file: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, file)).href);
const child = join(folder, "child.mjs");
writeFileSync(
  child,
  `import { faultAt } from ${at("../files/faults.ts")};
   import { run } from ${at("train-run.ts")};
   faultAt(Number(process.argv[2]), () => process.kill(process.pid, "SIGKILL"));
   await run(process.argv[3]);`,
);

/** Runs the child, which kills itself at its n-th call of the file system; resolves to the signal that ended it. */
const killedAt = (n: number, path: string) =>
  new Promise<string | null>((done, fail) => {
    // The pinned Node runs TypeScript as it is; the one that runs the tests may not.
    const node = createRequire(import.meta.url).resolve("node/bin/node");
    const process = execFile(node, [child, `${n}`, path], (error, _, stderr) => {
      if (error && process.signalCode !== "SIGKILL") fail(new Error(stderr));
      else done(process.signalCode);
    });
  });

describe("a training run killed at its write points", () => {
  it("continues from the last complete checkpoint and ends with the bits of the uninterrupted run", async () => {
    const completeRun = join(folder, "whole.safetensors");
    await run(completeRun);
    const wanted = readFileSync(completeRun);
    rmSync(completeRun);
    let finished = 0;
    let strays = 0;
    const every = sweepSize(3, 1);
    let n = 1 + (turn % every);
    for (; ; n += every) {
      const out = mkdtempSync(join(folder, "run-"));
      const path = join(out, "checkpoint.safetensors");
      const signal = await killedAt(n, path);
      const step = existsSync(path) ? readCheckpoint(readFileSync(path)).step : 0;
      expect([0, EVERY, STEPS], `killed at call ${n}`).toContain(step);
      // Each call is later than the one before: what was there then is there now.
      expect(step).toBeGreaterThanOrEqual(finished);
      finished = step;
      strays += readdirSync(out).filter((name) => name.endsWith("-tmp")).length;
      await run(path);
      expect(readFileSync(path).equals(wanted), `killed at call ${n}`).toBe(true);
      const files = ["checkpoint.safetensors", "checkpoint.safetensors.1"];
      if (step < STEPS) expect(readdirSync(out).sort(), `killed at call ${n}`).toEqual(files);
      rmSync(out, { recursive: true });
      if (signal === null) break;
    }
    expect(n).toBeGreaterThan(18);
    expect(strays).toBeGreaterThan(8 / every);
    expect(finished).toBe(STEPS);
  }, 600_000);
});
