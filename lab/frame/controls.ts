/** Controls that several pages use (buttons of which one is pressed, menus, checkboxes), and the ranges of what they set. */
import { type Content, html, type Markup } from "./markup.ts";

/** What can be chosen: the argument of the action, and its text. */
export type Options = readonly (readonly [value: string | number, text: Content])[];

/** Buttons of which one is pressed: `act:value`. `name` is another class. */
export const choice = (act: string, options: Options, chosen: string | number, name = ""): Markup =>
  html`<span class="${`choice ${name}`.trim()}">${options.map(
    ([value, text]) =>
      html`<button type="button" data-act="${act}:${value}" aria-pressed="${String(value === chosen)}">${text}</button>`,
  )}</span>`;

/** A menu; its label is for screen readers. */
export const menu = (act: string, options: Options, chosen: string | number, label: string): Markup =>
  html`<select data-act="${act}" aria-label="${label}">${options.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ""}>${text}</option>`,
  )}</select>`;

/** A checkbox with its text. `name` is a class of the label. */
export const checkbox = (act: string, text: string, checked: boolean, name = ""): Markup =>
  html`<label${name !== "" && html` class="${name}"`}><input type="checkbox" data-act="${act}"${checked ? html` checked` : ""}> ${text}</label>`;

/** The value, at least `low` and at most `high`. */
export const clamp = (value: number, low: number, high: number): number =>
  Math.min(high, Math.max(low, value));

/** The nearest integer from `low` to `high`; 0 without a sign. */
export const clampInteger = (value: number, low: number, high: number): number =>
  clamp(Math.round(value), low, high) + 0;
