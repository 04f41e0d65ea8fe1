/**
 * Markup as values: a tagged template that escapes whatever is put into it, unless that is markup itself. The same
 * functions write a page when it is built and draw it again in the browser. Styles are classes, never attributes,
 * because a strict policy refuses style attributes in markup.
 */
import { escapeXml } from "../../src/view/figure/sheet.ts";

/** A piece of HTML or SVG that is safe to insert. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

/** What a template accepts between its parts. Lists are joined; false, null and undefined write nothing. */
export type Content = Markup | string | number | false | null | undefined | readonly Content[];

/** Markup from a template; strings and numbers are escaped. */
export function html(parts: TemplateStringsArray, ...contents: Content[]): Markup {
  return new Markup(
    parts.reduce((text, part, i) => text + (i === 0 ? "" : written(contents[i - 1])) + part, ""),
  );
}

/** Markup from text that the SVG helpers wrote and escaped. */
export const raw = (text: string): Markup => new Markup(text);

function written(content: Content): string {
  if (content instanceof Markup) return content.text;
  if (Array.isArray(content)) return content.map(written).join("");
  if (content === false || content === null || content === undefined) return "";
  return escapeXml(String(content));
}
