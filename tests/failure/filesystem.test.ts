/**
 * A file system that fails at random calls and writes only parts: what is on the disk is always complete, every error is typed, and
 * what was saved before is there. `HEED_CASES` is the number of seeds of each test.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { tensor } from "../../src/core/construct.ts";
import { HeedError } from "../../src/core/errors.ts";
import { saveFile } from "../../src/io/filesystem/save.ts";
import { pullModel } from "../../src/models/hub/pull.ts";
import { AdamW } from "../../src/train/adamw.ts";
import { readCheckpoint, writeCheckpoint } from "../../src/train/loop/checkpoint.ts";
import { checkpointSaver, loadCheckpoint } from "../../src/train/loop/checkpointing.ts";
import { faultAt, randomFaults } from "../files/faults.ts";
import { random } from "../support/cases/random.ts";
import { Hub } from "../support/processes/hub.ts";

const CASES = Number(process.env.HEED_CASES ?? 300);
const root = mkdtempSync(join(tmpdir(), "heed-filesystem-"));
afterAll(() => rmSync(root, { recursive: true }));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, "case-"));
});
const restores: (() => void)[] = [];
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});

/** Runs `work` on a file system with faults; returns its result or its error, and the calls that failed. */
async function withFaults<T>(work: () => Promise<T>, ...faults: Parameters<typeof randomFaults>) {
  const restore = randomFaults(...faults);
  restores.push(restore);
  const error = await work().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, failed: restore() };
}

test("writes that write only a part of their bytes lose nothing", async () => {
  const path = join(folder, "x");
  for (let seed = 0; seed < CASES; seed++) {
    const r = random(seed);
    const pieces = Array.from({ length: r.int(1, 4) }, () =>
      Uint8Array.from({ length: r.int(0, 300) }, () => r.int(0, 255)),
    );
    const { error } = await withFaults(() => saveFile(path, pieces), r, 0);
    expect(error, `seed ${seed}`).toBeUndefined();
    expect(readFileSync(path).equals(Buffer.concat(pieces)), `seed ${seed}`).toBe(true);
  }
});

const STEPS = 6;
const weights = new Map([["w", tensor(new Float32Array(40).fill(0.5))]]);
const checkpoints = await Promise.all(
  Array.from({ length: STEPS + 1 }, (_, step) =>
    writeCheckpoint(weights, new AdamW(weights), { step, losses: Array(step).fill(1), heldOut: [] }, "run"),
  ),
);

test("a save that cannot write leaves the last two checkpoints", async () => {
  const stepOf = (path: string) => readCheckpoint(readFileSync(path)).step;
  for (let n = 1; ; n++) {
    const path = join(folder, `${n}.safetensors`);
    const save = checkpointSaver(false);
    for (const step of [1, 2]) await save(path, checkpoints[step]);
    const undo = faultAt(n, (call) => {
      throw Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: "ENOSPC" });
    });
    restores.push(undo);
    const error = await Promise.resolve(save(path, checkpoints[3])).catch((reason) => reason);
    const calls = undo();
    const steps = [path, `${path}.1`].map(stepOf);
    if (error === undefined) expect(steps, calls.join()).toEqual([3, 2]);
    else if (!calls.slice(0, n - 1).includes("write")) expect(steps, calls.join()).toEqual([2, 1]);
    if (calls.length < n) break;
  }
});

test("after failed saves a run resumes from its last saved checkpoint or a newer one, and from the one before if that is damaged", async () => {
  let [failures, successes] = [0, 0];
  for (let seed = 0; seed < CASES; seed++) {
    const r = random(seed);
    const path = join(folder, `${seed}.safetensors`);
    const save = checkpointSaver(false);
    const saved: number[] = [];
    for (let step = 1; step <= STEPS; step++) {
      const { error, failed } = await withFaults(async () => save(path, checkpoints[step]), r, 0.04);
      if (error === undefined) saved.push(step);
      else {
        expect(error, `seed ${seed}, step ${step}: ${failed}`).toBeInstanceOf(HeedError);
        expect(failed, `seed ${seed}, step ${step}`).not.toEqual([]);
        failures++;
      }
      if (saved.length === 0) continue;
      const { checkpoint, damage } = await loadCheckpoint(path);
      expect(damage, `seed ${seed}, step ${step}: ${failed}`).toBeUndefined();
      expect(checkpoint.step, `seed ${seed}, step ${step}: ${failed}`).toBeGreaterThanOrEqual(
        saved.at(-1) ?? 0,
      );
    }
    successes += saved.length;
    if (saved.length < 2) continue;
    const bytes = readFileSync(path);
    bytes[bytes.length - r.int(1, 40)] ^= 1 << r.int(0, 7);
    // A new file: the other name of this one, which a failed rename leaves, keeps its bytes.
    rmSync(path);
    writeFileSync(path, bytes);
    const { checkpoint, damage } = await loadCheckpoint(path);
    expect(damage, `seed ${seed}`).toBeInstanceOf(HeedError);
    expect(checkpoint.step, `seed ${seed}`).toBeGreaterThanOrEqual(saved.at(-2) ?? 0);
  }
  // The faults were neither rare nor everywhere.
  expect(failures).toBeGreaterThan(CASES / 2);
  expect(successes).toBeGreaterThan(CASES);
});

test("a pull ends with complete files or a typed error, and the next one completes it", async () => {
  const r = random(7);
  const files = new Map<string, Uint8Array>([
    ["config.json", Buffer.from("{}")],
    ["model.safetensors", Uint8Array.from({ length: 200_000 }, () => r.int(0, 255))],
  ]);
  const hub = await new Hub(files).start();
  let failures = 0;
  try {
    for (let seed = 0; seed < Math.min(CASES, 60); seed++) {
      const cache = join(folder, `${seed}`);
      const pull = () =>
        pullModel("org/model", {
          env: { HF_ENDPOINT: hub.address, HF_HUB_CACHE: cache, HOME: folder },
          retrySeconds: 0.001,
        });
      // Half of the seeds have short writes only. A lock that cannot be read or deleted would refuse the next pull of this process.
      const share = seed % 2 === 0 ? 0.03 : 0;
      const { error, failed } = await withFaults(pull, random(seed), share, ["readFile", "unlink"]);
      if (error !== undefined) {
        failures++;
        expect(error, `seed ${seed}: ${failed}`).toBeInstanceOf(HeedError);
        expect(failed, `seed ${seed}`).not.toEqual([]);
      }
      const { directory } = await pull();
      for (const [name, bytes] of files)
        expect(readFileSync(join(directory, name)).equals(bytes), `seed ${seed}, ${name}`).toBe(true);
      const names = readdirSync(join(cache, "models--org--model", "blobs"));
      expect(names.filter((name) => name.endsWith(".incomplete"))).toEqual([]);
      expect(existsSync(join(cache, "models--org--model", ".heed-lock"))).toBe(false);
    }
  } finally {
    await hub.stop();
  }
  expect(failures).toBeGreaterThan(5);
});
