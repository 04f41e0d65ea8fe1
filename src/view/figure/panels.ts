/**
 * Figures of several pictures: side by side on a wide sheet, else one below the other, each with a title and a color scale, and
 * one caption for all. A comparison of two heads has three pictures, a rollout two.
 */
import type { HeadStore } from "../../store/types.ts";
import { drawCaption, latexFigure } from "./caption.ts";
import type { DrawnFigure } from "./figure.ts";
import { type AxisTitles, drawMatrix, drawScale } from "./matrix.ts";
import { type FigureOptions, resolveFigure } from "./options.ts";
import { type Part, POINT, svgFile, THEMES, type Theme, text } from "./sheet.ts";
import { shownHead } from "./shown.ts";

/** One picture of a figure: its title, and a function that draws it with a maximum width in points. */
export interface Panel {
  readonly title: string;
  readonly draw: (theme: Theme, width: number) => Part | Promise<Part>;
}

/** Options of the whole figure. Widths are in millimeters. */
export interface PanelOptions extends Pick<FigureOptions, "width" | "theme" | "background" | "caption"> {
  readonly title: string;
  /** The facts about the figure, as parts of one sentence. */
  readonly facts: readonly string[];
}

/** Points around a figure, between pictures, and between rows of them. */
const EDGE = 6;
const GUTTER = 10;
const GAP = 6;
/** On sheets of at least this width in millimeters, pictures are side by side. */
const WIDE = 130;

/** A head's matrix with its scale as one picture of a figure. */
export function matrixPanel(
  title: string,
  store: HeadStore,
  options: FigureOptions,
  axes?: AxisTitles,
): Panel {
  return {
    title,
    async draw(theme, width) {
      const figure = resolveFigure(store, { ...options, view: "matrix", width: Math.max(40, width / POINT) });
      const shown = await shownHead(figure);
      const seen = new Set<number>();
      const matrix = drawMatrix(figure, shown, theme, width, seen, axes);
      const scale = drawScale(figure, shown, theme, seen);
      return below([matrix, scale], GAP);
    },
  };
}

/** Draws a figure of several pictures. */
export async function renderPanels(panels: readonly Panel[], options: PanelOptions): Promise<DrawnFigure> {
  const { width = 85, theme: name = "light", background = true, caption = true, title, facts } = options;
  const theme = THEMES[name];
  const inner = width * POINT - 2 * EDGE;
  const wide = width >= WIDE;
  const each = wide ? (inner - GUTTER * (panels.length - 1)) / panels.length : inner;
  const drawn: Part[] = [];
  for (const panel of panels) {
    const heading = text(0, 8, panel.title, { "font-size": 7.5, "font-weight": 600, fill: theme.ink });
    drawn.push(below([{ svg: heading, height: 10 }, await panel.draw(theme, each)], 2));
  }
  const parts: Part[] = wide ? [beside(drawn, each + GUTTER)] : drawn;
  if (caption) parts.push(drawCaption([...facts], theme, inner));
  const all = below(parts, GAP);
  const height = all.height + 2 * EDGE;
  const alt = `${facts.join("; ")}.`;
  const placed = [`<g transform="translate(${EDGE} ${EDGE})">`, all.svg, "</g>"];
  const svg = svgFile({ width, height, theme, background }, title, alt, placed);
  return {
    svg,
    width,
    height: height / POINT,
    title,
    caption: `${facts.join(" · ")}.`,
    alt,
    latex: (file) => latexFigure(file, width, facts),
    pdf: async () => (await import("../pdf/from-svg.ts")).pdfOfFigure(svg, title, alt),
  };
}

function below(parts: readonly Part[], gap: number): Part {
  let y = 0;
  const placed = parts.map(({ svg, height }) => {
    const at = y;
    y += height + gap;
    return `<g transform="translate(0 ${Number(at.toFixed(2))})">\n${svg}\n</g>`;
  });
  return { svg: placed.join("\n"), height: Math.max(0, y - gap) };
}

function beside(parts: readonly Part[], step: number): Part {
  const placed = parts.map(
    ({ svg }, n) => `<g transform="translate(${Number((n * step).toFixed(2))} 0)">\n${svg}\n</g>`,
  );
  return { svg: placed.join("\n"), height: Math.max(...parts.map(({ height }) => height)) };
}
