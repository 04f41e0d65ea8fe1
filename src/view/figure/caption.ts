/**
 * The texts of a figure: its title, its caption (stage, scale, the value of full color, hidden and pooled cells), its alternative
 * text, and a LaTeX figure environment.
 */

import { checkKind } from "../../core/option-names.ts";
import type { Stage } from "../../store/block.ts";
import { comparedStep } from "../../store/measures/key-sums.ts";
import type { HeadMeasures } from "../../store/measures/measures.ts";
import { describeHead } from "../../store/sentences/sentence.ts";
import { wrap } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { text } from "../plot/svg.ts";
import { joined } from "./cells.ts";
import type { ShownEdges } from "./lines.ts";
import type { Figure } from "./options.ts";
import type { FigurePart, Theme } from "./sheet.ts";
import type { Shown } from "./shown.ts";

/** Width of a character of prose as a share of the font size: an average over running text. */
const EM = 0.5;

const STAGES: Readonly<Record<Stage, string>> = {
  scores: "scores q·k",
  scaled: "scaled scores",
  masked: "scores after mask, cap and bias",
  weights: "attention weights",
  contribution: "contributions w·‖v‖",
  contrast: "attention weights minus what the other rows give the same key",
};

/** The text and its model, as far as the file names them: `“time flies like an arrow” read by all-MiniLM-L6-v2`. */
function aboutOf({ store }: Figure): string[] {
  const { text, model } = store.report;
  const quoted = text === undefined ? "" : `“${text.length > 120 ? `${text.slice(0, 119)}…` : text}”`;
  const reader = model === undefined ? "" : `${quoted === "" ? "model" : "read by"} ${model}`;
  const about = [quoted, reader].filter((part) => part !== "").join(" ");
  return about === "" ? [] : [about];
}

/** "Layer 4, head 7", with the block's name if there are several blocks, and the head's name if it has one. */
export function placeName({ store, block, layer, head, view }: Figure): string {
  const name = block.headNames?.[head];
  const where = view === "atlas" ? "All heads" : `Layer ${layer}, head ${head}${name ? ` (${name})` : ""}`;
  return store.blocks.length > 1 ? `${where} of ${block.name}` : where;
}

/** The facts about a figure, as parts of one sentence. `notNumbers` is how many weights of the head are NaN. */
export function factsOf(
  figure: Figure,
  shown: Shown | undefined,
  shownEdges?: ShownEdges,
  notNumbers: number | undefined = 0,
): string[] {
  const { view, stage, block } = figure;
  const facts = [...(figure.about ? aboutOf(figure) : []), placeName(figure), ...figure.notes];
  if (view === "atlas" || shown === undefined) {
    const by = figure.pool === "max" ? "largest weight" : "mean weight";
    facts.push(`attention weights, each pixel the ${by} of its cells`, scaleName(figure), "full color = 1");
    return facts;
  }
  const changed = view === "row" ? changesOf(figure) : [];
  if (changed.length > 0)
    facts.push(
      `changed by hand: ${changed.slice(0, 4).join(", ")}${changed.length > 4 ? ` and ${changed.length - 4} more numbers` : ""}`,
    );
  const step = comparedStep(block);
  if (stage === "contrast" && step > 1) facts.push(`one in ${step} of the other rows compared`);
  const unit = stage === "contribution" && block.has.wo ? "contributions w·‖v·W_O‖" : STAGES[stage];
  facts.push(view === "row" ? "one weight step by step" : unit);
  if (view === "matrix" || view === "text")
    facts.push(shown.signed ? "linear around 0" : scaleName(figure), fullColor(figure, shown));
  const { querySegments, keySegments } = figure;
  const part = querySegments.length > 0 || keySegments.length > 0 ? " shown" : "";
  const count = (n: number, what: string) =>
    `${n} ${n === 1 ? what.replace(/ies$/, "y").replace(/s$/, "") : what}`;
  facts.push(`${count(shown.queries.length, "queries")} × ${count(shown.keys.length, "keys")}${part}`);
  if (shownEdges !== undefined) {
    const percent = (share: number) => formatNumber(share, { style: "percent" });
    const keys =
      figure.keep === "top"
        ? `the ${figure.top} strongest keys of each query`
        : `${percent(figure.mass)} of each row`;
    const { edges, total, mass } = shownEdges;
    const count = `${formatNumber(edges.length)} of ${formatNumber(total)} links`;
    facts.push(`${keys}: ${count}, ${percent(mass)} of all attention`);
  }
  if (view === "text") facts.push(aggregateOf(figure, shown));
  const by = joined(shown, figure);
  if (view === "matrix" && by > 1) facts.push(`each pixel the largest of ${by} × ${by} cells`);
  facts.push(hiddenName(figure, shown));
  if (notNumbers > 0) facts.push(`weights that are not numbers: ${formatNumber(notNumbers)}`);
  return facts;
}

/** The edited numbers: "q[3] 0.412 → 5". */
export function changesOf({ store, ref, query, key, whatIf }: Figure): string[] {
  const changes: string[] = [];
  const compare = (name: string, before: Float64Array, after: ArrayLike<number>) =>
    before.forEach((value, c) => {
      if (value !== after[c])
        changes.push(`${name}[${c}] ${formatNumber(value)} → ${formatNumber(after[c])}`);
    });
  if (whatIf.query) compare("q", store.vector(ref, "query", query), whatIf.query);
  if (whatIf.key)
    compare(
      `k${whatIf.key.index === key ? "" : ` of key ${whatIf.key.index}`}`,
      store.vector(ref, "key", whatIf.key.index),
      whatIf.key.values,
    );
  const storedScale = whatIf.scale === undefined ? undefined : store.ledger(ref, query, key).scale;
  if (whatIf.scale !== undefined && storedScale !== whatIf.scale)
    changes.push(
      `scale ${storedScale === undefined ? "" : `${formatNumber(storedScale)} `}→ ${formatNumber(whatIf.scale)}`,
    );
  return changes;
}

function scaleName({ transfer }: Figure): string {
  return { sqrt: "square-root scale", linear: "linear scale", log: "logarithmic scale" }[transfer];
}

function fullColor(figure: Figure, { domain }: Shown): string {
  if (domain === undefined) return "full color = the row’s largest";
  const whose = figure.domain === "head" ? " (the head’s largest)" : "";
  return `full color = ${formatNumber(domain)}${whose}`;
}

function aggregateOf(figure: Figure, shown: Shown): string {
  const from = figure.direction === "from";
  const names = from ? shown.queryNames : shown.keyNames;
  const chosen = figure.rows.length > 0 ? figure.rows : [from ? figure.query : figure.key];
  const list = chosen.slice(0, 4).map((i) => `“${names[i]}”`);
  const more = chosen.length > 4 ? ` and ${chosen.length - 4} more` : "";
  const how = chosen.length > 1 ? `, ${figure.aggregate} of ${chosen.length}` : "";
  return `${from ? "from" : "to"} ${list.join(", ")}${more}${how}`;
}

function hiddenName(figure: Figure, { hiddenKeys }: Shown): string {
  const n = hiddenKeys.size;
  if (n === 0) return "no token hidden";
  const what =
    figure.hide === "special"
      ? "special tokens"
      : figure.hide === "first"
        ? "the first token"
        : "chosen tokens";
  const keys = `${n} ${n === 1 ? "key" : "keys"}`;
  return `${what} hidden (${keys}), ${figure.renormalize ? "rows renormalized" : "gaps left"}`;
}

/** Draws the caption. */
export function drawCaption(facts: readonly string[], theme: Theme, width: number): FigurePart {
  const size = 6.5;
  // No break before a dot, nor inside "= 1" or "24 × 24".
  const sentence = `${facts.join("\u00a0· ")}.`.replace(/ ([=×]) /g, "\u00a0$1\u00a0");
  const lines = wrap(sentence, Math.floor(width / (size * EM)));
  const font = { "font-size": size, fill: theme.second };
  return {
    svg: lines.map((line, n) => text(0, size + n * 9, line, font)).join("\n"),
    height: lines.length * 9 + 2,
  };
}

/** The alternative text of a figure. */
export function altText(
  figure: Figure,
  facts: readonly string[],
  measures: HeadMeasures | undefined,
  strongest: string,
  hides: boolean,
): string {
  // The measures are those of all keys.
  const all = hides ? " With all tokens:" : "";
  const about = measures === undefined ? "" : `${all} ${describeHead(figure.block, measures)}`;
  return `${facts.join("; ")}.${about}${strongest === "" ? "" : ` ${strongest}`}`;
}

const LATEX: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "{": "\\{",
  "}": "\\}",
  $: "\\$",
  "&": "\\&",
  "#": "\\#",
  "%": "\\%",
  _: "\\_",
  "^": "\\textasciicircum{}",
  "~": "\\textasciitilde{}",
  "×": "$\\times$",
  "·": "$\\cdot$",
  "√": "$\\surd$",
  "‖": "$\\|$",
  "−": "$-$",
  "“": "``",
  "”": "''",
  "’": "'",
  "\u202f": "\\,",
};

/** Text with LaTeX's special characters escaped. */
function latexText(content: string): string {
  return content.replace(/[\\{}$&#%_^~×·√‖−“”’\u202f]/g, (c) => LATEX[c]);
}

/**
 * A figure environment for a file. `name` is the name that LaTeX includes: without an extension, LaTeX uses the PDF; a name that
 * ends in .svg is included by the package `svg`.
 */
export function latexFigure(file: string, width: number, facts: readonly string[]): string {
  checkKind("latex", "name", "a text", file);
  const svg = /\.svg$/i.test(file);
  const name = file.replace(/\.svg$/i, "");
  const label = name.replace(/[^\w-]+/g, "-").replace(/^-|-$/g, "") || "attention";
  return [
    "\\begin{figure}",
    "  \\centering",
    svg
      ? `  \\includesvg[width=${formatNumber(width)}mm]{${name}} % \\usepackage{svg}, or write the figure as PDF`
      : `  \\includegraphics[width=${formatNumber(width)}mm]{${name}}`,
    `  \\caption{${latexText(facts.join("; "))}.}`,
    `  \\label{fig:${label}}`,
    "\\end{figure}",
    "",
  ].join("\n");
}
