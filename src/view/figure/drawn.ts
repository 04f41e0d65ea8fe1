/** A finished figure: its parts on a sheet, and the ways to include it in a paper. */

import { checkMethods } from "../../core/errors.ts";
import { latexFigure } from "./caption.ts";
import { type FigurePart, POINT, stack, svgFile, THEMES, translated } from "./sheet.ts";

/** A drawn figure. */
export interface DrawnFigure {
  /** The file's text. */
  readonly svg: string;
  /** The same as `svg`. */
  toString(): string;
  /** Millimeters. */
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** The caption, in one line. */
  readonly caption: string;
  /** The alternative text, which is also the file's `desc`. */
  readonly alt: string;
  /** A LaTeX figure environment that includes `name`. */
  latex(name: string): string;
  /**
   * The figure as a PDF page in the standard fonts of all readers (Helvetica, Courier, Symbol). `missing` are the characters
   * that are not in these fonts and are replaced by question marks; the SVG has them.
   */
  pdf(): Promise<{ readonly pdf: Uint8Array; readonly missing: readonly string[] }>;
}

/** Points around a figure. */
const EDGE = 6;

/** The width of a figure's parts in points, on a sheet of some millimeters. */
export const innerWidth = (width: number): number => width * POINT - 2 * EDGE;

/** Sets the parts of a figure one below the other, `gap` points apart. */
export function drawnFigure(
  parts: readonly FigurePart[],
  gap: number,
  sheet: { readonly width: number; readonly theme: keyof typeof THEMES; readonly background: boolean },
  words: { readonly title: string; readonly facts: readonly string[]; readonly alt: string },
): DrawnFigure {
  const { width, background } = sheet;
  const { title, facts, alt } = words;
  const content = stack(parts, gap);
  const height = content.height + 2 * EDGE;
  const placed = translated(content.svg, EDGE, EDGE);
  const svg = svgFile({ width, height, theme: THEMES[sheet.theme], background }, title, alt, placed);
  const drawn: DrawnFigure = {
    ...{ svg, width, height: height / POINT, title, alt },
    toString: () => svg,
    caption: `${facts.join(" · ")}.`,
    latex: (name) => latexFigure(name, width, facts),
    // The PDF writer is loaded on demand.
    pdf: async () => (await import("../pdf/from-svg.ts")).pdfOfFigure(svg, title, alt),
  };
  return checkMethods("DrawnFigure", drawn, { latex: 1, pdf: 0, toString: 0 });
}
