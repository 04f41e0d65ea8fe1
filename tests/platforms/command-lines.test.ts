/**
 * Every command line of README.md, docs/, the other README files, the comments of examples and the examples of `--help` works as
 * written, in a folder with the files that it names. A line that needs a shell, and every eighth of the others, in turn, runs in a
 * shell on the built program where there is one; the others run in this process (all in a shell with HEED_ALL=1). A line that is
 * not run is listed in NOT_RUN with the reason, and its command and options are checked. A line of another program names a script
 * or a file that exists.
 */

import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands/index.ts";
import { parseCommandLine } from "../../src/cli/support/line/arguments.ts";
import { configure, randn, type Tensor } from "../../src/index.ts";
import { writeNpy, writeNpz, writeSafetensors } from "../../src/io/index.ts";
import { isBuilt } from "../support/built.ts";
import { inTurn } from "../support/cases/count.ts";
import { runUntil } from "../support/processes/command.ts";
import { heed, pad, root, shellOf, unix, work } from "./cli.ts";

const read = (name: string) => readFileSync(join(root, name), "utf8");
const inFolder = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(ending));
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "lab/README.md",
  "models/README.md",
  "models/captures/README.md",
  ...inFolder("docs", ".md"),
  ...inFolder("examples", ".md"),
];

/** A command line, and the page that has it. */
interface Line {
  readonly page: string;
  readonly text: string;
  /** True in a block of shell commands or in the help; false within a sentence, where the line may be only a name. */
  readonly complete: boolean;
}

/** Programs that a command line may begin with. */
const PROGRAM = /^(?:[A-Z_]+=\S+ )*(?:heed|npx|npm|node|mpirun|srun|sbatch)(?: |$)/;

function linesOf(page: string): Line[] {
  const text = read(page);
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) =>
    block
      .replaceAll(/ +# .*$/gm, "")
      .replaceAll(/\\\n\s*/g, "")
      .split("\n")
      .filter((line) => line.trim() !== "" && !line.trim().startsWith("#")),
  );
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)]
    .map(([, code]) => code)
    .filter((code) => PROGRAM.test(code));
  return [
    ...blocks.map((line) => ({ page, text: line, complete: true })),
    ...inline.map((line) => ({ page, text: line, complete: false })),
  ];
}

const commands = await Promise.all(COMMANDS.map(({ load }) => load()));
const help: Line[] = commands.flatMap(({ name, examples }) =>
  examples.map((text) => ({ page: `heed ${name} --help`, text, complete: true })),
);
const comments: Line[] = inFolder("examples", ".ts").flatMap((page) => {
  const opening = /^\/\*\*([\s\S]*?)\*\//.exec(read(page))?.[1] ?? "";
  const codes = [...opening.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code);
  return codes.filter((code) => PROGRAM.test(code)).map((text) => ({ page, text, complete: false }));
});
const all: Line[] = [...PAGES.flatMap(linesOf), ...help, ...comments];
/** Each different line once, with every page that has it. */
const different = [...new Set(all.map(({ text }) => text))].map((text) => {
  const lines = all.filter((line) => line.text === text);
  return {
    text,
    pages: [...new Set(lines.map(({ page }) => page))].join(", "),
    complete: lines.some(({ complete }) => complete),
  };
});

/** Lines of `heed` that the test does not run, with the reason. Their command and options are checked all the same. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/…|\.\.\.|\b(?!SEP|MASK|HF_TOKEN|HEED_)[A-Z]{2,}\b/, "has a placeholder"],
  [/^heed pull /, "downloads"],
  [/HF_TOKEN=/, "downloads"],
  [/\bmpirun |\bsrun |\bsbatch /, "needs MPI or a cluster"],
  [/^heed train /, "trains for minutes; src/cli/commands/train.test.ts runs the command"],
  [
    /^heed (?:summarize|answer) |^heed translate \.\/|opus-mt-/,
    "needs a model that is not shipped; src/cli/commands/translate.test.ts and answer.test.ts run the commands",
  ],
  [
    /SmolLM2-135M-Instruct/,
    "needs a model that is not shipped; src/models/chat/chat.test.ts runs its template",
  ],
  [
    /dinov2|photo\.safetensors/,
    "needs a model of pictures, which is not shipped; src/cli/commands/capture.test.ts runs the command",
  ],
  [/^heed onnx /, "needs an ONNX model; tests/golden/onnx.test.ts exposes 17 of them"],
  [/sentence-transformers\/all-MiniLM-L6-v2/, "needs a model of Hugging Face's cache"],
  [/^heed bench(?: --json| --simd wide| --shape 1,12,4096| --device|$)/, "measures for minutes"],
  [/~\/\.|<\(/, "writes to the user's shell"],
  [/^heed(?: --help)?$/, "the name of the program; tests/platforms/cli.test.ts runs it"],
];
const reasonNotToRun = (text: string) => NOT_RUN.find(([pattern]) => pattern.test(text))?.[1];

/** A command that serves until Ctrl-C. */
const serves = (text: string) =>
  /^heed (?:view|lab|learn)\b/.test(text) || / --view( |$)(?!atlas|row|lines|matrix)/.test(text);

/** The words of a line after `heed`, as a shell splits them; undefined for another program. */
function argumentsOf(text: string): string[] | undefined {
  const call = /(?:^(?:[A-Z_]+=\S+ )*|[|(] ?|^mpirun .*?|--wrap ')heed(?: +|$)((?:"[^"]*"|[^|<>)"'])*)/.exec(
    text,
  );
  return call
    ? (call[1].match(/"[^"]*"|[^\s"]+/g) ?? []).map((word) => word.replaceAll(/^"|"$/g, ""))
    : undefined;
}

/** The files that the lines name, beside those of every test. */
async function addFiles() {
  const put = (name: string, data: string | Uint8Array) => writeFileSync(join(work, name), data);
  const draw = (shape: number[], seed: number): Tensor => randn(shape, { seed });
  cpSync(join(root, "models/captures/tired-cat.safetensors"), join(work, "run.safetensors"));
  cpSync(join(root, "models/captures/bank-of-the-river.safetensors"), join(work, "bank.safetensors"));
  cpSync(join(root, "models/captures/translation.safetensors"), join(work, "translation.safetensors"));
  // As many queries as keys, so that --causal is defined.
  const qkv = {
    query: draw([2, 4, 40, 16], 1),
    key: draw([2, 2, 40, 16], 2),
    value: draw([2, 2, 40, 8], 3),
    pad,
  };
  for (const [name, tensor] of Object.entries({ q: qkv.query, k: qkv.key, v: qkv.value }))
    put(`${name}.npy`, writeNpy(tensor));
  put("qkv.safetensors", writeSafetensors(qkv));
  put("qkv.npz", await writeNpz({ q: qkv.query, k: qkv.key, v: qkv.value, pad }));
  put("pad.npy", writeNpy(pad));
  put("out.npz", await writeNpz({ output: draw([2, 4, 8], 1), weights: draw([2, 4, 8], 2) }));
  put("run.npz", await writeNpz({ q: draw([1, 2, 12, 8], 1), k: draw([1, 2, 12, 8], 2) }));
  put("attention.npz", await writeNpz({ q: draw([1, 2, 4, 8], 1), k: draw([1, 2, 4, 8], 2) }));
  const cache = { q: draw([2, 2, 1, 8], 1), k: draw([2, 2, 1024, 8], 2), v: draw([2, 2, 1024, 8], 3) };
  put("cache.npz", await writeNpz(cache));
  const even = [[1, 0], [0.5, 0.5]]; // biome-ignore format: two rows
  const json = JSON.stringify({ attention: [[even, even]], tokens: ["a", "b"] });
  put("run.json", json);
  put("bertviz.json", json);
  put("tokens.json", JSON.stringify(["a", "b", "c", "d"]));
  put("sentences.txt", "time flies like an arrow\nthe river bank\nfruit flies like a banana\n");
  put("docs.jsonl", '{"text": "time flies"}\n{"text": "the river bank"}\n');
  const states = {
    "h.0.q": draw([1, 2, 8, 8], 1),
    "h.0.k": draw([1, 2, 8, 8], 2),
    "h.0.v": draw([1, 2, 8, 8], 3),
  };
  const weights = {
    "wte.weight": draw([16, 8], 4),
    "h.0.attn.weight": draw([8, 8], 5),
    "h.0.ln.weight": draw([8], 6),
  };
  put("model.safetensors", writeSafetensors({ ...states, ...weights }));
  mkdirSync(join(work, "model"));
  put("model/model.safetensors", writeSafetensors(weights));
  for (const [name, shipped] of [
    ["all-MiniLM-L6-v2", "encoder"],
    ["bert-base-uncased", "encoder"],
    ["gpt2", "decoder"],
  ])
    symlinkSync(join(root, "models", shipped), join(work, name));
}

/** Whether the line is a call of heed with words and quoted words, without anything that only a shell does. */
const isPlain = (text: string) => /^heed(?: (?:"[^"$`\\]*"|[\w@%+=:,./#-]+))*$/.test(text);

/** Runs heed in this process, in the working folder. */
async function runHere(
  ...call: Parameters<typeof runUntil>
): Promise<{ code: number; out: string; err: string }> {
  const [folder, settings] = [process.cwd(), { ...configure() }];
  process.chdir(work);
  try {
    return await runUntil(...call);
  } finally {
    process.chdir(folder);
    configure(settings);
  }
}

/** Runs a line in a shell in which `heed` is the tested program. */
function runLine(line: string): Promise<{ code: number | null; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", `${shellOf({ preferBuilt: true })}\n${line}`], {
      cwd: work,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, err }));
  });
}

const ours = different.filter(({ text }) => argumentsOf(text) !== undefined);
/** Within a sentence, `heed show` and `heed show -o` are the names of a command and of an option. */
const isName = ({ text, complete }: { text: string; complete: boolean }) =>
  !complete && (argumentsOf(text)!.length < 2 || /^heed \w+ -[\w-]+$/.test(text));

describe("command lines of the pages and of --help", () => {
  it("are found", () => {
    expect(ours.length).toBeGreaterThan(120);
    for (const [pattern, reason] of NOT_RUN)
      expect(
        ours.some(({ text }) => pattern.test(text)),
        `${reason}: ${pattern}`,
      ).toBe(true);
  });

  it.each(ours)("$text has a command and options that exist ($pages)", (line) => {
    const { text } = line;
    const [name, ...args] = argumentsOf(text)!;
    if (name === undefined || /^(?:--help|--version|COMMAND:?)$/.test(name)) return;
    const command = commands.find((one) => one.name === name);
    expect(command, `heed ${name}`).toBeDefined();
    // An option's name alone needs no value here.
    parseCommandLine(command!, isName(line) && args.length > 0 ? [...args, "a.svg"] : args);
  });

  it("of other programs name scripts and files that exist", () => {
    const { scripts } = JSON.parse(read("package.json"));
    for (const { text, pages } of different) {
      const where = `${pages}: ${text}`;
      for (const [, script] of text.matchAll(/npm run ([a-z]+)/g))
        expect(Object.keys(scripts), where).toContain(script);
      // What the build makes, and what a user's project has.
      for (const [, , file] of text.matchAll(/\b(node|vitest run)(?: --[a-z-]+)* ((?:[\w.-]+\/)+[\w.-]+)/g))
        if (!/^(?:dist|node_modules)\//.test(file)) expect(existsSync(join(root, file)), where).toBe(true);
      for (const [, name] of text.matchAll(/playwright test (\w+)/g))
        expect(
          inFolder("tests", ".spec.mjs").some((file) => file.includes(`/${name}.spec`)),
          where,
        ).toBe(true);
    }
  });

  const run = ours.filter((line) => reasonNotToRun(line.text) === undefined && !isName(line));
  const ends = run.filter(({ text }) => !serves(text) && (isBuilt || !/\bheed html\b/.test(text)));
  const inShell = new Set(
    [...ends.filter(({ text }) => !isPlain(text)), ...inTurn(ends, 8)].map(({ text }) => text),
  );
  it.skipIf(!unix).each(ends)("$text ends with 0 ($pages)", async ({ text }) => {
    await addFiles();
    const { code, err } = inShell.has(text)
      ? await runLine(text)
      : await runHere(() => false, ...argumentsOf(text)!);
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    expect(err).not.toMatch(/^(?:warning|note):/m);
  });

  const served = run.filter(({ text }) => serves(text));
  const asProgram = inTurn(served, 8);
  it.skipIf(!unix || !isBuilt).each(served)("$text serves until Ctrl-C ($pages)", async (line) => {
    await addFiles();
    // Another program may have the port.
    const args = argumentsOf(line.text)!.filter((word) => !/^--(?:no-open|port)$|^8080$/.test(word));
    const isServing = (output: string) => /http:\/\/127\.0\.0\.1:\d+/.test(output);
    args.push("--no-open");
    let output = "";
    const ended = asProgram.includes(line)
      ? await heed(args, {}, (child) => {
          const look = (chunk: string) => {
            output += chunk;
            if (isServing(output)) child.kill("SIGINT");
          };
          child.stdout?.on("data", look);
          child.stderr?.on("data", look);
        })
      : await runHere(isServing, ...args);
    expect(isServing(ended.out + ended.err), ended.err).toBe(true);
  });
});
