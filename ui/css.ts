/**
 * Styles set through the CSS object model, one property at a time: a strict Content-Security-Policy blocks style attributes in
 * markup, but not these.
 */

import { Directive, directive } from "lit/directive.js";
import { type ElementPart, noChange } from "lit/html.js";

export type Styles = Readonly<Record<string, string | number | undefined>>;

class Css extends Directive {
  #last: Styles = {};

  render(_styles: Styles): typeof noChange {
    return noChange;
  }

  override update({ element }: ElementPart, [styles]: [Styles]): typeof noChange {
    applyStyles(element as HTMLElement, styles, this.#last);
    this.#last = styles;
    return noChange;
  }
}

/** `<div ${css({ left: "2px" })}>`; a number is a length in pixels. Names are those of style sheets. */
export const css = directive(Css);

/** Sets the properties that differ from `last`; removes those that are missing or undefined. */
function applyStyles({ style }: HTMLElement, styles: Styles, last: Styles = {}): void {
  for (const name in last) if (styles[name] === undefined) style.removeProperty(name);
  for (const name in styles) {
    const value = styles[name];
    if (value !== undefined && value !== last[name])
      style.setProperty(name, typeof value === "number" ? `${value}px` : value);
  }
}
