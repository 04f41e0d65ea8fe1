/**
 * The attention of a text as a page of terminal text: pieces, heat maps of every head, strongest links, one line of
 * measures a head, one weight explained, and how alike several texts are.
 */
import { distinctLabels, oneLine, pad, pieceLabel, truncate, widthOf, wrap } from "./label.ts";
import { type Link, strongestLinks } from "./metrics.ts";
import { bold, dim, isColour, type Paint, plain } from "./paint.ts";
import { explainSentence, explainStrongest, fixed, headsOf, type SeenHead, type SeenText } from "./report.ts";
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
  const lines = [bold(say(`“${oneLine(seen.text)}”`), paint), ...pieceLines(seen, columns, paint), ""];
  for (const layer of new Set(heads.map((head) => head.layer))) {
    const maps = heads.filter((head) => head.layer === layer);
    lines.push(
      bold(`layer ${layer}`, paint),
      ...renderHeatMaps(
        maps.map((map) => ({ ...map, title: `head ${map.head}` })),
        { queryLabels: labels, keyLabels: labels, columns, paint },
      ),
      "",
    );
  }
  const [bar, ticks] = renderScale(paint);
  lines.push(`${bar}  ${dim(say("share of a row's attention"), paint)}`, ticks, "");
  lines.push(...linkLines(seen, heads, options.links ?? 3, columns, paint), "");
  lines.push(...metricLines(heads, columns, paint), "");
  const explained = explainStrongest(seen, heads);
  if (explained) lines.push(...wrap(say(explainSentence(seen, explained, paint === "ascii")), columns), "");
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
  const heading = bold(say("how alike"), paint);
  const scale = dim(say("cosine of the embeddings: 1 the same direction, 0 unrelated"), paint);
  if (texts.length < 2) return [];
  if (texts.length === 2) {
    const cosine = cosines[0][1];
    return [
      `${heading}  ${scale}`,
      `${say(fixed(cosine, 3))}  ${renderBar(cosine, Math.max(10, Math.min(40, columns - 9)), paint)}`.trimEnd(),
    ];
  }
  const margin = Math.min(Math.max(...short.map(widthOf)), Math.max(8, columns - 7 * texts.length - 4));
  const numbers = texts.map((_, i) => String(i + 1).padStart(6)).join(" ");
  return [
    `${heading}  ${scale}`,
    dim(`${" ".repeat(margin + 3)}${numbers}`, paint),
    ...short.map((text, i) => {
      const row = texts.map((_, j) => pad(say(fixed(cosines[i][j], 3)), 6, "start")).join(" ");
      return `${i + 1}  ${pad(truncate(text, margin, say("…")), margin)}${row}`;
    }),
  ];
}

function pieceLines(seen: SeenText, columns: number, paint: Paint): string[] {
  const pieces = seen.pieces.map(
    (piece) => (piece.startsWith("▁") ? "▁" : "") + pieceLabel(piece).replace(/^▁/u, ""),
  );
  const count = `${pieces.length} ${pieces.length === 1 ? "piece" : "pieces"}`;
  const body = wrap(plain(pieces.join(" "), paint), columns - 2).map((line) => `  ${line}`);
  return [dim(plain(`${count}, ▁ marks the space before a word`, paint), paint), ...body];
}

function linkLines(
  seen: SeenText,
  heads: readonly SeenHead[],
  top: number,
  columns: number,
  paint: Paint,
): string[] {
  const labels = distinctLabels(seen.pieces, paint === "ascii").map((label) => plain(label, paint));
  const width = Math.min(14, Math.max(...labels.map(widthOf)));
  const name = (i: number) => pad(truncate(labels[i], width, plain("…", paint)), width);
  // "time 0.62 L0 H2": the key, the weight, and the head that gives it.
  const show = (link: Link) =>
    `${name(link.key)} ${strength(link.weight, paint)} ${dim(`L${link.layer} H${link.head}`, paint)}`;
  const each = width + 1 + 4 + 6 + 3;
  const fit = Math.max(1, Math.min(top, Math.floor((columns - width - 3) / each)));
  const arrow = plain("→", paint);
  return [
    `${bold("strongest links", paint)}  ${dim("the keys each token looks at most, and in which layer and head", paint)}`,
    ...strongestLinks(heads, fit).map(
      (links, query) => `${name(query)} ${arrow} ${links.map(show).join("   ")}`,
    ),
  ];
}

function strength(weight: number, paint: Paint): string {
  const text = weight.toFixed(2);
  return weight >= 0.5 ? bold(text, paint) : text;
}

function metricLines(heads: readonly SeenHead[], columns: number, paint: Paint): string[] {
  const wide = columns >= 78;
  const bar = isColour(paint) || paint === "mono" ? 10 : 8;
  const header = ["head ", "  entropy", "", " distance", "  self", "  previous", "  next", "  first"];
  const row = ({ layer, head, metrics: m }: SeenHead) => {
    const percent = (share: number, width: number) => `${Math.round(100 * share)} %`.padStart(width);
    return [
      `L${layer} H${head}`,
      `${m.entropy.toFixed(2)} bits`.padStart(wide ? 11 : 10),
      `  ${renderBar(m.normalizedEntropy, bar, paint)}${percent(m.normalizedEntropy, 6)}`,
      ...(wide
        ? [
            m.distance.toFixed(1).padStart(10),
            percent(m.self, 7),
            percent(m.previous, 10),
            percent(m.next, 7),
            percent(m.first, 7),
          ]
        : []),
    ].join("");
  };
  const first = heads[0]?.keys ?? 0;
  const most = first > 1 ? `, of at most ${Math.log2(first).toFixed(2)}` : "";
  const head = wide
    ? `${" ".repeat(7)}${pad(`entropy${most}`, bar + 17)}${header[3].trim().padStart(9)}${"self".padStart(7)}${"previous".padStart(10)}${"next".padStart(7)}${"first".padStart(7)}`
    : `${" ".repeat(7)}entropy${most}`;
  return [
    `${bold("heads", paint)}  ${dim(plain("entropy: 0 bits = each token looks at one key; shares: on itself, its neighbours, the first", paint), paint)}`,
    dim(head, paint),
    ...heads.map(row),
  ];
}
