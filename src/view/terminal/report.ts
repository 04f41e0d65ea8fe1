/**
 * The attention of a text as a page of terminal text: pieces, heat maps of every head, strongest links, one line of
 * measures a head, one weight explained, and how alike several texts are.
 */
import { distinctLabels, oneLine, pad, pieceLabel, truncate, widthOf, wrap } from "../../store/text/label.ts";
import { type Link, strongestLinks } from "../metrics.ts";
import {
  explainSentence,
  explainStrongest,
  fixed,
  headsOf,
  type SeenHead,
  type SeenText,
} from "../report.ts";
import { bold, dim, type Paint, plain } from "./paint.ts";
import { renderBar, renderHeatMaps, renderScale } from "./terminal.ts";

/** What is shown, and how. */
export interface ReportOptions {
  /** Columns of the terminal; 80 by default. */
  readonly columns?: number;
  /** Default `mono`. */
  readonly paint?: Paint;
  /** One layer or one head alone, counted from 0. */
  readonly layer?: number;
  readonly head?: number;
  /** Links shown of each token; 3 by default. */
  readonly links?: number;
}

/** A page about one text. */
export function renderText(seen: SeenText, options: ReportOptions = {}): string[] {
  const paint = options.paint ?? "mono";
  const columns = options.columns ?? 80;
  const say = (text: string) => plain(text, paint);
  const heads = headsOf(seen, options);
  const labels = seen.pieces.map((piece) => plain(pieceLabel(piece), paint));
  const lines = [
    ...wrap(say(`“${oneLine(seen.text)}”`), columns).map((line) => bold(line, paint)),
    ...pieceLines(seen, columns, paint),
    "",
  ];
  for (const layer of new Set(heads.map((head) => head.layer))) {
    const maps = heads.filter((head) => head.layer === layer);
    lines.push(
      heading(`layer ${layer}`, "rows: the token that looks · columns: what it looks at", columns, paint),
      ...renderHeatMaps(
        maps.map((map) => ({ ...map, title: `head ${map.head}` })),
        { queryLabels: labels, keyLabels: labels, columns, paint },
      ),
      "",
    );
  }
  const [bar, ticks] = renderScale(paint);
  const note = dim(truncate("  share of a row's attention", columns - 32, plain("…", paint)), paint);
  lines.push(bar + note, ticks, "");
  lines.push(...linkLines(labels, heads, options.links ?? 3, columns, paint), "");
  lines.push(...metricLines(heads, columns, paint), "");
  const explained = explainStrongest(seen, heads);
  const names = distinctLabels(labels, paint === "ascii");
  if (explained) lines.push(...wrap(say(explainSentence(explained, names)), columns), "");
  return lines;
}

/** How alike texts are: two as one line with a bar, more as a table. `cosines[i][j]` is −1 to 1. */
export function renderSimilarity(
  texts: readonly string[],
  cosines: readonly (readonly number[])[],
  options: ReportOptions = {},
): string[] {
  const paint = options.paint ?? "mono";
  const columns = options.columns ?? 80;
  const say = (text: string) => plain(text, paint);
  const short = texts.map((text) => say(oneLine(text)));
  if (texts.length < 2) return [];
  const head = heading(
    "how alike",
    "cosine of the embeddings: 1 the same direction, 0 unrelated",
    columns,
    paint,
  );
  if (texts.length === 2) {
    const cosine = cosines[0][1];
    return [
      head,
      `${say(fixed(cosine, 3))}  ${renderBar(cosine, Math.max(10, Math.min(40, columns - 9)), paint)}`.trimEnd(),
    ];
  }
  const margin = Math.min(Math.max(...short.map(widthOf)), Math.max(8, columns - 7 * texts.length - 4));
  const numbers = texts.map((_, i) => String(i + 1).padStart(6)).join(" ");
  return [
    head,
    dim(`${" ".repeat(margin + 3)}${numbers}`, paint),
    ...short.map((text, i) => {
      const row = texts.map((_, j) => pad(say(fixed(cosines[i][j], 3)), 6, "start")).join(" ");
      return `${i + 1}  ${pad(truncate(text, margin, say("…")), margin)}${row}`;
    }),
  ];
}

/** A heading and, standing back, what it means; cut to the columns there are. */
function heading(name: string, note: string, columns: number, paint: Paint): string {
  const room = columns - widthOf(name) - 2;
  return `${bold(name, paint)}  ${dim(truncate(plain(note, paint), room, plain("…", paint)), paint)}`;
}

function pieceLines(seen: SeenText, columns: number, paint: Paint): string[] {
  const pieces = seen.pieces.map(
    (piece) => (piece.startsWith("▁") ? "▁" : "") + pieceLabel(piece).replace(/^▁/u, ""),
  );
  const count = `${pieces.length} ${pieces.length === 1 ? "piece" : "pieces"}`;
  const body = wrap(plain(pieces.join(" "), paint), columns - 2).map((line) => `  ${line}`);
  const note = wrap(plain(`${count}, ▁ marks the space before a word`, paint), columns);
  return [...note.map((line) => dim(line, paint)), ...body];
}

function linkLines(
  labels: readonly string[],
  heads: readonly SeenHead[],
  top: number,
  columns: number,
  paint: Paint,
): string[] {
  const names = distinctLabels(labels, paint === "ascii");
  const width = Math.min(14, Math.max(...names.map(widthOf)));
  const name = (i: number) => pad(truncate(names[i], width, plain("…", paint)), width);
  // "time 0.62 L0 H2": the key, the weight, and the head that gives it.
  const show = (link: Link) =>
    `${name(link.key)} ${strength(link.weight, paint)} ${dim(`L${link.layer} H${link.head}`, paint)}`;
  const each = width + 1 + 4 + 6 + 3;
  const fit = Math.max(1, Math.min(top, Math.floor((columns - width - 3) / each)));
  const arrow = plain("→", paint);
  return [
    heading("strongest links", "what each token looks at most, and in which layer and head", columns, paint),
    ...strongestLinks(heads, fit).map(
      (links, query) => `${name(query)} ${arrow} ${links.map(show).join("   ")}`,
    ),
  ];
}

function strength(weight: number, paint: Paint): string {
  const text = weight.toFixed(2);
  return weight >= 0.5 ? bold(text, paint) : text;
}

/** One line a head; the last columns are left out where the terminal is narrow. */
function metricLines(heads: readonly SeenHead[], columns: number, paint: Paint): string[] {
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  const most = Math.log2(heads[0]?.keys ?? 1).toFixed(2);
  const table: { name: string; width: number; cell: (head: SeenHead) => string }[] = [
    { name: "", width: 5, cell: ({ layer, head }) => `L${layer} H${head}` },
    { name: "bits", width: 6, cell: ({ metrics }) => metrics.entropy.toFixed(2) },
    { name: `of ${most}`, width: 9, cell: ({ metrics }) => percent(metrics.normalizedEntropy) },
    { name: "", width: 13, cell: ({ metrics }) => `  ${renderBar(metrics.normalizedEntropy, 11, paint)}` },
    { name: "self", width: 7, cell: ({ metrics }) => percent(metrics.self) },
    { name: "previous", width: 10, cell: ({ metrics }) => percent(metrics.previous) },
    { name: "next", width: 7, cell: ({ metrics }) => percent(metrics.next) },
    { name: "first", width: 8, cell: ({ metrics }) => percent(metrics.first) },
    { name: "distance", width: 10, cell: ({ metrics }) => metrics.distance.toFixed(1) },
  ];
  let total = 0;
  const shown = table.filter(({ width }) => (total += width) <= columns);
  // A painted bar has escapes and fills its column: it is not padded.
  const line = (text: (column: (typeof table)[number]) => string) =>
    shown.map((column) => text(column).padStart(column.width)).join("");
  return [
    heading("heads", "entropy 0: one key gets all · shares, distance: means over the rows", columns, paint),
    dim(
      line(({ name }) => name),
      paint,
    ),
    ...heads.map((head) => line(({ cell }) => cell(head))),
  ];
}
