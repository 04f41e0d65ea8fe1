/**
 * A head as lines between two columns of tokens: queries on the left, keys on the right, width and opacity by weight.
 * Each query keeps its strongest keys, `top` of them or as many as hold `mass` of the row; what is left out is counted,
 * for the caption.
 */
import { truncate } from "../label.ts";
import { largest } from "./largest.ts";
import type { Figure } from "./options.ts";
import {
  type Attributes,
  coordinate,
  element,
  MONO,
  MONO_EM,
  type Part,
  type Theme,
  text,
  textWidth,
} from "./sheet.ts";
import { MARK, type Shown } from "./shown.ts";

const FONT = 6.5;
const PITCH = 10;
const LABEL = 62;

/** What is kept of the edges. */
export interface Kept {
  readonly edges: number;
  readonly of: number;
  /** Share of the mass of all rows that see something. */
  readonly mass: number;
}

/** One edge: places along the queries and the keys shown. */
export interface Edge {
  readonly query: number;
  readonly key: number;
  readonly weight: number;
}

/** The edges a figure keeps, row by row, and how much they are of all. */
export function keptEdges({ keep, top, mass }: Figure, shown: Shown): { edges: Edge[]; kept: Kept } {
  const edges: Edge[] = [];
  let [of, whole, held] = [0, 0, 0];
  for (let query = 0; query < shown.queries.length; query++) {
    const { values, marks } = shown.row(query);
    const sum = values.reduce((total, x) => total + x, 0);
    of += marks.reduce((count, mark) => count + (mark === MARK.value ? 1 : 0), 0);
    whole += sum;
    const wanted = keep === "top" ? Number.POSITIVE_INFINITY : mass * sum;
    let taken = 0;
    for (const key of largest(values, keep === "top" ? top : values.length)) {
      if (!(values[key] > 0) || taken >= wanted) break;
      edges.push({ query, key, weight: values[key] });
      taken += values[key];
    }
    held += taken;
  }
  return { edges, kept: { edges: edges.length, of, mass: whole > 0 ? held / whole : 0 } };
}

/** Draws the lines at the top of a sheet `width` points wide. */
export function drawLines(
  figure: Figure,
  shown: Shown,
  theme: Theme,
  width: number,
): Part & { readonly kept: Kept } {
  const { edges, kept } = keptEdges(figure, shown);
  const room = (names: readonly string[], which: readonly number[]) =>
    Math.min(
      LABEL,
      which.reduce((most, i) => Math.max(most, textWidth(names[i], FONT)), 0),
    ) + 5;
  const [left, right] = [room(shown.queryLabels, shown.queries), room(shown.keyLabels, shown.keys)];
  const span = Math.min(width - left - right, 260);
  const most = Math.floor(LABEL / (MONO_EM * FONT));
  const full = shown.domain ?? edges.reduce((most, { weight }) => Math.max(most, weight), 0);
  const at = (n: number) => FONT + 6 + (n + 0.5) * PITCH;
  const height = Math.max(shown.queries.length, shown.keys.length) * PITCH + FONT + 8;
  const lines = [
    text(left - 5, FONT, "queries", { "font-size": FONT, fill: theme.third, "text-anchor": "end" }),
    text(left + span + 5, FONT, "keys", { "font-size": FONT, fill: theme.third }),
    `<g fill="none" stroke="${theme.weight}" stroke-linecap="round">`,
  ];
  // Weak ones first, so that strong ones lie above.
  for (const { query, key, weight } of [...edges].sort((a, b) => a.weight - b.weight)) {
    const share = full > 0 ? Math.min(1, weight / full) : 0;
    const [from, to] = [at(query), at(key)];
    const [near, far] = [left + span * 0.4, left + span * 0.6].map(coordinate);
    const d = `M${coordinate(left)} ${coordinate(from)}C${near} ${coordinate(from)} ${far} ${coordinate(to)} ${coordinate(left + span)} ${coordinate(to)}`;
    lines.push(
      element("path", { d, "stroke-width": 0.25 + 2 * share, "stroke-opacity": 0.15 + 0.85 * share }),
    );
  }
  lines.push("</g>");
  const font = { "font-family": MONO, "font-size": FONT, fill: theme.ink };
  shown.queries.forEach((i, n) => {
    const label = truncate(shown.queryLabels[i], most);
    lines.push(text(left - 5, at(n) + FONT * 0.35, label, { ...font, "text-anchor": "end" }));
  });
  shown.keys.forEach((j, n) => {
    const faded: Attributes = shown.hiddenKeys.has(j) ? { fill: theme.third, "fill-opacity": 0.6 } : {};
    const label = truncate(shown.keyLabels[j], most);
    lines.push(text(left + span + 5, at(n) + FONT * 0.35, label, { ...font, ...faded }));
  });
  return { svg: lines.join("\n"), height, kept };
}
