/**
 * The parts of figures: a sheet measured in points (1/72 inch) with its width in millimeters, two color themes, fonts by name,
 * and the few SVG elements that figures use. All styles are attributes; there is no style sheet and no script. Numbers have at
 * most two decimals, so the same figure has the same bytes everywhere.
 */
import { widthOf } from "../../store/text/label.ts";

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

/** Attributes of an element, in the order they are written. */
export type Attributes = Readonly<Record<string, string | number>>;

/** Part of a figure: elements, and how much of the sheet they take from the top. */
export interface Part {
  readonly svg: string;
  readonly height: number;
}

/** At most two digits after the point, the same on every engine. */
export function coordinate(value: number): string {
  const text = String(Number(value.toFixed(2)));
  return text === "-0" ? "0" : text;
}

/** Escapes text for an element or an attribute. Characters that XML forbids are already removed from labels (label.ts). */
export function escapeXml(said: string): string {
  return said.replace(/[&<>"]/g, (c) =>
    c === "&" ? "&amp;" : c === "<" ? "&lt;" : c === ">" ? "&gt;" : "&quot;",
  );
}

/** `<name a="b">inside</name>`, numbers as coordinates. */
export function element(name: string, attributes: Attributes, inside = ""): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === "number" ? coordinate(value) : escapeXml(value)}"`,
  );
  return inside === "" ? `<${name}${list.join("")}/>` : `<${name}${list.join("")}>${inside}</${name}>`;
}

/** A text element at a position. */
export function text(x: number, y: number, said: string, attributes: Attributes = {}): string {
  // Right-to-left text must not reorder the text around it.
  return element("text", { x, y, ...attributes }, escapeXml(said));
}

/** About how wide a text is, in points. */
export function textWidth(said: string, size: number, em = MONO_EM): number {
  return widthOf(said) * em * size;
}

/** A whole SVG file. Width in millimeters, height in points. */
export function svgFile(
  sheet: {
    readonly width: number;
    readonly height: number;
    readonly theme: Theme;
    readonly background: boolean;
  },
  title: string,
  description: string,
  parts: readonly string[],
): string {
  const { theme } = sheet;
  const [width, height] = [sheet.width * POINT, sheet.height].map(coordinate);
  const millimeters = coordinate(sheet.height / POINT);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${coordinate(sheet.width)}mm" height="${millimeters}mm" viewBox="0 0 ${width} ${height}" role="img" font-family="${SANS}" font-size="8" fill="${theme.ink}">`,
    `<title>${escapeXml(title)}</title>`,
    `<desc>${escapeXml(description)}</desc>`,
    ...(sheet.background ? [`<rect width="${width}" height="${height}" fill="${theme.paper}"/>`] : []),
    ...parts.filter((part) => part !== ""),
    "</svg>\n",
  ].join("\n");
}
