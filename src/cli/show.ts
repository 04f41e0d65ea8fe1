/**
 * `heed show TEXT [TEXT2 …]`: the attention of a real trained encoder on one's own words. The Universal Sentence
 * Encoder lite runs here, in heed (models/use-lite.ts); this file reads the options, and view/ draws.
 */
import { parseArgs } from "node:util";
import { saveFile } from "../io/save.ts";
import { useLiteModel } from "../models/text-model.ts";
import { type Encoded, openUseLite, similarity, type UseLite } from "../models/use-lite.ts";
import { COLOUR_MODES, type ColourMode, choosePaint } from "../view/paint.ts";
import { explainStrongest, headsOf } from "../view/report.ts";
import { renderSvg } from "../view/svg.ts";
import { renderSimilarity, renderText } from "../view/terminal-report.ts";
import { type Command, EXIT, type Io, UsageError, type Values } from "./command.ts";
import { ENGINE_HELP, ENGINE_OPTIONS } from "./engine.ts";
import { addressOf, explore } from "./explore.ts";
import { fileOfText } from "./model-bundle.ts";
import { checkPlace } from "./output.ts";
import { SERVE_HELP, SERVE_OPTIONS, serveOptions } from "./serve-options.ts";
import { integer, oneOf } from "./values.ts";

/** What this command needs of the world. */
export type ShowIo = Pick<Io, "stdout" | "stderr" | "env" | "isTTY" | "columns" | "signal">;

/** The texts shown where none is given: `flies` is a verb in one and a noun in the other. */
export const DEFAULT_TEXTS = ["time flies like an arrow", "fruit flies like a banana"] as const;

const options = {
  output: { type: "string", short: "o" },
  model: { type: "string" },
  layer: { type: "string" },
  head: { type: "string" },
  color: { type: "string", default: "auto" },
  links: { type: "string", default: "3" },
  width: { type: "string" },
  json: { type: "boolean" },
  view: { type: "boolean" },
  ...SERVE_OPTIONS,
  ...ENGINE_OPTIONS,
} as const;

/** The command, for the command table. */
export const command: Command = {
  name: "show",
  summary: "show what a trained sentence encoder attends to in a text",
  usage: "heed show [TEXT ...] [OPTIONS]",
  options,
  help: {
    output: "FILE.svg  write the maps as SVG",
    model: "DIR  folder with model.json and vocab.json (default: the installed package)",
    layer: "N  one layer alone, from 0",
    head: "N  one head alone, from 0; with --layer, its weights are printed in per cent",
    color: `MODE  ${COLOUR_MODES.join(", ")}`,
    links: "N  strongest links shown of each token (default 3)",
    width: "N  columns to draw in (default: the terminal's, or 80)",
    json: "print pieces, weights, lse, measures and embeddings as JSON",
    view: "then serve the explorer on it until Ctrl-C",
    ...SERVE_HELP,
    ...ENGINE_HELP,
  },
  examples: [
    "heed show",
    'heed show "The cat sat on the mat"',
    'heed show "How old are you?" "What is your age?" -o age.svg',
    'heed show "The river bank was eroding." --layer 0 --head 1',
    'heed show "time flies like an arrow" --view',
    'heed show "time flies like an arrow" --json',
  ],
  run,
};

/** Parses `args` and runs the command; resolves to the exit code. */
export async function show(args: readonly string[], io: ShowIo): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  return run(values, positionals, io);
}

async function run(values: Values, positionals: readonly string[], io: ShowIo): Promise<number> {
  const texts = positionals.length > 0 ? positionals : DEFAULT_TEXTS;
  const count = (name: string, least: number) =>
    values[name] === undefined ? undefined : integer(name, values[name], least);
  const [layer, head, links, width] = [
    count("layer", 0),
    count("head", 0),
    count("links", 1),
    count("width", 20),
  ];
  const mode = oneOf<ColourMode>("color", values.color ?? "auto", COLOUR_MODES);
  const output = values.output as string | undefined;
  if (output !== undefined && !/\.svg$/i.test(output))
    throw new UsageError(`--output must name a file that ends in .svg, got ${JSON.stringify(output)}`);

  if (values.view && values.json)
    throw new UsageError("--view serves a page, --json prints; give one of them");
  const serving = serveOptions(values);
  if (output !== undefined) await checkPlace(output);
  const model = openUseLite(values.model as string | undefined);
  const seen = texts.map((text) => model.run(text));
  // Asks for the heads before anything is written: a layer or head that is not there is refused here.
  for (const text of seen) headsOf(text, { layer, head });
  warnOfCuts(seen, model, io);

  const cosines = seen.map((a) => seen.map((b) => similarity(a.embedding, b.embedding)));
  if (output !== undefined) {
    await saveFile(output, new TextEncoder().encode(renderSvg(seen, { layer, head, cosines })));
    io.stderr.write(`wrote ${output}\n`);
  }
  if (values.json) {
    io.stdout.write(`${JSON.stringify(asJson(seen, cosines, layer, head))}\n`);
    return EXIT.ok;
  }
  const paint = choosePaint(mode, io.env, io.isTTY);
  const columns = width ?? (io.columns && io.columns > 0 ? Math.min(io.columns, 160) : 80);
  const page = seen.flatMap((text) => renderText(text, { paint, columns, layer, head, links }));
  page.push(...renderSimilarity(texts, cosines, { paint, columns }));
  while (page[page.length - 1] === "") page.pop();
  io.stdout.write(`${page.join("\n")}\n`);
  if (!values.view) return EXIT.ok;
  // The page opens at the number that was just explained.
  const explained = explainStrongest(seen[0], headsOf(seen[0], { layer, head }));
  const named = useLiteModel(model);
  const files = await Promise.all(texts.map((text) => fileOfText(named, named.attention(text))));
  const hash = explained && addressOf("self", explained);
  return explore(files, { ...serving, hash }, io, ({ url }) => `\nIn the explorer: ${url}\n`);
}

function warnOfCuts(seen: readonly Encoded[], model: UseLite, io: ShowIo): void {
  for (const { tokens } of seen) {
    const left = tokens.length - model.maxPieces;
    if (left > 0)
      io.stderr.write(
        `show: the encoder reads the first ${model.maxPieces} pieces; ${left} more are left out\n`,
      );
  }
}

function asJson(
  seen: readonly Encoded[],
  cosines: readonly number[][],
  layer?: number,
  head?: number,
): unknown {
  return {
    model: "universal-sentence-encoder-lite",
    texts: seen.map((text) => {
      const heads = headsOf(text, { layer, head });
      return {
        text: text.text,
        pieces: text.pieces,
        ids: text.ids,
        heads: heads.map((it) => ({
          layer: it.layer,
          head: it.head,
          ...it.metrics,
          weights: rows(it.weights, it.queries, it.keys),
          lse: Array.from({ length: it.queries }, (_, i) => text.layers[it.layer].lse.at(it.head, i)),
        })),
        explained: explainStrongest(text, heads),
        embedding: Array.from(text.embedding),
      };
    }),
    similarity: cosines,
  };
}

function rows(weights: ArrayLike<number>, queries: number, keys: number): number[][] {
  return Array.from({ length: queries }, (_, i) =>
    Array.from({ length: keys }, (_, j) => weights[i * keys + j]),
  );
}
