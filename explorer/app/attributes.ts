/** The attributes of the elements that set a part of the state. */
import type { AttentionViewAttributes } from "../../src/view/element.ts";
import { STAGES, type State } from "../state/state.ts";
import { DRAWINGS, PAGES } from "../views/registry.ts";

/** Attributes that set a part of the state, each with its allowed values; undefined: a number, or the name of a block. */
export type StateAttributes = Readonly<
  Partial<
    Record<
      "view" | "mode" | "stage" | "block" | "layer" | "head" | "query" | "key",
      readonly string[] | undefined
    >
  >
>;
/** The attributes of <attention-view>. */
export const ATTRIBUTES = {
  view: PAGES.map(({ name }) => name),
  mode: DRAWINGS.map(({ name }) => name),
  stage: STAGES,
  block: undefined,
  layer: undefined,
  head: undefined,
  query: undefined,
  key: undefined,
} satisfies Record<keyof StateAttributes & keyof AttentionViewAttributes, readonly string[] | undefined>;
export type StateAttribute = keyof StateAttributes;

/** What an attribute changes; undefined if it sets no part of the state, or has no value of it. */
export function stateOf(parts: StateAttributes, name: string, value: string): Partial<State> | undefined {
  if (!(name in parts)) return undefined;
  if (name === "block") return { block: value };
  const choices = parts[name as StateAttribute];
  if (choices) return choices.includes(value) ? { [name]: value } : undefined;
  return /^\d+$/.test(value) ? { [name]: Number(value) } : undefined;
}
