/** Tokens and shares in the sentences of the page. */
import { formatNumber } from "../../src/store/text/number.ts";

/** A token's name: its text is isolated, since its direction may differ from the page's. */
export const tokenNamed = (text: string, name: string): HTMLElement =>
  Object.assign(document.createElement(name), { textContent: `‹${text}›`, dir: "auto" });

/** A share in per cent. */
export const percentOf = (share: number): string => formatNumber(share, { style: "percent" });

/** An element with content. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  content: string | readonly (string | Node)[] = [],
  attributes: Readonly<Record<string, string>> = {},
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  element.append(...(typeof content === "string" ? [content] : content));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** A button that does something. */
export function actsOn(content: string | readonly (string | Node)[], act: () => void): HTMLButtonElement {
  const button = make("button", content, { type: "button" });
  button.addEventListener("click", act);
  return button;
}
