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

/** The heads and tokens of lists in the state that a file may lack, by name: what is named and absent is left out of the picture. */
const LISTS = {
  pins: [
    "pinned head",
    ({ pins = [] }, block, blocks) =>
      pins.filter((pin) => !hasHead(blockOf(blocks, pin.block || block.name), pin)).map(nameOf),
  ],
  pinned: [
    "pinned cell",
    ({ pinned }, { Nq, Nk }) =>
      pinned && (pinned[0] >= Nq || pinned[1] >= Nk) ? [`of query ${pinned[0]} and key ${pinned[1]}`] : [],
  ],
  ablated: [
    "head turned off",
    ({ ablated = [] }, block) =>
      ablated
        .filter((one) => !hasHead(block, one) || (one.position ?? 0) >= block.Nq)
        .map((one) => `${nameOf(one)}${one.position === null ? "" : ` at token ${one.position}`}`),
  ],
  predict: ["token to predict,", ({ predict }, { Nq }) => ((predict ?? 0) >= Nq ? [predict!] : [])],
  other: [
    "text or head to compare with,",
    ({ other }, block, blocks, texts) => {
      if (!other || other.text >= texts) return other ? [other.text] : [];
      // The blocks of another text are in another file.
      const target = texts > 1 ? block : blockOf(blocks, other.block ?? block.name);
      return target === undefined ? [other.block!] : hasHead(target, other) ? [] : [nameOf(other)];
    },
  ],
  fromLayer: [
    "first layer,",
    ({ fromLayer: from = null }, { layers }) => (from === null || layers.includes(from) ? [] : [from]),
  ],
  querySegments: [
    "chosen segment",
    ({ querySegments = [], keySegments = [] }, { segments }) =>
      [...querySegments, ...keySegments].filter((n) => n >= segments.length),
  ],
  hidden: ["hidden token", ({ hidden = [] }, { Nk }) => hidden.filter((key) => key >= Nk)],
  edits: [
    "changed number",
    ({ edits = [] }, { d, has, Nk }) =>
      edits
        .filter(
          (one) =>
            !has.qk || (one.what !== "scale" && one.index >= d) || (one.what === "key" && one.token >= Nk),
        )
        .map((one) =>
          one.what === "scale"
            ? "scale"
            : `${one.index} of ${one.what === "key" ? `key ${one.token}` : "the query"}`,
        ),
  ],
  rows: ["chosen query", ({ rows = [] }, { Nq }) => rows.filter((query) => query >= Nq)],
  columns: ["chosen key", ({ columns = [] }, { Nk }) => columns.filter((key) => key >= Nk)],
} satisfies {
  readonly [Part in keyof State]?: readonly [
    name: string,
    absent: (
      wanted: Partial<State>,
      block: Block,
      blocks: readonly Block[],
      texts: number,
    ) => readonly (string | number)[],
  ];
};

const blockOf = (blocks: readonly Block[], wanted: string) => blocks.find(({ name }) => name === wanted);
const nameOf = ({ layer, head }: Pick<State, "layer" | "head">) => `L${layer} H${head}`;
const hasHead = (block: Block | undefined, { layer, head }: Pick<State, "layer" | "head">) =>
  block?.layers.includes(layer) === true && head < block.heads;

/** A sentence for each part of `wanted` that is absent; `shown` is the state that the store has instead. */
export function absentParts(
  wanted: Partial<State>,
  shown: State,
  block: Block,
  blocks: readonly Block[],
  texts: number,
): readonly string[] {
  const parts = Object.entries(PARTS).flatMap(([part, [name, valuesOf]]) => {
    const value = wanted[part as keyof typeof PARTS];
    const values = valuesOf(block, blocks, texts);
    const list: readonly (string | number)[] =
      typeof values === "number" ? [...Array(values).keys()] : values;
    if (value === undefined || list.includes(value)) return [];
    return `There is no ${name} ${value}: this file has ${listed(list)}. Shown is ${shown[part as keyof typeof PARTS]}.`;
  });
  if (wanted.mode !== undefined && wanted.mode !== shown.mode)
    parts.push(`This file cannot be drawn as ${wanted.mode}. Shown is ${shown.mode}.`);
  const lists = Object.values(LISTS).flatMap(([name, absentOf]) => {
    const absent = absentOf(wanted, block, blocks, texts);
    const more = absent.length > 3 ? ` and ${absent.length - 3} more` : "";
    return absent.length === 0 ? [] : [`${name} ${absent.slice(0, 3).join(", ")}${more}`];
  });
  return lists.length === 0
    ? parts
    : [...parts, `This file does not have, and the picture leaves out: ${lists.join("; ")}.`];
}

/** `0 to 11` for numbers without a gap, else each value. */
function listed(values: readonly (string | number)[]): string {
  const [first, last] = [Number(values[0]), Number(values.at(-1))];
  return values.length > 2 && last - first === values.length - 1 ? `${first} to ${last}` : values.join(", ");
}
