/** `heed heads FILE …`: every head over many texts, with its strongest links and the texts in which they fail. */
import { readdirSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { OptionError } from "../../core/errors.ts";
import type { TextModel } from "../../models/text-model.ts";
import { openStore } from "../../store/formats/open.ts";
import { storeFromModel } from "../../store/layout/from.ts";
import {
  beyondText,
  type HeadOverTexts,
  headsOverTexts,
  type MeasuredText,
  type TextExample,
} from "../../store/measures/over-texts.ts";
import { MODEL_HELP, pickModel } from "../support/input/pick-model.ts";
import { decodeText, readBytes, textLines } from "../support/input/text-file.ts";
import {
  type Command,
  EXIT,
  Interrupted,
  type Io,
  UsageError,
  type Values,
} from "../support/line/command.ts";
import { integer } from "../support/line/values.ts";
import { startProgress } from "../support/output/progress.ts";
import { columnsOf, jsonText, wrap } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

const USAGE = "name files of texts: heed heads sentences.txt --model encoder";

export const command: Command = {
  name: "heads",
  summary: "measure every head over many texts",
  usage: "heed heads FILE ... [OPTIONS]",
  help: {
    model: MODEL_HELP,
    query: "WORD  only links from this word",
    key: "WORD  only links to this word",
    layer: "N  only this layer, from 0",
    head: "N  only this head of each layer, from 0",
    top: "N  heads to print, those whose link holds in most texts first (default 10)",
    examples: "N  strongest and failing links to print of each head (default 2)",
    ...ENGINE_HELP,
    json: "print every head as JSON",
  },
  notes: `FILE is a text file with a text on each line, a bundle with a text in each block (.safetensors), or a folder of both. The model reads the
lines of text files; bundles need none. A link is counted where its contrast is above chance: the weight minus what the other tokens give the
same key, or give at the same distance.`,
  examples: [
    "heed heads sentences.txt --model encoder --top 5",
    "heed heads run.safetensors bank.safetensors --query it",
    "heed heads sentences.txt --model ./all-MiniLM-L6-v2 --layer 0 --head 2",
  ],
  async run(values, positionals, io) {
    if (positionals.length === 0) throw new UsageError(USAGE);
    const count = (name: string, least: number, preset?: number) =>
      values[name] === undefined ? preset : integer(name, values[name], least);
    const [layer, head] = [count("layer", 0), count("head", 0)];
    const [top, examples] = [count("top", 1, 10) as number, count("examples", 0, 2) as number];
    const texts = await textsOf(positionals, values, io);
    const [query, key] = [values.query, values.key] as (string | undefined)[];
    const bar = startProgress(io, `${texts.length} texts`);
    let all: HeadOverTexts[];
    try {
      all = await headsOverTexts(texts, {
        examples,
        query,
        key,
        signal: io.signal,
        onProgress: (share) => bar.update(share),
      });
    } catch (error) {
      if (io.signal.aborted) throw new Interrupted();
      throw error;
    } finally {
      bar.end();
    }
    const heads = all.filter(
      (it) => (layer === undefined || it.layer === layer) && (head === undefined || it.head === head),
    );
    if (heads.length === 0)
      throw new UsageError(
        `no head has ${layer === undefined ? "" : `--layer ${layer} `}${head === undefined ? "" : `--head ${head}`}`.trim(),
      );
    if (values.json) io.stdout.write(jsonText({ texts: texts.map(({ name }) => name), query, key, heads }));
    else writeHeads(heads, top, headingOf(texts.length, heads, query, key), io);
    return EXIT.ok;
  },
};

/** The texts of files: lines for the model, and blocks of bundles. */
async function textsOf(paths: readonly string[], values: Values, io: Io): Promise<MeasuredText[]> {
  const files = paths.flatMap(filesIn);
  const texts: MeasuredText[] = [];
  let model: TextModel | undefined;
  for (const path of files) {
    if (extname(path).toLowerCase() === ".safetensors") {
      const store = await openStore(path);
      const blocks = store.blocks.map(({ name }, block) => ({
        name: store.blocks.length === 1 ? basename(path) : `${basename(path)}: ${name}`,
        block,
        open: () => store,
      }));
      texts.push(...blocks);
      continue;
    }
    model ??= await pickModel(values.model as string | undefined, io);
    const reader = model;
    for (const name of textLines(path, decodeText(path, await readBytes(path))))
      texts.push({ name, dispose: true, open: () => storeFromModel(reader.attention(name)) });
  }
  if (model === undefined && values.model !== undefined)
    throw new UsageError("--model belongs to text files; bundles have their attention");
  // The same line twice is one text.
  return [...new Map(texts.map((text) => [text.name, text])).values()];
}

/** The files of an argument: itself, or the text files and bundles of a folder. */
function filesIn(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const files = readdirSync(path).filter((name) => /\.(?:txt|safetensors)$/i.test(name));
  if (files.length === 0)
    throw new OptionError("file", `${path} has no .txt and no .safetensors file`, { path });
  return files.sort().map((name) => join(path, name));
}

/** What is counted: where a word is asked about, only the texts that have it. */
function headingOf(texts: number, heads: readonly HeadOverTexts[], query?: string, key?: string): string {
  const counted = Math.max(...heads.map(({ contrast }) => contrast.texts));
  const words = [query && `from ${JSON.stringify(query)}`, key && `to ${JSON.stringify(key)}`].filter(
    Boolean,
  );
  const link = `a link${words.map((word) => ` ${word}`).join("")}`;
  const having = counted === texts ? "" : `, ${counted} with ${link}`;
  return `${texts} ${texts === 1 ? "text" : "texts"}${having}: in how many of ${counted === texts ? "them" : "those"} the strongest link of a head is above chance, and its contrast.`;
}

function writeHeads(heads: readonly HeadOverTexts[], top: number, heading: string, io: Io): void {
  const columns = Math.min(io.columns ?? 80, 160);
  const number = (x: number) => (Number.isNaN(x) ? "–" : x.toFixed(2).replace("-", "−"));
  const example = ({ queryToken, keyToken, weight, text }: TextExample) =>
    `${queryToken.trim()} → ${keyToken.trim()} ${number(weight)}  ${text}`;
  const shown = heads.slice(0, top);
  const rows = shown.map((it) => [
    `L${it.layer} H${it.head}`,
    `${it.holds} of ${it.contrast.texts}`,
    number(it.contrast.mean),
    number(it.contrast.spread),
    number(it.measures.previous?.mean ?? Number.NaN),
    number(it.measures.special?.mean ?? Number.NaN),
  ]);
  const lines = [
    ...wrap(heading, columns),
    "",
    ...columnsOf([["head", "holds", "contrast", "spread", "previous", "special"], ...rows], [1, 2, 3, 4, 5]),
  ];
  if (heads.length > top) lines.push(`${heads.length - top} more heads hold in fewer texts (--top)`);
  for (const it of shown) {
    if (it.strongest.length + it.failing.length === 0) continue;
    lines.push("", ...wrap(`L${it.layer} H${it.head}: ${beyondText(it)}`, columns));
    for (const one of it.strongest) lines.push(`  + ${example(one)}`);
    for (const one of it.failing) lines.push(`  − ${example(one)}`);
  }
  io.stdout.write(`${lines.join("\n")}\n`);
}
