/**
 * Every function and class that users call has an `@example` in its doc comment, and every example of the API reference runs.
 * The comment `// → value` at the end of a line gives the value of its expression.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as heed from "heed";
import * as cluster from "heed/cluster";
import * as io from "heed/io";
import * as models from "heed/models";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as reference from "heed/reference";
import * as train from "heed/train";
import * as view from "heed/view";
import { afterAll, describe, expect, it, vi } from "vitest";
import { preludeOf } from "../tools/site/prelude.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const ENTRY_POINTS = { heed, nn, history, io, models, train, view, reference, cluster };

/** Exports without an example, each group with its reason. */
const EXEMPT: Readonly<Record<string, readonly string[]>> = {
  "thrown by heed, caught as HeedError": [
    "DTypeError",
    "FormatError",
    "OptionError",
    "ShapeError",
    "UnsupportedError",
  ],
  "returned by other functions, not created by callers": [
    "BoolExpression",
    "NumberExpression",
    "ScoreMod",
    "Tensor",
    "ShardPlan",
    "Decoder",
    "launchOf",
  ],
  "parts of the explorer's own pictures: colors, labels, numbers, sums of rows": ["explainLink"],
};
const exempt = new Set(Object.values(EXEMPT).flat());

/** Examples that cannot run in a test, with the reason. Their code is only shown. */
const NOT_RUN: Readonly<Record<string, string>> = {
  Decoder: "a model that is not shipped",
  Encoder: "a model that is not shipped",
  Distilbert: "a model that is not shipped",
  Electra: "a model that is not shipped",
  Mpnet: "a model that is not shipped",
  Roberta: "a model that is not shipped",
  readPooling: "a model that is not shipped",
  findModel: "a model that is not shipped",
  readModel: "a model that is not shipped",
  readImageModel: "a model that is not shipped",
  ImageEncoder: "a model that is not shipped",
  readPicture: "a picture of the user's",
  imageModelFromFiles: "files of a web server",
  readPng: "a picture of the user's",
  EncoderDecoder: "a model that is not shipped",
  generateTarget: "a model that is not shipped",
  generateTargetAsync: "a model that is not shipped",
  answerQuestion: "a model that is not shipped",
  translate: "a model that is not shipped",
  translateAsync: "a model that is not shipped",
  chatPrompt: "a model that is not shipped",
  openGguf: "a file that is not shipped",
  openTorch: "a file that is not shipped",
  exposeAttention: "a file that is not shipped",
  attentionOf: "it runs in onnxruntime, which heed does not have",
  modelFromFiles: "a page's server",
  pullModel: "the network",
  record: "it must be called inside a recording",
  contextAttention: "it runs on several ranks (tests/cluster)",
  contextAttentionBackward: "it runs on several ranks (tests/cluster)",
};

/** The doc comment before each exported function and class of the source, by name. */
const comments = new Map<string, { file: string; doc: string }[]>();
for (const file of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
  if (!/(?<!\.test)\.ts$/.test(file)) continue;
  const text = readFileSync(join(root, "src", file), "utf8");
  for (const [, doc = "", name] of text.matchAll(
    /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export (?:declare )?(?:(?:async )?function\*? |(?:abstract )?class |const )(\w+)/g,
  ))
    comments.set(name, [...(comments.get(name) ?? []), { file, doc }]);
}

/** Functions and classes of the entry points, each once. */
const exported = new Map<unknown, string>();
for (const entryPoint of Object.values(ENTRY_POINTS))
  for (const [name, value] of Object.entries(entryPoint))
    if (typeof value === "function" && !exported.has(value)) exported.set(value, name);

/** The code of an example. */
function exampleOf(doc: string): string | undefined {
  const [, part] = /@example\n([\s\S]*)$/.exec(doc) ?? [];
  return part
    ?.split(/\n \* @|\n \*\n/)[0]
    .split("\n")
    .map((line) => line.replace(/^ \* ?/, ""))
    .join("\n")
    .trimEnd();
}

const examples = [...exported].flatMap(([value, name]) => {
  const comment = comments.get(name) ?? comments.get((value as { name: string }).name) ?? [];
  const code = comment.map(({ doc }) => exampleOf(doc)).find((text) => text !== undefined);
  return [{ name, code }];
});

describe("the API reference", () => {
  it("has an example for every function and class that users call", () => {
    const missing = examples.filter(({ name, code }) => code === undefined && !exempt.has(name));
    expect(missing.map(({ name }) => name)).toEqual([]);
    expect(examples.length).toBeGreaterThan(200);
  });

  it("its exceptions are exports that have none", () => {
    const names = new Set(exported.values());
    for (const name of exempt) expect(names, name).toContain(name);
  });
});

// ── Values that the examples use without creating them ──

const folder = mkdtempSync(join(tmpdir(), "heed-examples-"));
afterAll(() => rmSync(folder, { recursive: true }));
const cat = join(root, "models/captures/tired-cat.safetensors");
const { randn } = heed;
const [q, k] = [1, 2].map((seed) => randn([1, 2, 4, 8], { seed }));
writeFileSync(join(folder, "q.npy"), io.writeNpy(q));
writeFileSync(join(folder, "qkv.npz"), await io.writeNpz({ q, k }));
writeFileSync(join(folder, "qkv.safetensors"), io.writeSafetensors({ q, k }));
cpSync(cat, join(folder, "run.safetensors"));
const layer = new nn.Linear(2, 2, { seed: 1 });
const progress = { step: 1, losses: [1], heldOut: [] };
mkdirSync(join(folder, "run"));
writeFileSync(
  join(folder, "run/checkpoint.safetensors"),
  await train.writeCheckpoint(layer.parameters(), new train.AdamW(layer.parameters()), progress, "run"),
);

/** Stores of the running example. */
const opened: view.HeadStore[] = [];

/** Exports of the entry points, where the first of a name counts, and functions of Node. */
const names: Record<string, unknown> = {};
for (const entryPoint of Object.values(ENTRY_POINTS))
  for (const [name, value] of Object.entries(entryPoint)) names[name] ??= value;
Object.assign(names, {
  openStore: async (...input: Parameters<typeof view.openStore>) => {
    const store = await view.openStore(...input);
    opened.push(store);
    return store;
  },
  loadCheckpoint: (path: string) => train.loadCheckpoint(join(folder, path)),
  readFileSync: (path: string) => readFileSync(path.startsWith("/") ? path : join(folder, path)),
  writeFileSync: (path: string, bytes: Uint8Array) => writeFileSync(join(folder, path), bytes),
});
(globalThis as Record<string, unknown>)["exampleNames"] = names;

/** A value as a comment shows it. */
function shown(value: unknown): string {
  return JSON.stringify(value instanceof heed.Tensor ? value.toArray() : value, (_, y) =>
    ArrayBuffer.isView(y) ? Array.from(y as Float64Array) : y,
  );
}
/** Without spaces, which lists in comments have. */
const packed = (text: string) => text.replace(/\s/g, "");
(globalThis as Record<string, unknown>)["exampleCheck"] = (value: unknown, promised: string) => {
  // A comment may continue after a comma.
  const [printed, wanted] = [packed(shown(value)), packed(promised)];
  expect(wanted === printed || wanted.startsWith(`${printed},`), `${printed} for ${promised}`).toBe(true);
};

/** An example as a module: it gets the names it uses, and each line with `// →` becomes a check. */
function moduleOf(example: string): string {
  const code = preludeOf(example) + example;
  const declared = new Set(
    [...code.matchAll(/\b(?:const|let|class|function) (\w+)/g)].map(([, name]) => name),
  );
  for (const [, list] of code.matchAll(/\bconst [[{]([^=]*?)[\]}] =/g))
    for (const [name] of list.matchAll(/\w+(?=\s*(?:,|$))/g)) declared.add(name);
  const used = [...new Set(code.match(/(?<!\w)(?<!(?<!\.\.)\.)[A-Za-z_]\w*/g) ?? [])];
  const imports = used.filter((name) => name in names && !declared.has(name));
  const body = code.replace(
    /^(?!\s*(?:const|let|import) )(.*?);?\s*\/\/ → (.*)$/gm,
    (_, expression: string, promised: string) =>
      `globalThis.exampleCheck(${expression.replace(/;\s*$/, "")}, ${JSON.stringify(promised)});`,
  );
  return `import type { TensorLike } from "heed";\nconst { ${imports.join(", ")} } = (globalThis as any).exampleNames;\n${body}\nexport {};\n`;
}

describe("an example", () => {
  const runnable = examples.filter(({ name, code }) => code !== undefined && !(name in NOT_RUN));

  it.each(runnable.map(({ name, code }) => [name, code ?? ""] as const))("of %s runs", async (name, code) => {
    vi.spyOn(console, "log").mockImplementation(() => {});
    vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    const settings = { ...heed.configure() };
    const file = join(folder, `${name}.ts`);
    writeFileSync(file, moduleOf(code));
    const here = process.cwd();
    process.chdir(folder);
    try {
      await import(/* @vite-ignore */ pathToFileURL(file).href);
    } finally {
      for (const store of opened.splice(0)) store.dispose();
      process.chdir(here);
      heed.configure(settings);
      vi.restoreAllMocks();
    }
  });
});
