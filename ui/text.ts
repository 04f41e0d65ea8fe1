/** Numbers with their source, tokens as isolated text, bars, messages with code. */
import { nothing } from "lit/html.js";
import type { Num } from "../src/store/text/number.ts";
import { type NumberOptions, num } from "../src/store/text/number.ts";
import { css } from "./css.ts";
import { html, type TemplateResult } from "./markup.ts";

/** A number on screen: its text, with the full value and the function that computed it as attributes. */
export function numeral(value: number, source: string, options?: NumberOptions): TemplateResult {
  return shown(num(value, source, options));
}

/** The same for a formatted number. */
export function shown({ value, text, source }: Num): TemplateResult {
  return html`<data class="num" value=${String(value)} data-source=${source}>${spaced(text)}</data>`;
}

/** A number's text with its narrow space and superscript digits in spans: a monospaced font sets them too far apart. */
function spaced(text: string): TemplateResult | string {
  const [, before, narrow, after] = /^(.*?)(\u202f|[⁻⁰¹²³⁴-⁹]+)(.*)$/u.exec(text) ?? [];
  return narrow === undefined
    ? text
    : html`${before}<span class=${narrow === "\u202f" ? "thin" : "raised"}>${narrow}</span>${after}`;
}

/** A token as text, with its own direction, and its language if the file names it. */
export function token(text: string, lang?: string): TemplateResult {
  return html`<bdi class="token" lang=${lang ?? nothing}>${text}</bdi>`;
}

/** A token in a sentence: ‹sat›. */
export function quoted(text: string, lang?: string): TemplateResult {
  return html`<span class="quoted">‹${token(text, lang)}›</span>`;
}

/** A bar whose length is a share of the track, 0 to 1. If `signed`, 0 is in the middle. */
export function bar(share: number, kind = "weight", signed = false): TemplateResult {
  const size = Number.isFinite(share) ? Math.min(1, Math.abs(share)) : 0;
  const width = (signed ? 50 : 100) * size;
  const start = !signed ? 0 : share < 0 ? 50 - width : 50;
  return html`<span class="track ${signed ? "signed" : ""}" aria-hidden="true"
    ><span class="bar ${kind}" ${css({ width: `${width.toFixed(2)}%`, "margin-inline-start": `${start.toFixed(2)}%` })}></span
  ></span>`;
}

/** A message of the library, whose names and commands are between backticks, with those set as code. */
export function withCode(text: string): (TemplateResult | string)[] {
  return text.split("`").map((part, n) => (n % 2 === 0 ? part : html`<code>${part}</code>`));
}
