/**
 * `heed train` as a process: what it writes, stopping and resuming, SIGKILL at any moment, a loss that becomes NaN.
 * Rejected arguments: src/cli/commands/train.test.ts.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readModel } from "../../src/models/index.ts";
import { heed, unix, work } from "../platforms/cli.ts";

const SIZES = "--layers 1 --heads 2 --width 16 --inner 24 --vocab 300 --context 16 --batch 4";
const FILES = [
  "checkpoint.safetensors",
  "config.json",
  "model.safetensors",
  "tokenizer.json",
  "tokenizer_config.json",
  "training.json",
];

/** The files of a run that saved several checkpoints. */
const TWO_CHECKPOINTS = ["checkpoint.safetensors", "checkpoint.safetensors.1", ...FILES.slice(1)];

/** Sentences that say things again and again, the same ones each time. */
const TEXT = Array.from({ length: 150 }, (_, i) => {
  const [who, what, where] = [i % 7, (i * i) % 11, (i * 5) % 13].map((n) => "abcdefghijklm"[n]);
  return `The ${who}${who} said "${what}${where}" to the ${where}${what} and went (as ever) home.`;
}).join("\n");

/** Environment of a process that kills itself after it has printed that line: this process may read the line after the end. */
const KILLED_AT_STEP_20 = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const { write } = process.stdout;
    process.stdout.write = function (...args) {
      const done = write.apply(this, args);
      if (args[0].includes("step 20 of")) process.kill(process.pid, "SIGKILL");
      return done;
    };`)}`,
};

beforeEach(() => writeFileSync(join(work, "text.txt"), TEXT));

const words = (line: string) => line.split(" ");
const train = (line: string, ...rest: [Record<string, string>?, Parameters<typeof heed>[2]?]) =>
  heed(["train", ...words(line)], ...rest);
const read = (...path: string[]) => readFileSync(join(work, ...path));

describe("heed train", { timeout: 600_000 }, () => {
  it.each(["decoder", "encoder"])(
    "trains a %s, writes a folder that heed/models reads, and says how good it is",
    async (kind) => {
      const { code, out, err } = await train(
        `text.txt -o m --kind ${kind} --steps 12 --lr 0.01 --evaluate-every 4 ${SIZES}`,
      );
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(/bigram: held-out loss \d/);
      expect(out).toMatch(
        /held-out loss \d\.\d{4}, bigram \d\.\d{4}, 5-gram \d\.\d{4}\nwrote m: \d+ parameters/,
      );
      expect(readdirSync(join(work, "m")).sort()).toEqual(FILES);
      const model = await readModel(join(work, "m"));
      expect(model.architecture).toBe(kind);
      expect(model.tokenize("The aa said").ids.length).toBeGreaterThan(2);
      const log = JSON.parse(read("m", "training.json").toString());
      expect(log).toMatchObject({
        steps: 12,
        texts: ["text.txt"],
        dtype: "float16",
        settings: { kind, seed: 0 },
      });
      const [first, last] = [log.heldOut[0], log.heldOut.at(-1)];
      expect(last[0]).toBe(12);
      expect(last[1]).toBeLessThan(first[1]);
      expect(log.baselines).toMatchObject({ bigram: expect.any(Number), "5-gram": expect.any(Number) });
    },
  );

  it("prints one JSON object with --json, and two threads give the bits of one", async () => {
    const line = `text.txt -o m --steps 4 --dtype float32 --json ${SIZES}`;
    const { code, out, err } = await train(line);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ folder: "m", steps: 4, settings: { steps: 4, width: 16 } });
    await train(line.replace("-o m", "-o two --threads 2"));
    expect(read("two", "model.safetensors").equals(read("m", "model.safetensors"))).toBe(true);
  });

  it.skipIf(!unix)(
    "Ctrl-C saves a checkpoint and ends with 130; --resume gives the bits of the unbroken run",
    async () => {
      const line = `text.txt --steps 2000 --lr 0.01 --evaluate-every 20 --repeats 0.2 --dropout 0.1 ${SIZES}`;
      const stopped = await train(`${line} -o m`, {}, (child) => {
        child.stdout?.on("data", (text) => text.includes("step 40 of") && child.kill("SIGINT"));
      });
      expect(stopped).toMatchObject({
        code: 130,
        err: expect.stringMatching(
          /^heed train: stopped after step \d+ of 2000; the checkpoint is saved, --resume continues\n$/,
        ),
      });
      expect(readdirSync(join(work, "m"))).toEqual(["checkpoint.safetensors"]);

      const shortRun = line.replace("--steps 2000", "--steps 30");
      expect(await train(`${shortRun} -o whole`)).toMatchObject({ code: 0 });
      const broken = await train(`${shortRun} -o part --checkpoint-every 1`, KILLED_AT_STEP_20);
      expect(broken.signal).toBe("SIGKILL");
      const resumed = await train("text.txt -o part --resume");
      expect(resumed.code).toBe(0);
      expect(resumed.out).toMatch(/resuming at step (?:19|2\d) of 30/);
      for (const name of ["model.safetensors", "tokenizer.json", "config.json"])
        expect(read("part", name).equals(read("whole", name)), name).toBe(true);
      expect(readdirSync(join(work, "part")).sort()).toEqual(TWO_CHECKPOINTS);
    },
  );

  it.skipIf(!unix).each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s saves a checkpoint too and ends with %i", async (signal, code) => {
    const line = `text.txt --steps 2000 --evaluate-every 20 ${SIZES}`;
    const stopped = await train(`${line} -o m`, {}, (child) => {
      child.stdout?.on("data", (text) => text.includes("step 20 of") && child.kill(signal));
    });
    expect(stopped).toMatchObject({ code, err: expect.stringMatching(/the checkpoint is saved/) });
    expect(readdirSync(join(work, "m"))).toEqual(["checkpoint.safetensors"]);
  });

  it("only one process at a time trains in a folder; another one ends with an error, and the first loses nothing", async () => {
    const line = `text.txt --steps 60 -o m ${SIZES}`;
    const ended = await Promise.all([train(line), train(line)]);
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 1]);
    // A process that starts after the end of the other finds its files.
    const trained =
      /^heed train: m already has a checkpoint\.safetensors; --resume continues it, or choose another folder\n$/;
    const late = await train(line);
    expect(late).toMatchObject({ code: 1, err: expect.stringMatching(trained) });
    const refused = ended.find(({ code }) => code === 1)?.err;
    expect(refused).toMatch(
      new RegExp(`${trained.source}|^heed train: m is in use by process \\d+ .*heed train`),
    );
    expect(readdirSync(join(work, "m")).sort()).toEqual(FILES);
  });

  it.skipIf(!unix)(
    "killed at any moment and resumed, again and again, it ends with the bits of the unbroken run",
    async () => {
      const line = `text.txt --steps 24 --checkpoint-every 1 ${SIZES}`;
      const { code } = await train(`${line} -o whole`);
      expect(code).toBe(0);
      let begun = false;
      for (let kills = 0; ; kills++) {
        const args = begun ? "text.txt -o part --resume" : `${line} -o part`;
        const ended = await train(args, {}, (child) => {
          if (kills < 6) setTimeout(() => child.kill("SIGKILL"), 500 + 137 * kills);
        });
        begun = existsSync(join(work, "part", "checkpoint.safetensors"));
        if (ended.signal === null) {
          expect(ended).toMatchObject({ code: 0, err: "" });
          break;
        }
      }
      for (const name of FILES.filter((name) => name !== "training.json"))
        expect(read("part", name).equals(read("whole", name)), name).toBe(true);
      expect(readdirSync(join(work, "part")).sort()).toEqual(TWO_CHECKPOINTS);
    },
  );

  it("a loss that is not finite stops it: the error names step, layer and tensor, and the checkpoint remains", async () => {
    const line = `text.txt -o m --steps 50 --lr 1e38 --clip 1e30 --warmup 0 --checkpoint-every 1 ${SIZES}`;
    const { code, err } = await train(line);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^heed train: (?:train: )?(?:loss is (?:NaN|Infinity)|a gradient is not finite) at step \d+; first non-finite: .*transformer\.[\w.]+; the last checkpoint is of step \d+\n$/,
    );
    const checkpoints = readdirSync(join(work, "m"));
    expect(TWO_CHECKPOINTS.slice(0, checkpoints.length)).toEqual(checkpoints);
  });
});
