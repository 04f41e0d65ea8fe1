/**
 * A head as lines between two columns of tokens: queries on the left, keys on the right, width and opacity by weight.
 * Each query keeps its `top` strongest keys, or the fewest that have the share `mass` of the row. The caption says how many
 * links are left out.
 */

import { type Edge, edgesOf } from "../../store/measures/aggregate.ts";
import { truncate } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
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
import type { Shown } from "./shown.ts";

const FONT = 6.5;
const PITCH = 10;
const LABEL = 62;

/** How many of the edges are kept. */
export interface Kept {
  readonly edges: number;
  readonly of: number;
  /** Their share of the mass of all rows. */
  readonly mass: number;
}

/** The edges that a figure keeps, as indices into the queries and keys shown, and their share of all edges. */
export function keptEdges({ keep, top, mass }: Figure, shown: Shown): { edges: readonly Edge[]; kept: Kept } {
  const found = edgesOf(
    (place) => shown.row(place).values,
    shown.queries.keys(),
    keep === "top" ? { top } : { mass },
  );
  const share = found.mass > 0 ? found.shown / found.mass : 0;
  return { edges: found.edges, kept: { edges: found.edges.length, of: found.of, mass: share } };
}

/** Draws the lines at the top of a sheet `width` points wide. */
export function drawLines(
  figure: Figure,
  shown: Shown,
  theme: Theme,
  width: number,
): Part & { readonly kept: Kept } {
  const { edges, kept } = keptEdges(figure, shown);
  const space = (names: readonly string[], which: readonly number[]) =>
    Math.min(
      LABEL,
      which.reduce((most, i) => Math.max(most, textWidth(names[i], FONT)), 0),
    ) + 5;
  const [left, right] = [space(shown.queryLabels, shown.queries), space(shown.keyLabels, shown.keys)];
  const span = width - left - right;
  const most = Math.floor(LABEL / (MONO_EM * FONT));
  const full = shown.domain ?? edges.reduce((most, { weight }) => Math.max(most, weight), 0);
  const at = (n: number) => FONT + 6 + (n + 0.5) * PITCH;
  const height = Math.max(shown.queries.length, shown.keys.length) * PITCH + FONT + 8;
  const lines = [
    text(left - 5, FONT, "queries", { "font-size": FONT, fill: theme.third, "text-anchor": "end" }),
    text(left + span + 5, FONT, "keys", { "font-size": FONT, fill: theme.third }),
    `<g fill="none" stroke="${theme.weight}" stroke-linecap="round">`,
  ];
  // Weak edges first, so that strong ones are on top.
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
  // The legend of line widths.
  let x = left;
  const bottom = height + 6;
  for (const share of [0.1, 0.25, 0.5, 1]) {
    const label = formatNumber(share * full, { digits: 2 });
    const stroke = {
      stroke: theme.weight,
      "stroke-width": 0.25 + 2 * share,
      "stroke-opacity": 0.15 + 0.85 * share,
    };
    lines.push(element("path", { d: `M${coordinate(x)} ${coordinate(bottom - 2)}h14`, ...stroke }));
    lines.push(text(x + 17, bottom, label, { "font-family": MONO, "font-size": 5.5, fill: theme.second }));
    x += 24 + textWidth(label, 5.5);
  }
  return { svg: lines.join("\n"), height: bottom + 4, kept };
}
