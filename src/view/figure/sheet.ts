/**
 * The sheet of a figure, measured in points (1/72 inch) with its width in millimeters; two color themes, and fonts by name. All
 * styles are attributes; there is no style sheet and no script. Elements are those of the kit of plots (../plot/svg.ts).
 */
import { widthOf } from "../../store/text/label.ts";
import { coordinate, escapeXml } from "../plot/svg.ts";

/** The colors of a figure by their role. */
export interface Theme {
  readonly paper: string;
  readonly ink: string;
  readonly second: string;
  readonly third: string;
  readonly line: string;
  readonly hatch: string;
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly weight: string;
  readonly badge: string;
}

/** The explorer's colors, on white and on dark paper. */
export const THEMES: Readonly<Record<"light" | "dark", Theme>> = {
  light: {
    paper: "#ffffff",
    ink: "#1b1a17",
    second: "#55534e",
    third: "#716e66",
    line: "#e4e1d8",
    hatch: "#87837a",
    query: "#12299c",
    key: "#7d2900",
    value: "#00827c",
    weight: "#6b3470",
    badge: "#8a5a00",
  },
  dark: {
    paper: "#14151a",
    ink: "#eceae3",
    second: "#b7b4ab",
    third: "#97948c",
    line: "#343741",
    hatch: "#6f6c66",
    query: "#42acff",
    key: "#fe9932",
    value: "#5fb09a",
    weight: "#c38fc6",
    badge: "#e0aa3e",
  },
};

const SANS = "Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";
export const MONO = "'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace";

/** Width of a character as a share of the font size: exact for monospaced fonts, an upper estimate for others. */
export const MONO_EM = 0.61;
export const SANS_EM = 0.53;

/** Points in a millimeter. */
export const POINT = 72 / 25.4;

/** Part of a figure: elements from the top on, and their height in points. */
export interface FigurePart {
  readonly svg: string;
  readonly height: number;
}

/** About how wide a text is, in points. */
export function textWidth(content: string, size: number, em = MONO_EM): number {
  return widthOf(content) * em * size;
}

/** Points of the longest label of a token. */
export const LABEL = 62;

/** The width of the longest of some labels, at most `LABEL`. */
export function labelWidth(labels: readonly string[], indices: readonly number[], size: number): number {
  return Math.min(
    LABEL,
    indices.reduce((longest, i) => Math.max(longest, textWidth(labels[i], size)), 0),
  );
}

/** Moves markup of a figure. */
export function translated(svg: string, x: number, y: number): string {
  return `<g transform="translate(${coordinate(x)} ${coordinate(y)})">\n${svg}\n</g>`;
}

/** Parts one below the other, `gap` points apart. */
export function stack(parts: readonly FigurePart[], gap: number): FigurePart {
  let y = 0;
  const placed = parts.map(({ svg, height }) => {
    const top = y;
    y += height + gap;
    return translated(svg, 0, top);
  });
  return { svg: placed.join("\n"), height: Math.max(0, y - gap) };
}

/** An SVG file around the markup of a figure. Width in millimeters, height in points. */
export function svgFile(
  sheet: {
    readonly width: number;
    readonly height: number;
    readonly theme: Theme;
    readonly background: boolean;
  },
  title: string,
  description: string,
  content: string,
): string {
  const { theme } = sheet;
  const [width, height] = [sheet.width * POINT, sheet.height].map(coordinate);
  const millimeters = coordinate(sheet.height / POINT);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${coordinate(sheet.width)}mm" height="${millimeters}mm" viewBox="0 0 ${width} ${height}" role="img" font-family="${SANS}" font-size="8" fill="${theme.ink}">`,
    `<title>${escapeXml(title)}</title>`,
    `<desc>${escapeXml(description)}</desc>`,
    ...(sheet.background ? [`<rect width="${width}" height="${height}" fill="${theme.paper}"/>`] : []),
    content,
    "</svg>\n",
  ].join("\n");
}
