/**
 * `heed show TEXT [TEXT2 …]`: the attention of a real trained model on one's own words. The model runs here, in heed
 * (models/); this file reads the options, and view/ draws. A sentence encoder also says how alike the texts are.
 */
import { parseArgs } from "node:util";
import { saveFile } from "../../io/save.ts";
import { type TextAttention, withWeights } from "../../models/text-model.ts";
import { type Encoded, similarity } from "../../models/use-lite.ts";
import { explainStrongest, headsOf, type SeenText } from "../../view/report.ts";
import { renderSvg } from "../../view/svg.ts";
import { COLOUR_MODES, type ColourMode, choosePaint } from "../../view/terminal/paint.ts";
import { renderSimilarity, renderText } from "../../view/terminal/report.ts";
import { type Command, EXIT, type Io, UsageError, type Values } from "../support/command.ts";
import { ENGINE_HELP, ENGINE_OPTIONS } from "../support/engine.ts";
import { addressOf, explore } from "../support/explore.ts";
import { fileOfText } from "../support/model-bundle.ts";
import { checkPlace } from "../support/output.ts";
import { MODEL_HELP, pickModel } from "../support/pick-model.ts";
import { SERVE_HELP, SERVE_OPTIONS, serveOptions } from "../support/serve-options.ts";
import { integer, oneOf } from "../support/values.ts";

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
  summary: "show what a trained model attends to in a text",
  usage: "heed show [TEXT ...] [OPTIONS]",
  options,
  help: {
    output: "FILE.svg  write the maps as SVG",
    model: MODEL_HELP,
    layer: "N  one layer alone, from 0",
    head: "N  one head alone, from 0; with --layer, its weights are printed in per cent",
    color: `MODE  ${COLOUR_MODES.join(", ")}`,
    links: "N  strongest links shown of each token (default 3)",
    width: "N  columns to draw in (default: the terminal's, or 80)",
    json: "print pieces, weights, lse and measures as JSON (and embeddings, where the model has any)",
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
  const { model, sentences } = await pickModel(values.model as string | undefined);
  const attended = texts.map((text) => model.attention(text));
  // A sentence encoder's own run has the embeddings too.
  const encoded = sentences && texts.map((text) => sentences.run(text));
  const seen: readonly SeenText[] = encoded ?? attended.map(withWeights);
  // Asks for the heads before anything is written: a layer or head that is not there is refused here.
  for (const text of seen) headsOf(text, { layer, head });
  warnOfCuts(attended, model.maxTokens, io);

  const cosines = (encoded ?? []).map((a) => encoded?.map((b) => similarity(a.embedding, b.embedding)) ?? []);
  if (output !== undefined) {
    await saveFile(
      output,
      new TextEncoder().encode(renderSvg(seen, { layer, head, ...(encoded && { cosines }) })),
    );
    io.stderr.write(`wrote ${output}\n`);
  }
  if (values.json) {
    const texts = seen.map((text, n) => asJson(text, attended[n], encoded?.[n], layer, head));
    io.stdout.write(
      `${JSON.stringify({ model: model.name, texts, ...(encoded && { similarity: cosines }) })}\n`,
    );
    return EXIT.ok;
  }
  const paint = choosePaint(mode, io.env, io.isTTY);
  const columns = width ?? (io.columns && io.columns > 0 ? Math.min(io.columns, 160) : 80);
  const page = seen.flatMap((text) => renderText(text, { paint, columns, layer, head, links }));
  if (encoded) page.push(...renderSimilarity(texts, cosines, { paint, columns }));
  while (page[page.length - 1] === "") page.pop();
  io.stdout.write(`${page.join("\n")}\n`);
  if (!values.view) return EXIT.ok;
  // The page opens at the number that was just explained.
  const explained = explainStrongest(seen[0], headsOf(seen[0], { layer, head }));
  const files = await Promise.all(attended.map((text) => fileOfText(model, text)));
  const hash = explained && addressOf("self", explained);
  return explore(files, { ...serving, hash }, io, ({ url }) => `\nIn the explorer: ${url}\n`);
}

function warnOfCuts(attended: readonly TextAttention[], most: number, io: ShowIo): void {
  for (const { leftOut } of attended)
    if (leftOut > 0)
      io.stderr.write(`show: the model reads the first ${most} pieces; ${leftOut} more are left out\n`);
}

function asJson(
  text: SeenText,
  { ids }: TextAttention,
  encoded: Encoded | undefined,
  layer?: number,
  head?: number,
): unknown {
  const heads = headsOf(text, { layer, head });
  return {
    text: text.text,
    pieces: text.pieces,
    ids: Array.from(ids),
    heads: heads.map((it) => ({
      layer: it.layer,
      head: it.head,
      ...it.metrics,
      weights: rows(it.weights, it.queries, it.keys),
      lse: Array.from({ length: it.queries }, (_, i) => text.layers[it.layer].lse.at(it.head, i)),
    })),
    explained: explainStrongest(text, heads),
    ...(encoded && { embedding: Array.from(encoded.embedding) }),
  };
}

function rows(weights: ArrayLike<number>, queries: number, keys: number): number[][] {
  return Array.from({ length: queries }, (_, i) =>
    Array.from({ length: keys }, (_, j) => weights[i * keys + j]),
  );
}
