/**
 * A template as text, for pages that are complete before any script runs: what lit's `render` would show, without comments. Child,
 * attribute, boolean (`?name=`) and property (`.value= .checked= .selected= .textContent=`) bindings are written, listeners (`@name=`) are
 * not. A boolean between tags throws: lit writes it as a word.
 */
import { getDirectiveClass, isTemplateResult } from "lit/directive-helpers.js";
import { nothing, type TemplateResult } from "lit/html.js";
import { escapeXml } from "../src/view/plot/svg.ts";
import { svgTextOf } from "./svg-text.ts";

/** The text of a template, or of a value between its tags. */
export function textOf(value: unknown): string {
  if (value === nothing || value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(textOf).join("");
  if (isTemplateResult(value)) return textOfTemplate(value as TemplateResult);
  const directive = getDirectiveClass(value);
  const text = directive && svgTextOf(directive, (value as { values: unknown[] }).values);
  if (text !== undefined) return text;
  if (typeof value === "object" || typeof value === "boolean")
    throw new TypeError(`a template has ${String(value)} between its tags; write nothing or a text there`);
  return escapeXml(String(value));
}

/** An attribute without its value, or with the first part of it in quotes, at the end of a text. */
const BINDING = /\s([.?@]?)([\w:-]+)=("[^"]*|'[^']*|)$/;

function textOfTemplate({ strings, values }: TemplateResult): string {
  let text: string = strings[0];
  for (const [i, value] of values.entries()) {
    let rest: string = strings[i + 1];
    const tag = text.slice(text.lastIndexOf("<"));
    const isInTag = tag.startsWith("<") && !tag.replace(/"[^"]*"|'[^']*'/g, "").includes(">");
    const binding = isInTag ? BINDING.exec(tag) : null;
    if (binding === null) {
      text += textOf(value) + rest;
      continue;
    }
    const [written, kind, name, before] = binding;
    const bound = boundValue(value);
    if (kind === "" && bound !== nothing) {
      const content = escapeXml(String(bound ?? ""));
      text += (before === "" ? `"${content}"` : content) + rest;
      continue;
    }
    // The attribute is not written as it stands in the template.
    text = text.slice(0, -written.length);
    if (before !== "") rest = rest.slice(1);
    if (kind === "." && name === "textContent")
      rest = rest.replace(">", () => `>${escapeXml(String(bound))}`);
    else if (kind === "." && typeof bound !== "boolean") text += ` ${name}="${escapeXml(String(bound))}"`;
    else if ((kind === "." || kind === "?") && bound) text += ` ${name}`;
    text += rest;
  }
  return text;
}

/** The value of an attribute or property: a directive's is its first argument. */
const boundValue = (value: unknown): unknown =>
  getDirectiveClass(value) === undefined ? value : (value as { values: unknown[] }).values[0];
