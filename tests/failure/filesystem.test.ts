/**
 * A file system that fails at random calls and writes only parts: what is on the disk is always complete, every error is typed, and
 * what was saved before is there. `HEED_CASES` is the number of seeds of each test, `HEED_ALL=1` asks for all.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { localCluster } from "../../src/cluster/communicator/local.ts";
import { tensor } from "../../src/core/create/construct.ts";
import { HeedError } from "../../src/core/errors.ts";
import { saveFile } from "../../src/io/filesystem/save.ts";
import { modelToFiles, readModel, writeModel } from "../../src/models/files/files.ts";
import { locateShipped } from "../../src/models/files/locate.ts";
import { pullModel } from "../../src/models/hub/pull.ts";
import { AdamW } from "../../src/train/adamw.ts";
import { partsIn, writeCheckpoint } from "../../src/train/loop/checkpoint.ts";
import { checkpointSaver, loadCheckpoint, startCheckpointing } from "../../src/train/loop/checkpointing.ts";
import { OptimizerParts } from "../../src/train/loop/optimizer-parts.ts";
import { faultAt, randomFaults } from "../files/faults.ts";
import { caseCount, countInTurn, isItsTurn, sweepSize } from "../support/cases/count.ts";
import { random } from "../support/cases/random.ts";
import { runCommand as heed } from "../support/processes/command.ts";
import { Hub } from "../support/processes/hub.ts";

const CASES = caseCount(100, 300);
/** Seeds of the tests that start a command or a server. */
const FEW = Number(process.env.HEED_DISK_CASES ?? sweepSize(24, 60));
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
  const ended = await work().then(
    (result) => ({ result, error: undefined }),
    (error: unknown) => ({ result: undefined, error }),
  );
  return { ...ended, failed: restore() };
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
const weights = new Map(
  [40, 30, 7].map((size, n) => [`w${n}`, tensor(new Float32Array(size).fill(0.5))] as const),
);
const checkpoints = await Promise.all(
  Array.from({ length: STEPS + 1 }, (_, step) =>
    writeCheckpoint(weights, new AdamW(weights), { step, losses: Array(step).fill(1), heldOut: [] }, "run"),
  ),
);

/** Saves checkpoints of a run at a path, as one process or as so many ranks with the optimizer's state in parts. */
function saverOf(path: string, ranks: number, isResumed = false): (step: number) => Promise<void> {
  const save = checkpointSaver(isResumed);
  if (ranks === 1) return async (step) => save(path, checkpoints[step]);
  return async (step) => {
    await localCluster(ranks, (comm) => {
      const parts = new OptimizerParts(comm, weights);
      const model = { parameters: () => weights, loss: () => weights.get("w0")! };
      const options = {
        model,
        data: () => [],
        steps: STEPS,
        checkpoint: { path, save, config: "run" },
        comm,
      };
      const progress = { step, losses: Array(step).fill(1), heldOut: [] };
      return startCheckpointing(options, new AdamW(parts.local), parts).save(progress);
    });
  };
}

/** The step of a checkpoint, which must be intact and the one that its process would have written. */
async function stepOf(path: string): Promise<number> {
  const { checkpoint, damage, bytes } = await loadCheckpoint(path);
  expect(damage).toBeUndefined();
  expect(Buffer.from(bytes).equals(checkpoints[checkpoint.step])).toBe(true);
  return checkpoint.step;
}

test.each([
  ["one file", "fails", 1],
  ["one file", "dies", 1],
  ["parts of 3 ranks", "fails", 3],
  ["parts of 3 ranks", "dies", 3],
])("a save of %s that %s at any call leaves the last two checkpoints", async (_, how, ranks) => {
  let [isOlder, isNewer] = [0, 0];
  for (let n = 1; ; n++) {
    if (!isItsTurn(n, ranks)) continue;
    const path = join(mkdtempSync(join(folder, "run-")), "c.safetensors");
    const save = saverOf(path, ranks);
    for (const step of [1, 2]) await save(step);
    const undo = faultAt(
      n,
      (call) => {
        throw Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: "ENOSPC" });
      },
      how === "dies" ? Number.POSITIVE_INFINITY : n,
    );
    restores.push(undo);
    const error = await save(3).catch((reason) => reason);
    const calls = undo();
    const steps = [await stepOf(path), await stepOf(`${path}.1`)];
    const where = `${n}: ${calls.join()}`;
    // What fails after the new checkpoint is complete is the deletion of parts.
    if (error === undefined) expect(steps, where).toEqual([3, 2]);
    else {
      expect([[2, 1].join(), [2, 2].join(), [3, 2].join()], where).toContain(steps.join());
      if (!calls.slice(0, n - 1).includes("write")) expect(steps, where).toEqual([2, 1]);
    }
    if (steps[0] === 2) isOlder++;
    else isNewer++;
    // Another number of ranks continues, and of the parts only those of the last two checkpoints stay.
    const rest = saverOf(path, ranks === 1 ? 1 : 2, true);
    for (const step of [4, 5]) await rest(step);
    expect([await stepOf(path), await stepOf(`${path}.1`)], where).toEqual([5, 4]);
    const files = readdirSync(dirname(path)).filter((name) => !name.endsWith("-tmp"));
    expect(files.length, `${where}: ${files}`).toBe(ranks === 1 ? 2 : 6);
    if (calls.length < n) break;
  }
  expect(isOlder).toBeGreaterThan(8);
  expect(isNewer).toBeGreaterThan(1);
});

test.each([
  ["one file", 1],
  ["parts of 3 ranks", 3],
])(
  "after failed saves of %s a run resumes from its last saved checkpoint or a newer one, and from the one before if that is damaged",
  async (_, ranks) => {
    let [failures, successes] = [0, 0];
    const seeds = countInTurn(CASES, 3);
    for (const seed of seeds) {
      const r = random(seed);
      const path = join(mkdtempSync(join(folder, "run-")), "c.safetensors");
      const save = saverOf(path, ranks);
      const saved: number[] = [];
      for (let step = 1; step <= STEPS; step++) {
        const { error, failed } = await withFaults(() => save(step), r, 0.04 / ranks);
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
      // One of its files, of its own: after a failed rename both names are of one checkpoint.
      const [parts, before] = [path, `${path}.1`].map((name) => partsIn(readFileSync(name)));
      const alone = [...parts.keys()].filter((name) => !before.has(name));
      const file = join(dirname(path), r.pick([basename(path), ...alone]));
      const bytes = readFileSync(file);
      bytes[bytes.length - r.int(1, 40)] ^= 1 << r.int(0, 7);
      // A new file: the other name of this one, which a failed rename leaves, keeps its bytes.
      rmSync(file);
      writeFileSync(file, bytes);
      const { checkpoint, damage } = await loadCheckpoint(path);
      expect(damage, `seed ${seed}`).toBeInstanceOf(HeedError);
      expect(checkpoint.step, `seed ${seed}`).toBeGreaterThanOrEqual(saved.at(-2) ?? 0);
    }
    // The faults were neither rare nor everywhere.
    expect(failures).toBeGreaterThan(seeds.length / 2);
    expect(successes).toBeGreaterThan(seeds.length);
  },
);

test("a pull ends with complete files or a typed error, and the next one completes it", async () => {
  const r = random(7);
  const files = new Map<string, Uint8Array>([
    ["config.json", Buffer.from("{}")],
    ["model.safetensors", Uint8Array.from({ length: 200_000 }, () => r.int(0, 255))],
  ]);
  const hub = await new Hub(files).start();
  let failures = 0;
  try {
    for (let seed = 0; seed < FEW; seed++) {
      const cache = join(folder, `${seed}`);
      const pull = () =>
        pullModel("org/model", {
          env: { HF_ENDPOINT: hub.address, HF_HUB_CACHE: cache, HOME: folder },
          retrySeconds: 0.001,
        });
      // Half of the seeds have short writes only.
      const share = seed % 2 === 0 ? 0.03 : 0;
      const { error, failed } = await withFaults(pull, random(seed), share);
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
  expect(failures).toBeGreaterThan(FEW / 12);
});

test("a capture on a failing disk leaves the older bundle or a whole new one, and says in a line what failed", async () => {
  const path = join(folder, "run.safetensors");
  const run = (text: string) => heed("capture", "decoder", text, "-o", path);
  const texts = ["a whale", "the ship"];
  const bundles: Buffer[] = [];
  for (const text of texts) {
    await run(text);
    bundles.push(readFileSync(path));
  }
  let failures = 0;
  for (let seed = 0; seed < FEW; seed++) {
    const r = random(seed);
    const text = seed % 2;
    writeFileSync(path, bundles[1 - text]);
    const { result, error, failed } = await withFaults(() => run(texts[text]), r, r.pick([0, 0.01, 0.03]));
    expect(error, `seed ${seed}: ${failed}`).toBeUndefined();
    const { code, err } = result!;
    const where = `seed ${seed}, code ${code}: ${failed} ${err}`;
    const is = bundles.findIndex((bytes) => bytes.equals(readFileSync(path)));
    if (code === 0) expect(is, where).toBe(text);
    else {
      failures++;
      // After a failed sync of the folder the new bundle is there.
      expect(is, where).toBeGreaterThanOrEqual(0);
      expect([failed.length > 0, code], where).toEqual([true, 1]);
      expect(err, where).toMatch(/^heed[^\n]*\n$/);
    }
    expect(readdirSync(folder).filter((name) => !name.startsWith("."))).toEqual(["run.safetensors"]);
  }
  expect(failures).toBeGreaterThan(FEW / 20);
});

test("documents that a failing disk has left out are captured by the next run, and no bundle is a part", async () => {
  const docs = join(folder, "docs.jsonl");
  writeFileSync(docs, '"a whale"\n{"id": "b", "text": "the ship"}\n"the sea"\n');
  const run = (to: string) => heed("capture", "decoder", docs, "-o", to);
  const complete = join(folder, "complete");
  expect((await run(complete)).code).toBe(0);
  const names = readdirSync(complete);
  expect(names.length).toBe(3);
  let failures = 0;
  for (let seed = 0; seed < FEW / 2; seed++) {
    const to = join(folder, `maps-${seed}`);
    const { result, error, failed } = await withFaults(() => run(to), random(seed), 0.02);
    expect(error, `seed ${seed}: ${failed}`).toBeUndefined();
    const { code, err } = result!;
    if (code !== 0) failures++;
    else expect(readdirSync(to), `seed ${seed}: ${failed}`).toEqual(names);
    expect(
      code === 0 || /^(?:heed[^\n]*\n)+$/.test(err),
      `seed ${seed}, code ${code}: ${failed} ${err}`,
    ).toBe(true);
    const equal = (name: string) => readFileSync(join(to, name)).equals(readFileSync(join(complete, name)));
    if (existsSync(to))
      for (const name of readdirSync(to).filter((name) => !name.startsWith(".")))
        expect(equal(name), `seed ${seed}, ${name}: ${failed}`).toBe(true);
    expect((await run(to)).code, `seed ${seed}`).toBe(0);
    for (const name of names) expect(equal(name), `seed ${seed}, ${name}`).toBe(true);
  }
  expect(failures).toBeGreaterThan(0);
});

test("a model that a failing disk cannot write is an error with a type, and each of its files is old or new", async () => {
  const to = join(folder, "model");
  const { model, tokenizer } = await readModel(locateShipped("decoder"));
  const written = (["float32", "float16"] as const).map((dtype) => modelToFiles(model, tokenizer, { dtype }));
  let failures = 0;
  for (let seed = 0; seed < FEW / 2; seed++) {
    const dtype = seed % 2 === 0 ? "float32" : "float16";
    const { error, failed } = await withFaults(
      () => writeModel(to, model, tokenizer, { dtype }),
      random(seed),
      0.02,
    );
    if (error !== undefined) {
      failures++;
      expect(error, `seed ${seed}: ${failed}`).toBeInstanceOf(HeedError);
    }
    if (!existsSync(to)) continue;
    for (const name of readdirSync(to).filter((name) => !name.startsWith("."))) {
      const bytes = readFileSync(join(to, name));
      const versions = written.map((files) => bytes.equals(files.get(name)!));
      expect(
        versions[seed % 2] || (error !== undefined && versions[1 - (seed % 2)]),
        `seed ${seed}, ${name}`,
      ).toBe(true);
    }
  }
  expect(failures).toBeGreaterThan(FEW / 40);
});
