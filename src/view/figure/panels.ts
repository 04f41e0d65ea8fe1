/**
 * Figures of several pictures: side by side on a wide sheet, else one below the other, each with a title and a color scale, and
 * one caption for all. A comparison of two heads has three pictures, a rollout two.
 */
import type { HeadStore } from "../../store/head-store.ts";
import { text } from "../plot/svg.ts";
import { drawCaption } from "./caption.ts";
import { type DrawnFigure, drawnFigure, innerWidth } from "./drawn.ts";
import { type AxisTitles, drawMatrix, drawScale } from "./matrix.ts";
import { type FigureOptions, resolveFigure } from "./options.ts";
import { type FigurePart, POINT, stack, THEMES, type Theme, translated } from "./sheet.ts";
import { shownHead } from "./shown.ts";

/** One picture of a figure: its title, and a function that draws it with a maximum width in points. */
export interface Panel {
  readonly title: string;
  readonly draw: (theme: Theme, width: number) => FigurePart | Promise<FigurePart>;
}

/** Options of the entire figure. Widths are in millimeters. */
export interface PanelOptions extends Pick<FigureOptions, "width" | "theme" | "background" | "caption"> {
  readonly title: string;
  /** The facts about the figure, as parts of one sentence. */
  readonly facts: readonly string[];
}

/** Points between pictures side by side, and below each other. */
const GUTTER = 10;
const GAP = 6;
/** On sheets of at least this width in millimeters, pictures are side by side. */
const WIDE = 130;

/** A head's matrix with its scale as one picture of a figure. */
export function matrixPanel(
  title: string,
  store: HeadStore,
  options: FigureOptions,
  titles?: AxisTitles,
): Panel {
  return {
    title,
    async draw(theme, width) {
      const figure = resolveFigure(store, { ...options, view: "matrix", width: Math.max(40, width / POINT) });
      const shown = await shownHead(figure);
      const marks = new Set<number>();
      const matrix = drawMatrix(figure, shown, theme, width, marks, titles);
      return stack([matrix, drawScale(figure, shown, theme, marks)], GAP);
    },
  };
}

/** Draws a figure of several pictures. */
export async function renderPanels(panels: readonly Panel[], options: PanelOptions): Promise<DrawnFigure> {
  const { width = 85, theme = "light", background = true, caption = true, title, facts } = options;
  const inner = innerWidth(width);
  const isWide = width >= WIDE;
  const each = isWide ? (inner - GUTTER * (panels.length - 1)) / panels.length : inner;
  const drawn: FigurePart[] = [];
  for (const panel of panels) {
    const font = { "font-size": 7.5, "font-weight": 600, fill: THEMES[theme].ink };
    const heading = { svg: text(0, 8, panel.title, font), height: 10 };
    drawn.push(stack([heading, await panel.draw(THEMES[theme], each)], 2));
  }
  const parts = isWide ? [beside(drawn, each + GUTTER)] : drawn;
  if (caption) parts.push(drawCaption(facts, THEMES[theme], inner));
  const alt = `${facts.join("; ")}.`;
  return drawnFigure(parts, GAP, { width, theme, background }, { title, facts, alt });
}

/** Parts side by side, `step` points from one left end to the next. */
function beside(parts: readonly FigurePart[], step: number): FigurePart {
  return {
    svg: parts.map(({ svg }, n) => translated(svg, n * step, 0)).join("\n"),
    height: Math.max(...parts.map(({ height }) => height)),
  };
}
