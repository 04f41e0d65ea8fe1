import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configure } from "../../index.ts";
import type { Io } from "../support/line/command.ts";
import { dispatch } from "../support/line/dispatch.ts";
import { readConfig, readSettings, resumedSettings, type TrainSettings } from "../support/train/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-train-"));
const at = (...path: string[]) => join(folder, ...path);
const TEXT = Array.from({ length: 90 }, (_, i) => `line ${i % 7} says ${"abc"[i % 3]}${i % 11}.`).join("\n");

const before = configure();
beforeAll(() => {
  configure({ simd: "strict", threads: 1 });
  writeFileSync(at("text.txt"), TEXT);
});
afterAll(() => {
  configure(before);
  rmSync(folder, { recursive: true });
});

/** Runs a line in this process; names in braces are files of the folder. */
async function train(
  line: string,
  signal = new AbortController().signal,
  onWrite: (text: string) => unknown = () => undefined,
) {
  const text = { out: "", err: "" };
  const io: Io = {
    stdout: {
      write(x) {
        text.out += x;
        onWrite(x);
      },
    },
    stderr: { write: (x) => (text.err += x) },
    env: {},
    isTTY: false,
    color: 0,
    progress: false,
    signal,
  };
  const args = `train --simd strict ${line}`
    .split(" ")
    .map((word) => word.replace(/^\{(.*)\}$/, (_, name) => at(name)));
  const code = await dispatch(args, io);
  return { code, ...text, err: text.err.replaceAll(`${folder}/`, "") };
}

const SIZES = "--layers 1 --heads 2 --width 8 --inner 8 --vocab 270 --context 8 --batch 2";

describe("heed train refuses, before any work,", () => {
  it.each([
    ["-o {m}", "expected one or more text files"],
    ["{text.txt}", "-o DIR says where the model goes"],
    ["{text.txt} -o {m} --heads 3 --width 16", "--heads 3 does not divide --width 16"],
    ["{text.txt} -o {m} --sequence-ranks 2", "--sequence-ranks 2 does not divide the number of ranks, 1"],
    ["{text.txt} -o {m} --batch 5 --accumulate 2", "--accumulate 2 does not divide --batch 5"],
    ["{text.txt} -o {m} --steps 5 --warmup 5", "--warmup 5 leaves nothing of 5 steps for the decay"],
    ["{text.txt} -o {m} --kind both", '--kind must be decoder or encoder, got "both"'],
    ["{text.txt} -o {m} --lr 0", "--lr must be a number > 0, got 0"],
    ["{text.txt} -o {m} --held-out 0.9", "--held-out must be from 0 to 0.5, got 0.9"],
    [
      "{text.txt} -o {m} --from encoder --vocab 300",
      "--from: its model decides --vocab; omit one of the two",
    ],
    [
      "{text.txt} -o {m} --from encoder --tokenizer {t}",
      "--from: its model decides --tokenizer; omit one of the two",
    ],
    ["{text.txt} -o {m} --dtype int8", '--dtype must be float32, float16 or bfloat16, got "int8"'],
  ])("the command line %s", async (line, message) => {
    expect(await train(line)).toEqual({
      code: 2,
      out: "",
      err: `heed train: ${message} (see heed train --help)\n`,
    });
    expect(existsSync(at("m"))).toBe(false);
  });

  it("texts that are missing, empty, too short or not text", async () => {
    writeFileSync(at("empty.txt"), " \n");
    writeFileSync(at("short.txt"), "few");
    writeFileSync(at("latin.txt"), Buffer.from([0x63, 0x61, 0x66, 0xe9]));
    for (const [line, message] of [
      ["{none.txt} -o {m}", /cannot read none\.txt: no such file or directory/],
      ["{text.txt} {empty.txt} -o {m}", /empty\.txt is empty/],
      [
        `{short.txt} -o {m} ${SIZES}`,
        /the text has \d+ tokens; a sequence takes 9, and one more is held out/,
      ],
      ["{latin.txt} -o {m}", /latin\.txt is not UTF-8 text/],
      ["{text.txt} -o {m} --vocab 100", /vocabSize must be at least 257/],
      ["{text.txt} -o {m} --tokenizer {text.txt}", /text\.txt: expected a JSON object/],
      ["{text.txt} -o {m} --tokenizer {none.json}", /cannot read none\.json: no such file or directory/],
      ["{text.txt} -o {nowhere/m}", /cannot write nowhere\/m: the folder .*nowhere does not exist/],
      ["{text.txt} -o {text.txt}", /text\.txt is not a folder/],
    ] as const)
      expect(await train(line)).toMatchObject({ code: 1, err: expect.stringMatching(message) });
    expect(existsSync(at("m"))).toBe(false);
  });

  it("a folder that holds another run, and a run resumed with other texts or settings", async () => {
    const line = `{text.txt} -o {run} --steps 2 ${SIZES}`;
    expect(await train(line)).toMatchObject({ code: 0, err: "" });
    const checkpoint = readFileSync(at("run", "checkpoint.safetensors"));
    writeFileSync(at("other.txt"), TEXT.replaceAll("says", "sang"));
    for (const [args, message] of [
      [line, /run already has a checkpoint\.safetensors; --resume continues it, or choose another folder/],
      [
        "{other.txt} -o {run} --resume",
        /the texts are not those of the run in run: \d+ tokens, the run has \d+/,
      ],
      ["{text.txt} -o {run} --resume --width 32", /--width is 32, but the run in the folder has 8/],
      ["{text.txt} -o {new} --resume", /there is no folder new to resume/],
    ] as const)
      expect(await train(args)).toMatchObject({ code: 1, err: expect.stringMatching(message) });
    expect(readFileSync(at("run", "checkpoint.safetensors")).equals(checkpoint)).toBe(true);
    expect(await train("{text.txt} -o {run} --resume --width 8")).toMatchObject({ code: 0, err: "" });
    expect(await train("{text.txt} -o {run} --resume --steps 4")).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(readFileSync(at("run", "training.json"), "utf8"))).toMatchObject({
      steps: 4,
      settings: { steps: 4 },
    });
    expect(await train("{text.txt} -o {run} --resume --steps 3")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/the checkpoint is of step 4, but steps is 3/),
    });
    writeFileSync(at("run", "checkpoint.safetensors"), checkpoint);

    rmSync(at("run", "checkpoint.safetensors.1"));
    writeFileSync(at("run", "checkpoint.safetensors"), checkpoint.subarray(0, 1000));
    expect(await train("{text.txt} -o {run} --resume")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^heed train: \S*checkpoint\.safetensors: a header of/),
    });
    rmSync(at("run", "checkpoint.safetensors"));
    expect(await train("{text.txt} -o {run} --resume")).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /there is no checkpoint\.safetensors in run; omit --resume to start a new run/,
      ),
    });
    expect(await train(line)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/run already has a model\.safetensors; choose another folder/),
    });
  });

  it("neither a folder that only has the older checkpoint", async () => {
    const line = `{text.txt} -o {older} --steps 2 --checkpoint-every 1 ${SIZES}`;
    expect(await train(line)).toMatchObject({ code: 0, err: "" });
    rmSync(at("older", "checkpoint.safetensors"));
    expect(await train(line)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/older already has a checkpoint\.safetensors\.1; --resume continues it/),
    });
  });

  it("an encoder with a tokenizer that has no mask", async () => {
    const line = `{text.txt} -o {enc} --kind encoder --tokenizer {run/tokenizer.json} ${SIZES}`;
    expect(await train(line)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/an encoder needs the token \[MASK\], the tokenizer has none/),
    });
  });
});

describe("heed train", () => {
  it("takes a tokenizer, and the same line gives the same bytes", async () => {
    const line = `{text.txt} --steps 2 --tokenizer {run/tokenizer.json} ${SIZES}`;
    for (const name of ["one", "two"]) expect((await train(`${line} -o {${name}}`)).code).toBe(0);
    for (const name of ["model.safetensors", "tokenizer.json", "checkpoint.safetensors"])
      expect(readFileSync(at("two", name)).equals(readFileSync(at("one", name)))).toBe(true);
    expect(readFileSync(at("one", "tokenizer.json"), "utf8")).toBe(
      readFileSync(at("run", "tokenizer.json"), "utf8"),
    );
  });

  it("an interruption before the first step writes nothing", async () => {
    const stopped = await train(`{text.txt} -o {never} ${SIZES}`, AbortSignal.abort());
    expect(stopped).toMatchObject({ code: 130, err: "heed train: interrupted\n" });
    expect(existsSync(at("never"))).toBe(false);
  });
});

describe("heed train --from", () => {
  const lossesOf = (name: string): [step: number, loss: number][] =>
    JSON.parse(readFileSync(at(name, "training.json"), "utf8")).heldOut;

  it.each([
    ["decoder", ""],
    ["encoder", " --kind encoder --heads 1"],
  ])(
    "starts a %s with the weights, the tokenizer and the sizes of a model, and so with its held-out loss",
    async (kind, option) => {
      const sizes = kind === "encoder" ? SIZES.replace("--heads 2 ", "") : SIZES;
      const line = `{text.txt} -o {${kind}} --steps 8 --lr 0.02 --dtype float32 ${sizes}${option}`;
      expect(await train(line)).toMatchObject({ code: 0, err: "" });
      const from = `{text.txt} --from {${kind}} --batch 2 --dtype float32 --evaluate-every 1`;
      expect(await train(`${from} -o {${kind}-2} --steps 1 --warmup 0 --lr 1e-30`)).toMatchObject({
        code: 0,
        err: "",
      });
      expect(lossesOf(`${kind}-2`)).toEqual([[1, lossesOf(kind).at(-1)?.[1]]]);
      for (const name of ["config.json", "tokenizer.json", "model.safetensors"])
        expect(readFileSync(at(`${kind}-2`, name)).equals(readFileSync(at(kind, name))), name).toBe(true);
    },
  );

  it("is remembered by --resume, which does not read the model again", async () => {
    const line = "{text.txt} --from {base} -o {tuned} --batch 2 --steps 2";
    expect(await train(`{text.txt} -o {base} --steps 2 ${SIZES}`)).toMatchObject({ code: 0, err: "" });
    expect(await train(line)).toMatchObject({ code: 0, err: "" });
    rmSync(at("base"), { recursive: true });
    expect(await train("{text.txt} -o {tuned} --resume --steps 3")).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(readFileSync(at("tuned", "training.json"), "utf8")).settings).toMatchObject({
      from: at("base"),
      width: 8,
      vocab: 270,
      steps: 3,
    });
    expect(await train("{text.txt} -o {tuned} --resume --from {other}")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--from is other, but the run in the folder has base; omit it to resume/),
    });
  });

  it("refuses a model that computes in another way", async () => {
    cpSync(at("decoder"), at("relu"), { recursive: true });
    const config = readFileSync(at("relu", "config.json"), "utf8");
    writeFileSync(at("relu", "config.json"), config.replace("gelu_new", "relu"));
    expect(await train("{text.txt} -o {m} --from {relu}")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^heed train: --from: relu is not a model that heed trains: GPT-2, or BERT/),
    });
    expect(existsSync(at("m"))).toBe(false);
  });
});

describe("heed train --resume", () => {
  it("reads the older checkpoint where the newer is damaged, says so, and ends with the same bits", async () => {
    const line = `{text.txt} --steps 6 --checkpoint-every 2 ${SIZES}`;
    expect(await train(`${line} -o {intact}`)).toMatchObject({ code: 0, err: "" });
    expect(await train(`${line} -o {damaged}`)).toMatchObject({ code: 0, err: "" });
    const path = at("damaged", "checkpoint.safetensors");
    const bytes = readFileSync(path);
    bytes[bytes.length - 40] ^= 1;
    writeFileSync(path, bytes);
    expect(await train("{text.txt} -o {damaged} --resume")).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^heed train: damaged\/checkpoint\.safetensors: the file is damaged: the checksum of ".*" does not match; resuming from damaged\/checkpoint\.safetensors\.1, of step 4\n$/,
      ),
    });
    for (const name of ["model.safetensors", "checkpoint.safetensors", "checkpoint.safetensors.1"])
      expect(readFileSync(at("damaged", name)).equals(readFileSync(at("intact", name))), name).toBe(true);
  });

  it("remembers when to evaluate and to save, and the dtype of the file; each may be changed", async () => {
    const settingsOf = (name: string) => JSON.parse(readFileSync(at(name, "training.json"), "utf8"));
    const line = `{text.txt} --steps 4 --evaluate-every 1 --checkpoint-every 3 --dtype float32 ${SIZES}`;
    const stopAt2 = new AbortController();
    const write = (text: string) => text.startsWith("step 2 of") && stopAt2.abort();
    expect(await train(`${line} -o {kept}`, stopAt2.signal, write)).toMatchObject({ code: 130 });
    expect(await train("{text.txt} -o {kept} --resume")).toMatchObject({ code: 0, err: "" });
    expect(settingsOf("kept")).toMatchObject({
      dtype: "float32",
      settings: { evaluateEvery: 1, checkpointEvery: 3 },
      heldOut: [1, 2, 3, 4].map((step) => [step, expect.any(Number)]),
    });
    const changed = "{text.txt} -o {kept} --resume --steps 6 --evaluate-every 3 --dtype float16";
    expect(await train(changed)).toMatchObject({ code: 0, err: "" });
    expect(settingsOf("kept").heldOut.map(([step]: [number]) => step)).toEqual([1, 2, 3, 4, 6]);
    expect(settingsOf("kept").dtype).toBe("float16");
  });
});

describe("settings", () => {
  it("have defaults that follow others", () => {
    expect(readSettings({})).toMatchObject({ inner: 512, warmup: 50, steps: 1000, kind: "decoder" });
    expect(readSettings({ width: "64", steps: "100000" })).toMatchObject({ inner: 256, warmup: 500 });
  });

  it("of a checkpoint are read back and compared", () => {
    const settings = readSettings({ seed: "7" });
    const text = JSON.stringify({ settings, data: "x", tokens: 3, tokenizer: "{}" });
    expect(readConfig("c", text).settings).toEqual(settings);
    expect(resumedSettings({ seed: "7" }, settings)).toEqual(settings);
    expect(resumedSettings({ steps: "70" }, settings)).toEqual({ ...settings, steps: 70 });
    expect(() => resumedSettings({ seed: "8" }, settings)).toThrow(
      expect.objectContaining({ code: "resume" }),
    );
    const { checkpointEvery: _, evaluateEvery: __, dtype: ___, ...old } = settings;
    const oldText = JSON.stringify({ settings: old, data: "x", tokens: 3, tokenizer: "{}" });
    expect(readConfig("c", oldText).settings).toEqual(settings);
    for (const wrong of [
      "",
      "null",
      "{}",
      JSON.stringify({ settings: {} as TrainSettings, data: "", tokens: 1 }),
    ])
      expect(() => readConfig("c", wrong)).toThrow(
        expect.objectContaining({ name: "FormatError", code: "checkpoint" }),
      );
  });
});
