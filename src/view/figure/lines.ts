/**
 * A head as lines between two columns of tokens: queries on the left, keys on the right, width and opacity by weight.
 * Each query shows its `top` strongest keys, or the fewest that have the share `mass` of the row. The caption says how many
 * links are left out.
 */

import { type Edge, edgesOf } from "../../store/measures/aggregate.ts";
import { truncate } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { legend } from "../plot/marks.ts";
import { bandScale } from "../plot/scale.ts";
import { type Attributes, coordinate, element, text } from "../plot/svg.ts";
import type { Figure } from "./options.ts";
import { type FigurePart, LABEL, labelWidth, MONO, MONO_EM, type Theme, textWidth } from "./sheet.ts";
import type { Shown } from "./shown.ts";

const FONT = 6.5;
const PITCH = 10;
/** Space between labels and lines. */
const GAP = 5;

/** The edges that a figure shows, as indices into the queries and keys shown, and how many there are in all. */
export interface ShownEdges {
  readonly edges: readonly Edge[];
  readonly total: number;
  /** Their share of the mass of all rows. */
  readonly mass: number;
}

/** The edges of a figure. */
export function shownEdges({ keep, top, mass }: Figure, shown: Shown): ShownEdges {
  const { edges, ...all } = edgesOf(
    (place) => shown.row(place).values,
    shown.queries.keys(),
    keep === "top" ? { top } : { mass },
  );
  return { edges, total: all.of, mass: all.mass > 0 ? all.shown / all.mass : 0 };
}

/** Draws the lines on a sheet `width` points wide. */
export function drawLines({ edges }: ShownEdges, shown: Shown, theme: Theme, width: number): FigurePart {
  const left = labelWidth(shown.queryLabels, shown.queries, FONT) + GAP;
  const right = width - labelWidth(shown.keyLabels, shown.keys, FONT) - GAP;
  const count = Math.max(shown.queries.length, shown.keys.length);
  const band = bandScale(count, [FONT + 6, FONT + 6 + count * PITCH]);
  const full = shown.domain ?? edges.reduce((largest, { weight }) => Math.max(largest, weight), 0);
  const ends = [left, left + (right - left) * 0.4, left + (right - left) * 0.6, right].map(coordinate);
  // Weak edges first, so that strong ones are on top.
  const paths = [...edges]
    .sort((a, b) => a.weight - b.weight)
    .map(({ query, key, weight }) => {
      const [from, to] = [band.middle(query), band.middle(key)].map(coordinate);
      const d = `M${ends[0]} ${from}C${ends[1]} ${from} ${ends[2]} ${to} ${ends[3]} ${to}`;
      return element("path", { d, ...strokeOf(full > 0 ? Math.min(1, weight / full) : 0) });
    });
  const label = (x: number, n: number, content: string, attributes: Attributes) =>
    text(x, band.middle(n) + FONT * 0.35, truncate(content, Math.floor(LABEL / (MONO_EM * FONT))), {
      "font-family": MONO,
      "font-size": FONT,
      fill: theme.ink,
      ...attributes,
    });
  const bottom = FONT + 14 + count * PITCH;
  const widths = [0.1, 0.25, 0.5, 1].map((share) => ({
    name: formatNumber(share * full, { digits: 2 }),
    swatch: (x: number, y: number) =>
      element("path", {
        d: `M${coordinate(x)} ${coordinate(y)}h14`,
        stroke: theme.weight,
        ...strokeOf(share),
      }),
  }));
  const legendStyle = {
    ...{ swatch: 14, gap: 8, baseline: 2 },
    widthOf: (name: string) => textWidth(name, 5.5),
    label: { "font-family": MONO, "font-size": 5.5, fill: theme.second },
  };
  return {
    svg: [
      text(left - GAP, FONT, "queries", { "font-size": FONT, fill: theme.third, "text-anchor": "end" }),
      text(right + GAP, FONT, "keys", { "font-size": FONT, fill: theme.third }),
      `<g fill="none" stroke="${theme.weight}" stroke-linecap="round">`,
      ...paths,
      "</g>",
      ...shown.queries.map((i, n) => label(left - GAP, n, shown.queryLabels[i], { "text-anchor": "end" })),
      ...shown.keys.map((j, n) => {
        const hidden = shown.hiddenKeys.has(j) ? { fill: theme.third, "fill-opacity": 0.6 } : {};
        return label(right + GAP, n, shown.keyLabels[j], hidden);
      }),
      legend(widths, left, bottom - 2, legendStyle).svg,
    ].join("\n"),
    height: bottom + 4,
  };
}

/** The width and opacity of a line, by its share of the value of full color. */
const strokeOf = (share: number): Attributes => ({
  "stroke-width": 0.25 + 2 * share,
  "stroke-opacity": 0.15 + 0.85 * share,
});
