/** What a model's attention did with a text, as a bundle the explorer opens: q, k, v and the log-sum-exp of every layer. */
import type { LayerAttention } from "../models/gpt2.ts";
import type { AttentionModel, TextAttention } from "../models/text-model.ts";
import { writeBundle } from "../view/store/bundle.ts";
import type { BlockInput } from "../view/store/input.ts";
import type { Segment } from "../view/store/types.ts";
import type { ServedFile } from "./explore.ts";

/** Characters of a text that name its file. */
const NAMED = 60;

/** The bundle of a text (or pair) as a file that bears the text's name. */
export async function fileOfText(model: AttentionModel, seen: TextAttention): Promise<ServedFile> {
  const text = seen.texts.join(" · ");
  const name = text.length > NAMED ? `${[...text].slice(0, NAMED - 1).join("")}…` : text;
  return { name: name.replaceAll("/", "∕"), source: await bundleOfText(model, seen) };
}

/** What a model did with a text, as a bundle: one block, `self`; or `layer N` for each layer where their heads differ in size. */
export function bundleOfText(model: AttentionModel, seen: TextAttention): Promise<Uint8Array> {
  const { tokens, layers, sequences, special, texts } = seen;
  const markers = [...special.keys()].filter((i) => special[i]);
  const shapeOf = ({ query, value }: LayerAttention) => `${query.shape} ${value.shape}`;
  const alike = layers.every((layer) => shapeOf(layer) === shapeOf(layers[0]));
  const groups = alike ? [[...layers.keys()]] : [...layers.keys()].map((n) => [n]);
  const blocks = groups.map((group): BlockInput => {
    const { scale } = layers[group[0]]?.options ?? {};
    const mask = model.architecture === "decoder" ? "causal" : "none";
    return {
      name: alike ? "self" : `layer ${group[0]}`,
      tokens,
      kind: "self",
      recipe: { mask, ...(scale !== undefined && { scale }) },
      segments: segmentsOf(sequences),
      // Where a model says that no token is a marker, their looks do not say otherwise.
      special: { query: markers, key: markers },
      layers: group.map((layer) => {
        const { query, key, value, lse } = layers[layer];
        return { layer, query, key, value, lse };
      }),
    };
  });
  return writeBundle({ model: model.name, text: texts.join("\n"), blocks });
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
