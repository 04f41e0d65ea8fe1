/**
 * `heed figure`: a figure of a file of attention, for a paper, without a browser: PDF, SVG, PNG of the cells, or the numbers as
 * CSV or JSON, by the extension of the output. view/figure renders it; this file reads the options.
 */
import { basename, extname } from "node:path";
import type { HeadStore } from "../../store/head-store.ts";
import { storeOfWords } from "../../store/layout/words.ts";
import { tellingLink } from "../../store/sentences/telling.ts";
import {
  csvLines,
  FIGURE_VIEWS,
  FIGURE_WORDS,
  type FigureOptions,
  figureTable,
  jsonLines,
  renderFigure,
  renderRaster,
} from "../../view/figure/index.ts";
import { resolveFigure } from "../../view/figure/options.ts";
import { FILE_NOTES, INPUT_HELP, openInput } from "../support/input/attention-file.ts";
import { type Command, EXIT, type Io, UsageError, type Values } from "../support/line/command.ts";
import { indices, integer, number, oneOf, optional } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { bytesText, jsonText, printJson } from "../support/output/terminal.ts";

const ENDINGS = [".pdf", ".svg", ".png", ".csv", ".json"] as const;
type Ending = (typeof ENDINGS)[number];
/** Characters of a table to write at a time. */
const PIECE = 2 ** 16;
/** In the caption of a figure over words. */
const WORDS_NOTE = "tokens merged to words: summed over those of a key, averaged over those of a query";

export const command: Command = {
  name: "figure",
  summary: "draw a head, or all of them, as PDF, SVG, PNG, CSV or JSON",
  usage: `heed figure FILE -o FIGURE [OPTIONS]
    heed figure --text TEXT -o FIGURE [OPTIONS]`,
  help: {
    output: "FIGURE  a file that ends in .pdf, .svg, .png, .csv or .json",
    view: `VIEW  ${FIGURE_VIEWS.join(", ")} (default matrix)`,
    block: "NAME  the block of heads (default: the first)",
    layer: "N  the layer, by its number in the file (default: the first)",
    head: "N  the head, from 0 (default 0)",
    query: "N  the query to outline with --key, and the one that views row and text explain",
    key: "N  the key of that cell",
    stage: "STAGE  scores, scaled, masked, weights (default), contribution or contrast",
    transfer: "SCALE  sqrt (default), linear or log; the scale of colors",
    domain: "DOMAIN  full color is 1 (absolute, the default), or the largest of the head or of each row",
    ramp: "RAMP  plum (default), cividis or grey",
    hide: "KEYS  special or first; or positions such as 0,4-7",
    renormalize: "divide the visible weights of a row by their sum",
    "query-segments": "N,N  only the queries of these segments",
    "key-segments": "N,N  only the keys of these segments",
    top: "N  lines: the strongest keys of each query (default 3)",
    mass: "SHARE  lines: as many keys as make up this share of a row",
    rows: "N,N  text: several tokens instead of --query",
    direction: "DIRECTION  text: from (the attention they give, default) or to (the attention they get)",
    aggregate: "FUNCTION  text: several tokens combined by mean (default), sum or max",
    words:
      "merge the tokens of a word into one row and column; --query, --key, --rows and --hide count words",
    values: "print the numbers in cells that are large enough",
    "every-cell":
      "one pixel per cell for long heads (default: cells are merged to 150 pixels per inch by their largest value)",
    width: "MM  width in millimeters: 85 for one column (default), 170 for two",
    theme: "THEME  light (default) or dark",
    transparent: "no background",
    "no-caption": "no caption below the figure",
    about: "begin the caption with the text and its model",
    scale: "N  PNG: 1 (default) to 4 times as many pixels",
    ...INPUT_HELP,
    json: "print the file's size, caption, description and LaTeX as JSON",
  },
  notes: `${FILE_NOTES}
Without --layer and --head, the head with the most telling link is drawn.
The same file and options give the same bytes. A PNG holds the cells of a matrix or an atlas, without labels.`,
  examples: [
    "heed figure run.safetensors --layer 4 --head 7 -o fig.pdf",
    "heed figure run.safetensors --view atlas --width 170 -o heads.svg",
    "heed figure run.npz --layer 0 --view row --query 9 --key 2 -o why.svg",
    "heed figure run.json --view lines --mass 0.9 --hide special -o lines.svg",
    'heed figure --text "The cat sat on the mat because it was tired" --view lines -o cat.svg',
    'heed figure --text "The river bank was eroding." --words -o bank.svg',
    "heed figure run.safetensors --layer 4 --head 7 -o weights.csv",
  ],
  async run(values, positionals, io) {
    const output = outputOf(values, ENDINGS.join(", "), "say where the figure goes: -o fig.svg");
    const ending = extname(output).toLowerCase() as Ending;
    const options = figureOptionsOf(values);
    const scale = values.scale === undefined ? 1 : (integer("scale", values.scale, 1, 4) as 1 | 2 | 3 | 4);
    checkWords(values, options);
    await checkPlace(output, positionals);
    const { store: tokens } = await openInput(values, positionals, io);
    const store = values.words === true ? storeOfWords(tokens) : tokens;
    try {
      return await draw(
        store,
        await withHead(store, options),
        { output, ending, scale, json: values.json === true },
        io,
      );
    } finally {
      store.dispose();
    }
  },
};

/** Throws for options that have no meaning for words. */
function checkWords({ words }: Values, { stage = "weights", view }: FigureOptions): void {
  if (words !== true) return;
  if (stage !== "weights")
    throw new UsageError(`--words merges weights; --stage ${stage} shows numbers of two tokens`);
  if (view === "row") throw new UsageError("--words merges weights; --view row explains one of two tokens");
}

/** The options; without a head or a cell, those of the most telling link are added. */
async function withHead(store: HeadStore, options: FigureOptions): Promise<FigureOptions> {
  const { view, layer, head, query, key } = options;
  if (view === "atlas" || [layer, head, query, key].some((value) => value !== undefined)) return options;
  const named = store.blocks.findIndex(({ name }) => name === options.block);
  const link = await tellingLink(store, { block: Math.max(0, named) });
  if (!link) return options;
  // A cell is outlined only on request; the views row and text need one.
  const cell = view === "row" || view === "text" ? { query: link.query, key: link.key } : {};
  return { ...options, layer: link.layer, head: link.head, ...cell };
}

interface Wanted {
  readonly output: string;
  readonly ending: Ending;
  readonly scale: 1 | 2 | 3 | 4;
  readonly json: boolean;
}

async function draw(store: HeadStore, options: FigureOptions, wanted: Wanted, io: Io): Promise<number> {
  const { output, ending, scale, json } = wanted;
  const { view, ref } = resolveFigure(store, options);
  const notNumbers = view === "atlas" ? 0 : (await store.measures(ref)).notNumbers;
  if (notNumbers > 0)
    io.stderr.write(
      `warning: layer ${ref.layer}, head ${ref.head}: ${notNumbers} ${notNumbers === 1 ? "weight is not a number" : "weights are not numbers"} (NaN)\n`,
    );
  if (ending === ".csv" || ending === ".json") {
    const table = await figureTable(store, options);
    const lines = ending === ".csv" ? csvLines(table) : jsonLines(table);
    const bytes = await saveLines(output, lines);
    if (json) io.stdout.write(jsonText({ output, bytes, columns: table.columns.length }));
    else io.stderr.write(`wrote ${output} (${bytesText(bytes)})\n`);
    return EXIT.ok;
  }
  const figure = await renderFigure(store, options);
  let file = new TextEncoder().encode(figure.svg) as Uint8Array;
  if (ending === ".png") file = await renderRaster(store, options, { scale });
  if (ending === ".pdf") {
    const { pdf, missing } = await figure.pdf();
    if (missing.length > 0)
      io.stderr.write(
        `warning: PDF's standard fonts have no ${missing.slice(0, 12).join(" ")}${missing.length > 12 ? " …" : ""}; each is a question mark. Write SVG to keep them\n`,
      );
    file = pdf;
  }
  await save(output, file);
  const name = basename(output, extname(output));
  const { title, caption, alt, width, height } = figure;
  if (json) {
    const facts = {
      output,
      bytes: file.length,
      title,
      caption,
      alt,
      latex: figure.latex(ending === ".svg" ? `${name}.svg` : name),
    };
    return printJson(io, { ...facts, millimeters: [width, height] });
  }
  io.stderr.write(`wrote ${output} (${bytesText(file.length)})\n`);
  io.stdout.write(`${alt}\n\n${figure.latex(ending === ".svg" ? `${name}.svg` : name)}`);
  return EXIT.ok;
}

/** Saves lines without having all of them in memory; returns the number of bytes. */
async function saveLines(path: string, lines: Iterable<string>): Promise<number> {
  const encoder = new TextEncoder();
  let bytes = 0;
  const pieces = function* (): Generator<Uint8Array> {
    let written = "";
    for (const line of lines) {
      written += line;
      if (written.length < PIECE) continue;
      const piece = encoder.encode(written);
      bytes += piece.length;
      written = "";
      yield piece;
    }
    const last = encoder.encode(written);
    bytes += last.length;
    yield last;
  };
  await save(path, pieces());
  return bytes;
}

/** The options of a figure from the command line; the figure checks them against the file. */
function figureOptionsOf(values: Values): FigureOptions {
  const word = <Name extends keyof typeof FIGURE_WORDS>(name: Name) =>
    values[name] === undefined
      ? undefined
      : (oneOf<string>(name, values[name], FIGURE_WORDS[name]) as (typeof FIGURE_WORDS)[Name][number]);
  const count = (name: string) => optional(values, name, integer, 0);
  const list = (name: string) => optional(values, name, indices);
  const hide = FIGURE_WORDS.hide.find((name) => name === (values.hide ?? "none"));
  return {
    view: word("view"),
    block: values.block as string | undefined,
    layer: count("layer"),
    head: count("head"),
    query: count("query"),
    key: count("key"),
    stage: word("stage"),
    transfer: word("transfer"),
    domain: word("domain"),
    ramp: word("ramp"),
    // Any other value is a list of positions.
    hide: hide ?? "chosen",
    hidden: hide === undefined ? list("hide") : undefined,
    renormalize: values.renormalize === true,
    querySegments: list("query-segments"),
    keySegments: list("key-segments"),
    keep: values.mass === undefined ? "top" : "mass",
    top: optional(values, "top", integer, 1),
    mass: optional(values, "mass", number),
    rows: list("rows"),
    direction: word("direction"),
    aggregate: word("aggregate"),
    values: values.values === true,
    everyCell: values["every-cell"] === true,
    width: optional(values, "width", number),
    theme: word("theme"),
    background: values.transparent !== true,
    caption: values["no-caption"] !== true,
    about: values.about === true,
    notes: values.words === true ? [WORDS_NOTE] : undefined,
  };
}
