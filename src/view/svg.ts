/**
 * The heat maps of texts as one SVG picture: a page of paper with ink, so that it reads the same on light and dark
 * backgrounds. Colours are attributes, there is no style sheet and no script, and the same input gives the same
 * bytes everywhere (every number is written with at most two digits after the point).
 *
 * Up to 32 pieces a cell is a rectangle with its own tooltip; beyond, cells of one colour become one path, which
 * keeps a map of 128 × 128 below half a megabyte.
 */

import { distinctLabels, oneLine, pieceLabel, truncate, widthOf, wrap } from "../store/text/label.ts";
import { colourAt, hex, levelOf, lightness, placeOf } from "./color.ts";
import { coordinate, escapeXml, MONO, MONO_EM, SANS, SANS_EM, THEMES, text } from "./figure/sheet.ts";
import type { Explained, SeenHead, SeenText } from "./report.ts";
import { explainSentence, explainStrongest, fixed, headsOf } from "./report.ts";

/** What is drawn. */
export interface SvgOptions {
  /** One layer or one head alone, counted from 0. */
  readonly layer?: number;
  readonly head?: number;
  /** How alike the texts are, [texts][texts]; drawn where there are two or more. */
  readonly cosines?: readonly (readonly number[])[];
}

const { paper: PAPER, ink: INK, second: SECOND, line: LINE, query: MARK } = THEMES.light;
const EDGE = 32;
const GAP = 28;
const TITLED = 32;
/** Cells of this size show their weight, in per cent. */
const VALUED = 30;

/** Draws the attention of every head of every text; returns the SVG file as text. */
export function renderSvg(texts: readonly SeenText[], options: SvgOptions = {}): string {
  const drawn = texts.map((seen) => ({ seen, heads: headsOf(seen, options) }));
  const inner = Math.max(560, ...drawn.map(({ seen, heads }) => geometry(seen, heads).width));
  const parts: string[] = [];
  const told: string[] = [];
  let y = EDGE;
  for (const { seen, heads } of drawn) {
    const explained = explainStrongest(seen, heads);
    const sentence = explained ? explainSentence(explained, namesOf(seen)) : "";
    told.push(`“${oneLine(seen.text)}”: ${sentence}`);
    const section = drawText(seen, heads, explained, sentence, inner, y);
    parts.push(section.svg);
    y = section.bottom + 20;
  }
  const alike =
    options.cosines && texts.length > 1 ? drawCosines(texts, options.cosines, inner, y) : undefined;
  if (alike) {
    parts.push(alike.svg);
    told.push(alike.told);
    y = alike.bottom + 20;
  }
  parts.push(drawScale(y));
  const width = inner + 2 * EDGE;
  const height = y + 44 + EDGE / 2;
  const name = `Attention of ${texts.map((seen) => `“${oneLine(seen.text)}”`).join(" and ")}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${coordinate(width)}" height="${coordinate(height)}" viewBox="0 0 ${coordinate(width)} ${coordinate(height)}" role="img" aria-labelledby="heed-title heed-desc" font-family="${SANS}" font-size="13" fill="${INK}">`,
    `<title id="heed-title">${escapeXml(name)}</title>`,
    `<desc id="heed-desc">${escapeXml(`Heat maps of attention weights: rows are queries, columns are keys. ${told.join(" ")}`)}</desc>`,
    `<rect width="${coordinate(width)}" height="${coordinate(height)}" fill="${PAPER}"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

interface Geometry {
  readonly cell: number;
  /** Width of the row labels, and height of the column labels. */
  readonly left: number;
  readonly top: number;
  readonly size: number;
  readonly width: number;
}

function geometry(seen: SeenText, heads: readonly SeenHead[]): Geometry {
  const n = seen.pieces.length;
  const across = Math.max(1, ...layersOf(heads).map((layer) => layer.length));
  const steps: readonly (readonly [number, number])[] = [
    [10, 22],
    [14, 18],
    [20, 14],
    [32, 11],
    [64, 6],
  ];
  const cell = across === 1 && n <= 16 ? 34 : (steps.find(([most]) => n <= most)?.[1] ?? 4);
  const longest = cell < 10 ? 4 : Math.max(...labelsOf(seen).map(widthOf));
  const left = Math.ceil(longest * MONO_EM * fontOf(cell)) + 10;
  const top = Math.ceil(longest * MONO_EM * fontOf(cell) * Math.sin(Math.PI / 3)) + 12;
  // The last column's label leans to the right, over the edge of its map.
  const lean = Math.ceil(longest * MONO_EM * fontOf(cell) * Math.cos(Math.PI / 3));
  const size = Math.max(n * cell, 60);
  return { cell, left, top, size, width: left + across * size + (across - 1) * Math.max(GAP, lean) + lean };
}

function fontOf(cell: number): number {
  return cell >= 18 ? 12 : cell >= 14 ? 11 : 9.5;
}

function labelsOf(seen: SeenText): string[] {
  return seen.pieces.map((piece) => truncate(pieceLabel(piece), 14));
}

/** What sentences and tooltips call the pieces. */
function namesOf(seen: SeenText): string[] {
  return distinctLabels(seen.pieces.map(pieceLabel));
}

function layersOf(heads: readonly SeenHead[]): SeenHead[][] {
  return [...new Set(heads.map((head) => head.layer))].map((layer) =>
    heads.filter((head) => head.layer === layer),
  );
}

function drawText(
  seen: SeenText,
  heads: readonly SeenHead[],
  explained: Explained | undefined,
  sentence: string,
  inner: number,
  y: number,
): { svg: string; bottom: number } {
  const { cell, left, top, size, width } = geometry(seen, heads);
  const across = Math.max(1, ...layersOf(heads).map((layer) => layer.length));
  const step =
    across > 1 ? (width - left - size - (width - left - across * size) / across) / (across - 1) : 0;
  const lines: string[] = [];
  let at = y;
  for (const line of wrap(`“${oneLine(seen.text)}”`, inner / (SANS_EM * 20))) {
    at += 24;
    lines.push(text(EDGE, at - 4, line, { "font-size": 20, "font-weight": 600 }));
  }
  for (const layer of layersOf(heads)) {
    at += 30;
    lines.push(
      text(EDGE, at, `LAYER ${layer[0].layer}`, {
        "font-size": 11,
        "font-weight": 600,
        "letter-spacing": 0.7,
        fill: SECOND,
      }),
    );
    at += top;
    layer.forEach((head, i) => {
      const x = EDGE + left + i * step;
      const mark = explained?.layer === head.layer && explained.head === head.head ? explained : undefined;
      lines.push(drawHead(seen, head, x, at, cell, i === 0, mark));
    });
    at += Math.max(seen.pieces.length * cell, 24) + 18;
  }
  at += 8;
  for (const line of wrap(sentence, inner / (SANS_EM * 14))) {
    at += 20;
    lines.push(text(EDGE, at, line, { "font-size": 14 }));
  }
  at += 20;
  lines.push(`<path d="M${EDGE} ${coordinate(at)}h${coordinate(inner)}" stroke="${LINE}"/>`);
  return { svg: lines.join("\n"), bottom: at };
}

function drawHead(
  seen: SeenText,
  head: SeenHead,
  x: number,
  y: number,
  cell: number,
  labelled: boolean,
  mark: Explained | undefined,
): string {
  const n = seen.pieces.length;
  const size = n * cell;
  const short = labelsOf(seen);
  const lines = [
    `<g transform="translate(${coordinate(x)} ${coordinate(y)})">`,
    `<rect x="-0.5" y="-0.5" width="${coordinate(size + 1)}" height="${coordinate(size + 1)}" fill="none" stroke="${LINE}"/>`,
    n <= TITLED ? cellsOf(seen, head, cell) : pathsOf(head, cell),
  ];
  const font = fontOf(cell);
  const tickEvery = cell >= 10 ? 1 : 10;
  const middle = cell / 2 + font * 0.35;
  for (let i = 0; i < n; i += tickEvery) {
    const label = tickEvery === 1 ? short[i] : String(i);
    const at = coordinate(i * cell + middle);
    const leaning = `rotate(-60 ${at} -6)`;
    lines.push(
      text(i * cell + middle, -6, label, {
        "font-family": MONO,
        "font-size": font,
        fill: SECOND,
        transform: leaning,
      }),
    );
    if (labelled)
      lines.push(
        text(-8, i * cell + middle, label, {
          "font-family": MONO,
          "font-size": font,
          "text-anchor": "end",
          fill: SECOND,
        }),
      );
  }
  if (mark) {
    const [left, top] = [coordinate(mark.key * cell), coordinate(mark.query * cell)];
    const box = `x="${left}" y="${top}" width="${cell}" height="${cell}" fill="none"`;
    lines.push(
      `<rect ${box} stroke="${PAPER}" stroke-width="4"/>`,
      `<rect ${box} stroke="${MARK}" stroke-width="2"/>`,
    );
  }
  lines.push(
    `<text x="0" y="${coordinate(size + 17)}" font-size="11" fill="${SECOND}"><tspan fill="${INK}" font-weight="600">head ${head.head}</tspan>  ${head.metrics.entropy.toFixed(2)} bits</text>`,
    "</g>",
  );
  return lines.join("\n");
}

/** A rectangle a cell, each with what it says: "time → flies 0.482". */
function cellsOf(seen: SeenText, head: SeenHead, cell: number): string {
  const labels = namesOf(seen);
  const gap = cell >= 14 ? 1 : 0;
  const lines: string[] = [];
  for (let i = 0; i < head.queries; i++)
    for (let j = 0; j < head.keys; j++) {
      const weight = head.weights[i * head.keys + j];
      const said = escapeXml(`${labels[i]} → ${labels[j]} ${weight.toFixed(3)}`);
      const colour = colourAt(placeOf(weight), "plum");
      lines.push(
        `<rect x="${coordinate(j * cell)}" y="${coordinate(i * cell)}" width="${cell - gap}" height="${cell - gap}" fill="${hex(colour)}"><title>${said}</title></rect>`,
      );
      if (cell >= VALUED)
        lines.push(
          text((j + 0.5) * cell, i * cell + cell / 2 + 4, String(Math.round(100 * weight)), {
            "font-family": MONO,
            "font-size": 11,
            "text-anchor": "middle",
            "pointer-events": "none",
            fill: lightness(colour) > 0.62 ? INK : PAPER,
          }),
        );
    }
  return lines.join("");
}

/** One path a colour, in 64 steps; neighbours in a row are one rectangle. */
function pathsOf(head: SeenHead, cell: number): string {
  const paths = new Map<number, string>();
  for (let i = 0; i < head.queries; i++)
    for (let j = 0; j < head.keys; ) {
      const step = (at: number) => levelOf(placeOf(head.weights[i * head.keys + at])) >> 2;
      const first = j;
      const level = step(j);
      while (j < head.keys && step(j) === level) j++;
      const run = `M${first * cell} ${i * cell}h${(j - first) * cell}v${cell}H${first * cell}z`;
      paths.set(level, (paths.get(level) ?? "") + run);
    }
  return [...paths]
    .sort(([a], [b]) => a - b)
    .map(([level, path]) => `<path fill="${hex(colourAt(level / 63, "plum"))}" d="${path}"/>`)
    .join("\n");
}

function drawCosines(
  texts: readonly SeenText[],
  cosines: readonly (readonly number[])[],
  inner: number,
  y: number,
): { svg: string; bottom: number; told: string } {
  const lines = [
    text(EDGE, y + 12, "HOW ALIKE", {
      "font-size": 11,
      "font-weight": 600,
      "letter-spacing": 0.7,
      fill: SECOND,
    }),
  ];
  let at = y + 24;
  const told: string[] = [];
  const room = inner - 240;
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length; j++) {
      const cosine = cosines[i][j];
      const pair = `“${oneLine(texts[i].text)}” · “${oneLine(texts[j].text)}”`;
      told.push(`Cosine ${fixed(cosine, 3)} between ${pair}.`);
      lines.push(
        `<rect x="${EDGE}" y="${coordinate(at + 3)}" width="160" height="10" fill="${LINE}"/>`,
        `<rect x="${EDGE}" y="${coordinate(at + 3)}" width="${coordinate(160 * Math.max(0, Math.min(1, cosine)))}" height="10" fill="#6b3470"/>`,
        text(EDGE + 172, at + 13, fixed(cosine, 3), {
          "font-family": MONO,
          "font-size": 13,
          "font-weight": 600,
        }),
        text(EDGE + 232, at + 13, truncate(pair, Math.floor(room / (SANS_EM * 13))), { fill: SECOND }),
      );
      at += 22;
    }
  return { svg: lines.join("\n"), bottom: at, told: told.join(" ") };
}

/** The scale with its ticks. */
function drawScale(y: number): string {
  const [steps, width] = [64, 256];
  const lines = [`<g transform="translate(${EDGE} ${coordinate(y)})">`];
  for (let i = 0; i < steps; i++)
    lines.push(
      `<rect x="${(i * width) / steps}" width="${width / steps + (i + 1 < steps ? 0.5 : 0)}" height="10" fill="${hex(colourAt(i / (steps - 1), "plum"))}"/>`,
    );
  lines.push(`<rect x="-0.5" y="-0.5" width="${width + 1}" height="11" fill="none" stroke="${LINE}"/>`);
  for (const weight of [0, 0.01, 0.1, 0.25, 0.5, 1])
    lines.push(
      text(
        placeOf(weight) * width,
        26,
        weight === 0 || weight === 1 ? String(weight) : String(weight).slice(1),
        {
          "font-family": MONO,
          "font-size": 11,
          "text-anchor": "middle",
          fill: SECOND,
        },
      ),
    );
  const note = { "font-size": 11, fill: SECOND };
  lines.push(
    text(width + 16, 9, "share of a row’s attention, square-root scale", note),
    text(width + 16, 26, "rows: queries · columns: keys", note),
    "</g>",
  );
  return lines.join("\n");
}
