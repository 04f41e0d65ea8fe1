/**
 * Controls: toggle buttons, lists, checkboxes, sliders. What a control does is a function of the new value, or the name of an action:
 * pages that are written before their script runs carry it as `data-act="name:value"` (`data-act="name"` where an input has the value).
 */

import { Directive, directive, type PropertyPart } from "lit/directive.js";
import { setCommittedValue } from "lit/directive-helpers.js";
import { live } from "lit/directives/live.js";
import { noChange, nothing } from "lit/html.js";
import { html, type TemplateResult } from "./markup.ts";

/** What a control does with the new value. */
export type ControlAction<T> = ((value: T) => void) | string;

/** A value, its text, a hint, and whether it cannot be chosen now. */
export type ControlOption<T> = readonly [value: T, text: unknown, hint?: string, disabled?: boolean];

const listener = <T>(pick: ControlAction<T>, value: (target: HTMLInputElement) => T) =>
  typeof pick === "string" ? nothing : (event: Event) => pick(value(event.target as HTMLInputElement));
const actOf = (pick: ControlAction<never>) => (typeof pick === "string" ? pick : nothing);

/** A group of toggle buttons, one of which is pressed. `kind` is another class. */
export function choice<T extends string | number>(
  label: string,
  options: readonly ControlOption<T>[],
  current: T,
  pick: ControlAction<T>,
  kind = "",
): TemplateResult {
  return html`<span class=${`choice ${kind}`.trim()} role=${label === "" ? nothing : "group"} aria-label=${label === "" ? nothing : label}
    >${options.map(
      ([value, text, hint, disabled]) =>
        html`<button type="button" data-act=${typeof pick === "string" ? `${pick}:${value}` : nothing} aria-pressed=${String(value === current)}
          title=${hint ?? nothing} ?disabled=${disabled} @click=${listener(pick, () => value)}>${text}</button>`,
    )}</span>`;
}

/** A drop-down list; `label` is its name for screen readers, "" where a label is around it. */
export function menu<T extends string | number>(
  label: string,
  options: readonly ControlOption<T>[],
  current: T,
  pick: ControlAction<T>,
): TemplateResult {
  const chosen = ({ value }: { value: string }) => options.find(([one]) => String(one) === value)![0];
  return html`<select data-act=${actOf(pick)} aria-label=${label === "" ? nothing : label} @change=${listener(pick, chosen)}
    >${options.map(
      ([value, text]) => html`<option value=${value} .selected=${live(value === current)}>${text}</option>`,
    )}</select>`;
}

/** A drop-down list with its visible name. */
export function select<T extends string>(
  label: string,
  options: readonly ControlOption<T>[],
  current: T,
  pick: ControlAction<T>,
  kind = "",
): TemplateResult {
  return html`<label class="select ${kind}"><span>${label}</span> ${menu("", options, current, pick)}</label>`;
}

/** A checkbox. */
export function check(label: unknown, on: boolean, set: ControlAction<boolean>, kind = ""): TemplateResult {
  return html`<label class=${`check ${kind}`.trim()}><input type="checkbox" data-act=${actOf(set)} .checked=${live(on)}
    @change=${listener(set, ({ checked }) => checked)}>${label}</label>`;
}

/** The range of a slider, and where it is. */
export interface SliderRange {
  readonly min: number;
  readonly max: number;
  readonly step: number | "any";
  readonly value: number;
}

/** A slider, and its value as text after it. `label` is its name for screen readers. */
export function slider(
  label: string,
  range: SliderRange,
  text: unknown,
  pick: ControlAction<number>,
): TemplateResult {
  const value = String(range.value);
  return html`<input type="range" min=${range.min} max=${range.max} step=${range.step}
    .value=${typeof pick === "string" ? settled(value) : live(value)} data-act=${actOf(pick)} aria-label=${label} aria-valuetext=${String(text)}
    @input=${listener(pick, ({ valueAsNumber }) => valueAsNumber)}><output>${text}</output>`;
}

class Settled extends Directive {
  render(value: string): unknown {
    return value;
  }

  override update(part: PropertyPart, [value]: [value: string]): unknown {
    const input = part.element as HTMLInputElement;
    if (input.value === value || input.matches(":active, :focus")) return noChange;
    setCommittedValue(part);
    return value;
  }
}

/** The value of an input whose changes are drawn later: one that the reader is using keeps its own. */
export const settled = directive(Settled);
