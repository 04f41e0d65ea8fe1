/**
 * The interface that every template gets, and the small templates they share: numbers with their source, tokens as isolated
 * text, bars, controls.
 */
import { html, nothing, type TemplateResult } from "lit";
import { type NumberOptions, num } from "../../src/store/text/number.ts";
import type { Num } from "../../src/store/types.ts";
import type { AttentionSource } from "../../src/view/element.ts";
import { css } from "../styles/css.ts";
import type { Session } from "./session.ts";

/** What a template can use besides the session. */
export interface Ui {
  readonly session: Session;
  /** The explorer owns the page: its reader is the person who opened it. */
  readonly owns: boolean;
  /** Runs an action by name; see actions.ts. */
  readonly act: (name: string) => void;
  /** Announces a text to screen readers. */
  readonly say: (text: string) => void;
  /** The panels below the atlas that switch the cursor's head and rank all heads; nothing until they have been loaded. */
  readonly headPanels: () => TemplateResult | typeof nothing;
  /** Adds a source, and shows it. */
  readonly open: (source: AttentionSource) => Promise<void>;
}

/** A number on screen: its text, with the full value and the function that computed it as attributes. */
export function figure(value: number, source: string, options?: NumberOptions): TemplateResult {
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
  const left = !signed ? 0 : share < 0 ? 50 - width : 50;
  return html`<span class="track ${signed ? "signed" : ""}" aria-hidden="true"
    ><span class="bar ${kind}" ${css({ width: `${width.toFixed(2)}%`, "margin-inline-start": `${left.toFixed(2)}%` })}></span
  ></span>`;
}

/** A group of toggle buttons, one of which is pressed. */
export function choice<T extends string>(
  label: string,
  options: readonly (readonly [value: T, text: string, hint?: string, disabled?: boolean])[],
  current: T,
  pick: (value: T) => void,
): TemplateResult {
  return html`<span class="choice" role="group" aria-label=${label}
    >${options.map(
      ([value, text, hint, disabled]) =>
        html`<button type="button" aria-pressed=${value === current} title=${hint ?? nothing} ?disabled=${disabled}
          @click=${() => pick(value)}>${text}</button>`,
    )}</span>`;
}

/** A drop-down list. */
export function select<T extends string>(
  label: string,
  options: readonly (readonly [value: T, text: string])[],
  current: T,
  pick: (value: T) => void,
  kind = "",
): TemplateResult {
  return html`<label class="select ${kind}"><span>${label}</span>
    <select @change=${(event: Event) => pick((event.target as HTMLSelectElement).value as T)}>
      ${options.map(([value, text]) => html`<option value=${value} ?selected=${value === current}>${text}</option>`)}
    </select></label>`;
}

/** A checkbox. */
export function check(label: string, on: boolean, set: (on: boolean) => void): TemplateResult {
  return html`<label class="check"><input type="checkbox" .checked=${on}
    @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}>${label}</label>`;
}

/** A message of the library, whose names and commands are between backticks, with those set as code. */
export function withCode(text: string): (TemplateResult | string)[] {
  return text.split("`").map((part, n) => (n % 2 === 0 ? part : html`<code>${part}</code>`));
}
