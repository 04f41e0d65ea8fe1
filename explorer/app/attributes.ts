/** The attributes of the elements that set a part of the state. */
import type { AttentionViewAttributes } from "../../src/view/element.ts";
import { DEFAULT, type State } from "../state/state.ts";
import { isValueOf } from "../state/url.ts";

/** The parts of the state that are attributes of the same names: the picture, and the cursor. */
export type StateAttribute = keyof State & keyof AttentionViewAttributes;
export const VIEW_ATTRIBUTES: readonly StateAttribute[] = ["view", "mode", "stage"];
export const CURSOR_ATTRIBUTES: readonly StateAttribute[] = ["block", "layer", "head", "query", "key"];

/** What an attribute changes; undefined if it sets none of `parts`, or has no value of it. */
export function stateOf(
  parts: readonly StateAttribute[],
  name: string,
  text: string,
): Partial<State> | undefined {
  const part = parts.find((one) => one === name);
  if (part === undefined || text === "") return undefined;
  const value = typeof DEFAULT[part] === "number" ? Number(text) : text;
  return String(value) === text && isValueOf(part, value) ? { [part]: value } : undefined;
}
