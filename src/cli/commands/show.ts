/**
 * `heed show TEXT [TEXT2 …]`: the attention of a trained model on texts. models/ runs the model, store/ computes the numbers from
 * its queries and keys, and view/ renders them. `heed similar` compares texts.
 */
import { extname } from "node:path";
import type { TextAttention } from "../../models/text-model.ts";
import { type HeadRef, headsOf } from "../../store/block.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { storeFrom } from "../../store/layout/from.ts";
import type { HeadMeasures } from "../../store/measures/measures.ts";
import { type TellingLink, tellingLink } from "../../store/sentences/telling.ts";
import { renderFigure } from "../../view/figure/figure.ts";
import { COLOR_MODES, type ColorMode, choosePaint } from "../../view/terminal/paint.ts";
import { renderText } from "../../view/terminal/text.ts";
import { spansOf, wordList } from "../../view/terminal/words.ts";
import { addressOf, explore } from "../support/explorer/explore.ts";
import { SERVE_HELP, serveOptions } from "../support/explorer/serve-options.ts";
import { blockNameOf, bundleOfTexts, fileOfRun, inputOfTexts } from "../support/input/model-bundle.ts";
import { MODEL_HELP, pickModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandPair, expandTexts, noteFiles, stdinText } from "../support/input/stdin.ts";
import { parseCommandLine } from "../support/line/arguments.ts";
import { type Command, EXIT, type Io, UsageError, type Values } from "../support/line/command.ts";
import { integer, oneOf, optional } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { jsonText } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";
import { pageModel } from "./view.ts";

/** The parts of `Io` that this command uses. */
export type ShowIo = Pick<Io, "stdout" | "stderr" | "env" | "isTTY" | "columns" | "signal" | "stdin">;

/** The default texts: `flies` is a verb in one and a noun in the other. */
const DEFAULT_TEXTS = ["time flies like an arrow", "fruit flies like a banana"] as const;

/** The command, for the command table. */
export const command: Command = {
  name: "show",
  summary: "show what a trained model attends to in a text",
  usage: "heed show [TEXT ...] [OPTIONS]",
  help: {
    output:
      "FILE  write a figure (.svg) or the queries and keys (.safetensors), which every other command opens",
    model: MODEL_HELP,
    layer: "N  only this layer, counted from 0",
    head: "N  only this head, counted from 0",
    color: `MODE  ${COLOR_MODES.join(", ")}`,
    links: "N  strongest links of each token with --all (default 3)",
    width: "N  columns to draw in (default: the terminal's, or 80)",
    all: "draw every head and print its measures",
    words: "merge the tokens of a word into one row and column",
    token: "WORD  print what this word attends to in every head, and what attends to it",
    pair: "TEXT  the second text of a pair, for models that read pairs",
    bits: "entropy in bits (default: nats)",
    json: "print tokens, measures, lse and weights as JSON",
    view: "then serve the explorer until Ctrl-C",
    ...SERVE_HELP,
    ...ENGINE_HELP,
  },
  defaults: { color: "auto", links: "3" },
  notes: "- is standard input, one text per line; without TEXT, piped input is read.",
  examples: [
    "heed show",
    'heed show "The cat sat on the mat"',
    'heed show "How old are you?" "What is your age?" -o age.svg',
    'heed show "The river bank was eroding." --layer 0 --head 1',
    'heed show "The cat sat on the mat because it was tired" --token it',
    'heed show "time flies like an arrow" -o flies.safetensors',
    'heed show "How old are you?" --pair "What is your age?"',
    "head -3 sentences.txt | heed show",
    'heed show "time flies like an arrow" --view',
    'heed show "time flies like an arrow" --json',
  ],
  run,
};

/** Parses `args` and runs the command; resolves to the exit code. */
export async function show(args: readonly string[], io: ShowIo): Promise<number> {
  const { values, positionals } = parseCommandLine(command, args);
  return run(values, positionals, io);
}

async function run(values: Values, positionals: readonly string[], io: ShowIo): Promise<number> {
  const texts = positionals.length > 0 ? await expandTexts(positionals, io) : await pipedTexts(io);
  if (texts.some((text) => text.trim() === ""))
    throw new UsageError("a text is empty; write one or more words");
  const count = (name: string, least: number) => optional(values, name, integer, least);
  const [layer, head, links, width] = [
    count("layer", 0),
    count("head", 0),
    count("links", 1),
    count("width", 20),
  ];
  const mode = oneOf<ColorMode>("color", values.color ?? "auto", COLOR_MODES);
  const output = outputOf(values, ".svg or .safetensors");
  const ending = output === undefined ? "" : extname(output).toLowerCase();
  const token = values.token as string | undefined;
  if (values.pair !== undefined && positionals.length === 0)
    throw new UsageError('--pair is the second text: heed show "first text" --pair "second text"');
  const pair = await expandPair(values, io);
  if (pair !== undefined && texts.length !== 1)
    throw new UsageError(`--pair takes one first text, got ${texts.length}`);
  if (token !== undefined && values.json)
    throw new UsageError("--token prints the answers of the heads, --json every weight; give one of them");
  if (values.view && values.json)
    throw new UsageError("--view serves a page, --json prints; give one of them");
  const serving = serveOptions(values);
  if (output !== undefined) await checkPlace(output);
  const model = await pickModel(values.model as string | undefined, io);
  for (const [name, value, maximum] of [
    ["layer", layer, model.layers],
    ["head", head, model.heads],
  ] as const)
    if (value !== undefined && value >= maximum)
      throw new UsageError(`--${name} must be an integer from 0 to ${maximum - 1}, got ${value}`);
  const attended = texts.map((text) => model.attention(text, pair));
  for (const text of attended) warnOfCuts(model, text, io);
  noteFiles(positionals, io, (text) => `heed show - < ${text}`);
  if (positionals.length > 1 && !positionals.some((text) => /\s|^-$/.test(text)))
    io.stderr.write(
      `note: ${positionals.length} texts of one word each; with quotes they are one text: heed show "${positionals.join(" ")}"\n`,
    );
  const store = storeFrom(inputOfTexts(model, attended));
  const blocks = attended.map((_, n) =>
    store.blocks.findIndex(({ name }) => name === blockNameOf(attended, n)),
  );
  try {
    if (token !== undefined) checkToken(store, token);
    const broken = await warnOfNumbers(store, io);
    const chosen = { layer, head };
    if (ending === ".safetensors") {
      await save(output!, await bundleOfTexts(model, attended));
      io.stderr.write(`wrote ${output}\n`);
    } else if (output !== undefined) await saveFigures(store, output, chosen, values.all === true, io);
    if (values.json) {
      const all: unknown[] = [];
      for (const [n, text] of attended.entries())
        all.push(await asJson(store, blocks[n], text, chosen, values.bits === true, io));
      io.stdout.write(jsonText({ model: model.name, texts: all }));
      return broken ? EXIT.failed : EXIT.ok;
    }
    const paint = choosePaint(mode, io.env, io.isTTY);
    const columns = width ?? (io.columns && io.columns > 0 ? Math.min(io.columns, 160) : 80);
    const page: string[] = [];
    for (const [n, { texts: read, target }] of attended.entries())
      page.push(
        ...(await renderText(store, [...read, ...(target?.texts ?? [])].join(" · "), {
          paint,
          columns,
          block: blocks[n],
          layer,
          head,
          links,
          all: values.all === true,
          words: values.words === true,
          bits: values.bits === true,
          others: blocks.filter((other) => other !== blocks[n]),
          token,
        })),
      );
    while (page[page.length - 1] === "") page.pop();
    io.stdout.write(`${page.join("\n")}\n`);
    if (!values.view) return broken ? EXIT.failed : EXIT.ok;
    // The page opens at the link that was just explained.
    const link = await tellingLink(store, { block: blocks[0], ...chosen });
    const files = await Promise.all(attended.map((text) => fileOfRun(model, text)));
    const hash = link && addressOf(attended[0].target ? "cross" : "self", link);
    return explore(
      files,
      { ...serving, hash, model: pageModel(values.model as string | undefined, async () => model) },
      io,
      ({ url }) => `\nIn the explorer: ${url}\n`,
    );
  } finally {
    store.dispose();
  }
}

/** Maximum words that an error lists. */
const LISTED = 60;

/** Throws unless one of the texts has the word. */
function checkToken({ blocks }: HeadStore, word: string): void {
  const texts = blocks.map(({ queryTokens }) => queryTokens);
  if (texts.some((tokens) => spansOf(tokens, word).length > 0)) return;
  const words = [...new Set(texts.flatMap(wordList))];
  const listed = words.slice(0, LISTED).join(", ") + (words.length > LISTED ? " …" : "");
  throw new UsageError(
    `--token: ${JSON.stringify(word)} is not a word of the ${texts.length === 1 ? "text" : "texts"}; the words are ${listed}`,
  );
}

/** The lines of a pipe or a file on standard input, or the default texts. */
async function pipedTexts(io: ShowIo): Promise<readonly string[]> {
  if (!io.stdin?.isPiped) return DEFAULT_TEXTS;
  const lines = (await stdinText(io)).split(/\r?\n/).filter((line) => line.trim() !== "");
  return lines.length > 0 ? lines : DEFAULT_TEXTS;
}

/** Warns about scores that are not numbers, and says where they begin; true if there are any. */
async function warnOfNumbers(store: HeadStore, io: ShowIo): Promise<boolean> {
  const broken: HeadRef[] = [];
  let heads = 0;
  for (const ref of store.blocks.flatMap((block, n) => headsOf(block, n))) {
    heads++;
    const { notNumbers } = await store.measures(ref);
    if (notNumbers > 0) broken.push(ref);
  }
  if (broken.length === 0) return false;
  const [first] = broken;
  const { Nq, Nk } = store.blocks[first.block];
  const vectors = (what: "query" | "key", count: number) =>
    Array.from({ length: count }, (_, n) => n).some(
      (n) => !store.vector(first, what, n).every(Number.isFinite),
    );
  const what = vectors("query", Nq)
    ? "its queries hold"
    : vectors("key", Nk)
      ? "its keys hold"
      : "its scores are";
  io.stderr.write(
    `warning: ${broken.length} of ${heads} heads have weights that are not numbers, the first in layer ${first.layer}, head ${first.head}: ${what} NaN or infinite. Look for NaN in the model's weights of layer ${first.layer} and before\n`,
  );
  return true;
}

/** Writes a figure for each text: of the chosen head, of the one with the most telling link, or with `all` of every head. */
async function saveFigures(
  store: HeadStore,
  output: string,
  chosen: { readonly layer?: number; readonly head?: number },
  all: boolean,
  io: ShowIo,
): Promise<void> {
  const ending = extname(output);
  for (const [n, block] of store.blocks.entries()) {
    const path = store.blocks.length === 1 ? output : `${output.slice(0, -ending.length)}-${n + 1}${ending}`;
    const link = await tellingLink(store, { block: n, ...chosen });
    const { svg } = await renderFigure(
      store,
      all
        ? { view: "atlas", block: block.name, width: 170 }
        : {
            view: "matrix",
            block: block.name,
            layer: link?.layer,
            head: link?.head,
            query: link?.query,
            key: link?.key,
          },
    );
    await save(path, new TextEncoder().encode(svg));
    io.stderr.write(`wrote ${path}\n`);
  }
}

/** Maximum weights of one text in JSON, about 4 MB. */
const WEIGHTS = 200_000;

/** One text as JSON. Too many weights are left out, with a warning. */
async function asJson(
  store: HeadStore,
  index: number,
  { texts, ids, target }: TextAttention,
  chosen: { readonly layer?: number; readonly head?: number },
  bits: boolean,
  io: ShowIo,
): Promise<unknown> {
  const block = store.blocks[index];
  const refs = headsOf(block, index, chosen);
  const count = refs.length * block.Nq * block.Nk;
  const withWeights = count <= WEIGHTS;
  if (!withWeights)
    io.stderr.write(
      `warning: ${count} weights are too many for JSON and are left out; choose --layer and --head, or write -o run.safetensors\n`,
    );
  const heads: unknown[] = [];
  for (const ref of refs) {
    const measures = await store.measures(ref);
    const lse = Array.from(await store.lse(ref));
    const weights = withWeights ? rows(await store.weights(ref), block.Nq, block.Nk) : undefined;
    heads.push({ layer: ref.layer, head: ref.head, ...measuresIn(measures, bits), weights, lse });
  }
  const link: TellingLink | undefined = await tellingLink(store, { block: index, ...chosen });
  return {
    text: texts.join("\n"),
    ...(target
      ? { target: target.texts[0], keyPieces: block.keyTokens, keyIds: Array.from(ids) }
      : undefined),
    pieces: block.queryTokens,
    ids: Array.from(target ? target.ids : ids),
    heads,
    explained: link && {
      ...link,
      ledger: store
        .ledger(link, link.query, link.key)
        .lines.map(({ step, name, value }) => ({ step, name, value: value.value })),
    },
  };
}

/** Measures with entropy in bits or nats. */
function measuresIn(measures: HeadMeasures, bits: boolean): object {
  return bits
    ? { ...measures, entropy: measures.entropy / Math.LN2, unit: "bit" }
    : { ...measures, unit: "nat" };
}

function rows(weights: ArrayLike<number>, queries: number, keys: number): number[][] {
  return Array.from({ length: queries }, (_, i) =>
    Array.from({ length: keys }, (_, j) => weights[i * keys + j]),
  );
}
