/**
 * What an address, an attribute or a property names and a store does not have: the nearest part is shown, and a sentence says so.
 */
import type { Block } from "../../src/store/block.ts";
import type { State } from "./state.ts";

/** The parts that a file may lack, each with what it has: a list, or a count of values from 0. */
const PARTS = {
  text: ["text", (_, __, texts) => texts],
  block: ["block", (_, blocks) => blocks.map(({ name }) => name)],
  layer: ["layer", ({ layers }) => layers],
  head: ["head", ({ heads }) => heads],
  query: ["query token", ({ Nq }) => Nq],
  key: ["key token", ({ Nk }) => Nk],
  stage: ["stage", ({ stages }) => stages],
} satisfies {
  readonly [Part in keyof State]?: readonly [
    name: string,
    values: (block: Block, blocks: readonly Block[], texts: number) => number | readonly (string | number)[],
  ];
};

/** A sentence for each part of `wanted` that is absent; `shown` is the state that the store has instead. */
export function absentParts(
  wanted: Partial<State>,
  shown: State,
  block: Block,
  blocks: readonly Block[],
  texts: number,
): readonly string[] {
  return Object.entries(PARTS).flatMap(([part, [name, valuesOf]]) => {
    const value = wanted[part as keyof typeof PARTS];
    const values = valuesOf(block, blocks, texts);
    const list: readonly (string | number)[] =
      typeof values === "number" ? [...Array(values).keys()] : values;
    if (value === undefined || list.includes(value)) return [];
    return `There is no ${name} ${value}: this file has ${listed(list)}. Shown is ${shown[part as keyof typeof PARTS]}.`;
  });
}

/** The values of the attributes that are words and no part of the state. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  theme: ["auto", "light", "dark"],
  keys: ["on", "off"],
  controls: ["all", "few", "none"],
  background: ["paper", "none"],
};

/** A sentence for each attribute whose value has no effect; `parts` are those of the state, with their values or as numbers. */
export const wrongAttributes = (
  attributes: readonly (readonly [name: string, value: string])[],
  parts: Readonly<Record<string, readonly string[] | undefined>>,
): readonly string[] =>
  attributes.flatMap(([name, value]) => {
    const choices = parts[name] ?? WORDS[name];
    if (choices?.includes(value) ?? !(name in parts)) return [];
    const wanted = choices === undefined ? "a whole number from 0" : `one of ${choices.join(", ")}`;
    return `The attribute ${name} is “${value}”, not ${wanted}. It has no effect.`;
  });

/** `0 to 11` for numbers without a gap, else each value. */
function listed(values: readonly (string | number)[]): string {
  const [first, last] = [Number(values[0]), Number(values.at(-1))];
  return values.length > 2 && last - first === values.length - 1 ? `${first} to ${last}` : values.join(", ");
}
