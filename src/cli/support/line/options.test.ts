/**
 * Every option of every command, from the command table: an empty value, a value of the wrong kind and an option given twice are
 * usage errors, with exit code 2 and the name of the option, before any work.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { randn } from "../../../index.ts";
import { writeNpz } from "../../../io/index.ts";
import { COMMANDS } from "../../commands/index.ts";
import { wordOf } from "./arguments.ts";
import { optionsOf } from "./command.ts";
import { dispatch } from "./dispatch.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-options-"));
afterAll(() => rmSync(folder, { recursive: true }));
/** Every file that a command opens. */
const opens = vi.spyOn(process.getBuiltinModule("node:fs/promises"), "open");
const file = (name: string) => join(folder, name);
const q = randn([1, 2, 4, 8], { seed: 1 });
writeFileSync(file("qkv.npz"), await writeNpz({ query: q, key: q, value: q }));
writeFileSync(file("a.txt"), "the old red house by the river. ".repeat(40));

/** Arguments with which a command works. */
const WORKING: Record<string, readonly string[]> = {
  show: ["the old ship"],
  view: [file("qkv.npz"), "--no-open"],
  lab: ["--no-open"],
  learn: ["--no-open"],
  html: [file("qkv.npz"), "-o", file("page.html")],
  figure: [file("qkv.npz"), "-o", file("figure.svg")],
  capture: ["encoder", file("a.txt"), "-o", file("run.safetensors")],
  ablate: ["decoder", "the old"],
  lens: ["decoder", "the old"],
  heads: [file("a.txt")],
  patch: ["encoder", "the old ship", "the old boat", "--word=old"],
  why: ["encoder", "the old ship", "--query=old", "--key=ship"],
  answer: ["encoder", "who sails?", "the old ship sails"],
  fill: ["encoder", "the [MASK] ship"],
  generate: ["decoder", "the old"],
  translate: ["decoder", "the old"],
  summarize: ["decoder", "the old"],
  embed: ["encoder", file("a.txt"), "-o", file("vectors.npy")],
  similar: ["encoder", "a ship", "a boat"],
  pull: ["owner/name"],
  run: [file("qkv.npz")],
  explain: [file("qkv.npz")],
  inspect: [file("qkv.npz")],
  convert: [file("qkv.npz"), file("out.safetensors")],
  onnx: ["expose", file("model.onnx"), "-o", file("exposed.onnx")],
  train: [file("a.txt"), "-o", file("model")],
  bench: [],
  doctor: [],
  completions: ["bash"],
};
/** Options of `explain` that need others instead of a file. */
const SHAPE = ["--shape=1,2,256,8"];
const INSTEAD: Record<string, readonly string[]> = {
  shape: [],
  dtype: SHAPE,
  ranks: SHAPE,
  "query-shape": SHAPE,
  "key-shape": SHAPE,
  "value-shape": SHAPE,
  cost: [...SHAPE, "--ranks=2"],
  via: [...SHAPE, "--ranks=2"],
  "a-shape": ["--b-shape=4,4"],
  "b-shape": ["--a-shape=4,4"],
};
/** Words of values that are a file, a name in a file, or any text: no value is of the wrong kind. */
const FREE =
  /^(FILE|FILE\.json|MODEL|WORD|TEXT|ADDRESS|PAGE\.html|FIGURE|NAME|NAMES|RUN\.safetensors|VECTORS\.npy|PLAN\.svg|DIR|IDS)$/;

/** The exit code and standard error of a command line. */
async function run(args: readonly string[]): Promise<{ code: number; err: string }> {
  let err = "";
  const stop = new AbortController();
  const io = {
    stdout: { write: () => true },
    stderr: { write: (text: string) => (err += text) },
    env: {},
    isTTY: false,
    color: 0,
    progress: false,
    signal: stop.signal,
  } as const;
  return { code: await dispatch(args, io), err };
}

describe.each(await Promise.all(COMMANDS.map(async (entry) => [entry.name, await entry.load()] as const)))(
  "heed %s",
  (name, command) => {
    const options = Object.entries(optionsOf(command));
    const valued = options.filter(
      ([option, { type }]) => type === "string" || command.optional?.includes(option),
    );
    const line = WORKING[name];

    it("refuses an empty and a blank value of each option by its name", async () => {
      for (const [option] of valued)
        for (const value of ["", " "]) {
          if (value === " " && command.blank?.includes(option)) continue;
          const { code, err } = await run([name, ...line, `--${option}=${value}`]);
          expect({ option, value, code, err }).toEqual({
            option,
            value,
            code: 2,
            err: expect.stringContaining(`heed ${name}: --${option} is empty; write --${option}=`),
          });
        }
    });

    it("refuses a value of the wrong kind of each option by its name", async () => {
      for (const [option] of valued) {
        const help = command.help[option];
        if (FREE.test(wordOf(command, option)) || /\bfile\b(?!.*by its number)/.test(help)) continue;
        const args = name === "explain" && option in INSTEAD ? INSTEAD[option] : line;
        const { code, err } = await run([name, ...args, `--${option}=zzz`]);
        expect({ option, code, err }).toEqual({ option, code: 2, err: expect.stringContaining(option) });
      }
    });

    it("refuses an option that is given twice by its name", async () => {
      for (const [option, { type, multiple }] of options) {
        if (multiple) continue;
        const argument = type === "string" ? `--${option}=1` : `--${option}`;
        const { code, err } = await run([
          name,
          ...line.filter((arg) => arg !== argument),
          argument,
          argument,
        ]);
        expect({ option, code, err }).toEqual({
          option,
          code: 2,
          err: expect.stringMatching(/(was given twice)/),
        });
      }
    });
  },
);

it("no command leaves a file open", async () => {
  const handles = await Promise.all(opens.mock.results.map(({ value }) => value));
  expect(handles.length).toBeGreaterThan(10);
  expect(handles.filter(({ fd }) => fd >= 0)).toEqual([]);
  opens.mockRestore();
});
