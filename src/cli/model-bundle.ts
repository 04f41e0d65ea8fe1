/** What a model's attention did with texts, as a bundle the explorer opens: q, k, v and the log-sum-exp of every layer. */
import type { LayerAttention } from "../models/gpt2.ts";
import type { AttentionModel, TextAttention } from "../models/text-model.ts";
import { writeBundle } from "../view/store/bundle.ts";
import type { BlockInput } from "../view/store/input.ts";
import type { Segment } from "../view/store/types.ts";

/** A bundle of what a model did: a block for each text (or pair), `text 1`, `text 2` … where there are several. */
export function bundleOfTexts(model: AttentionModel, seen: readonly TextAttention[]): Promise<Uint8Array> {
  const blocks = seen.flatMap((one, n) => blocksOf(one, seen.length > 1 ? `text ${n + 1}` : "self", model));
  const text = seen.map(({ texts }) => texts.join("\n")).join("\n");
  return writeBundle({ model: model.name, text, blocks });
}

/** The block of one text; one for each layer where their heads differ in size. */
function blocksOf(seen: TextAttention, name: string, { architecture }: AttentionModel): BlockInput[] {
  const { tokens, layers, sequences, special } = seen;
  const markers = [...special.keys()].filter((i) => special[i]);
  const shapeOf = ({ query, value }: LayerAttention) => `${query.shape} ${value.shape}`;
  const alike = layers.every((layer) => shapeOf(layer) === shapeOf(layers[0]));
  const groups = alike ? [[...layers.keys()]] : [...layers.keys()].map((n) => [n]);
  return groups.map((group) => {
    const { scale } = layers[group[0]]?.options ?? {};
    return {
      name: alike ? name : name === "self" ? `layer ${group[0]}` : `${name}, layer ${group[0]}`,
      tokens,
      kind: "self",
      recipe: { mask: architecture === "decoder" ? "causal" : "none", ...(scale !== undefined && { scale }) },
      segments: segmentsOf(sequences),
      // Where a model says that no token is a marker, their looks do not say otherwise.
      special: { query: markers, key: markers },
      layers: group.map((layer) => {
        const { query, key, value, lse } = layers[layer];
        return { layer, query, key, value, lse };
      }),
    };
  });
}

/** The parts of a pair, each with the markers that follow it. */
function segmentsOf(sequences: Int8Array): Segment[] {
  const second = sequences.indexOf(1);
  if (second < 0) return [];
  const [first, rest] = [
    [0, second],
    [second, sequences.length],
  ] as const;
  return [
    { name: "A", query: first, key: first },
    { name: "B", query: rest, key: rest },
  ];
}
