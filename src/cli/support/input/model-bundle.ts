/** A model's attention on a text as a bundle that the explorer opens: q, k, v and the log-sum-exp of every layer. */

import type { TensorLike } from "../../../core/tensor.ts";
import type { ImageAttention, ImageModel } from "../../../models/images/image-model.ts";
import { type AblatedHead, ablateHeads, ablation } from "../../../models/inference/ablate.ts";
import type {
  AttentionModel,
  TargetAttention,
  TextAttention,
  TextModel,
} from "../../../models/text-model.ts";
import type { FileModel, ServedFile } from "../../../server/content.ts";
import type { Segment } from "../../../store/block.ts";
import { type BundleOptions, writeBundle } from "../../../store/formats/bundle.ts";
import { recipeOfModel } from "../../../store/layout/from.ts";
import type { BlockInput, StoreInput } from "../../../store/layout/input.ts";
import type { LayerRecipe } from "../../../store/recipe/recipe.ts";
import type { ModelQuestion } from "../../../view/element.ts";
import { continuationOf } from "../explorer/continuation.ts";
import { answerQuestion } from "../explorer/questions.ts";
import { cutsOf } from "./pick-model.ts";

/** Maximum characters of a file's name. */
const NAMED = 60;

/** The bundle of a text (or pair) as a file named after the text. */
async function fileOfText(model: AttentionModel, attention: TextAttention): Promise<ServedFile> {
  const text = attention.texts.join(" · ");
  const name = text.length > NAMED ? `${[...text].slice(0, NAMED - 1).join("")}…` : text;
  return { name: name.replaceAll("/", "∕"), source: await bundleOfTexts(model, [attention]) };
}

/** The same with its model, which the explorer can run again with heads ablated. */
export async function fileOfRun(model: TextModel, attention: TextAttention): Promise<ServedFile> {
  const file = await fileOfText(model, attention);
  // Heads of an encoder–decoder are not switched off: which text they belong to has no place in the request.
  return attention.target ? file : { ...file, model: fileModel(model, attention) };
}

/** The file of a text that a model continued, with its model where the text alone gives the same tokens. */
async function fileOfTokens(model: TextModel, attention: TextAttention): Promise<ServedFile> {
  const { ids } = model.tokenize(attention.texts[0]);
  const isSame = ids.length === attention.ids.length && ids.every((id, n) => id === attention.ids[n]);
  return isSame ? fileOfRun(model, attention) : fileOfText(model, attention);
}

/** A model that can run again on one text (or pair), with heads ablated. */
export function fileModel(
  model: TextModel,
  { texts: [text, pair] }: Pick<TextAttention, "texts">,
): FileModel {
  const next = continuationOf(model, text);
  return {
    name: model.name,
    predicts: !model.model.hasHead ? "none" : model.architecture === "decoder" ? "next" : "masked",
    ablate: async (heads, position) =>
      ablateHeads(model, text, heads, { pair, position: position ?? undefined }),
    attention: async (heads) => {
      const tokens = model.tokenize(text, pair);
      const layers = model.attentionOf(tokens.ids, tokens.typeIds, { onAttention: ablation(model, heads) });
      const file = await fileOfText(model, { ...tokens, layers });
      return { ...file, name: `${file.name}, without ${heads.map(nameOfHead).join(" ")}` };
    },
    ...(pair === undefined && {
      text,
      answer: async (request) => {
        const question = request as ModelQuestion;
        if (question.of !== "next") return answerQuestion(model, text, question);
        const answer = next(question);
        if (answer.token === null) return answer;
        return { token: answer.token, file: await fileOfTokens(model, answer.attention) };
      },
    }),
  };
}

/** "L4 H7"; with "(mean)" or the token where its output is not replaced with zeros at every token. */
function nameOfHead({ layer, head, replace, position }: AblatedHead): string {
  const only = position == null ? "" : ` at token ${position}`;
  return `L${layer} H${head}${replace === "mean" ? " (mean)" : ""}${only}`;
}

/** A model's attention on texts as one bundle, with a block for each text: `self`, or `text1`, `text2` … if there are several. */
export function bundleOfTexts(
  model: AttentionModel,
  attentions: readonly TextAttention[],
  options: BundleOptions = {},
  extras: readonly TextExtras[] = [],
): Promise<Uint8Array> {
  const input = inputOfTexts(model, attentions);
  const blocks = input.blocks.map((block, n) => ({ ...block, ...extras[n] }));
  return writeBundle({ ...input, blocks }, options);
}

/** What a bundle can carry besides the attention on a text. */
export type TextExtras = Pick<BlockInput, "states" | "evidence">;

/** The block of text n that a picture of it shows: its own, or rows of the written text in columns of the source. */
export function blockNameOf(attentions: readonly TextAttention[], n: number): string {
  const name = attentions.length === 1 ? "self" : `text${n + 1}`;
  if (!attentions[n].target) return name;
  return attentions.length === 1 ? "cross" : `${name}.cross`;
}

/** The same as arrays, for a store in memory. */
export function inputOfTexts(model: AttentionModel, attentions: readonly TextAttention[]): StoreInput {
  const name = (n: number) => (attentions.length === 1 ? "self" : `text${n + 1}`);
  return {
    model: model.name,
    text: attentions.flatMap(({ texts, target }) => [...texts, ...(target?.texts ?? [])]).join("\n"),
    warnings: [
      ...(model.notes ?? []).flatMap(({ severity, text }) =>
        severity === "warning" ? [`${model.name}: ${text}`] : [],
      ),
      ...attentions.flatMap((one) => cutsOf(model, one) ?? []),
    ],
    blocks: attentions.flatMap((one, n) =>
      one.target
        ? translationBlocks(attentions.length === 1 ? "" : `${name(n)}.`, model, one, one.target)
        : [blockOf(name(n), model, one)],
    ),
  };
}

/** The blocks of an encoder–decoder, named as the recorder names them: the encoder's, the decoder's, and rows of one in columns of the other. */
function translationBlocks(
  prefix: string,
  model: AttentionModel,
  source: TextAttention,
  target: TargetAttention,
): BlockInput[] {
  const ids = specialOf(target.special);
  const {
    tokens: _,
    segments: __,
    ...cross
  } = blockOf(`${prefix}cross`, model, { ...target, layers: target.cross });
  return [
    blockOf(`${prefix}enc`, model, source),
    blockOf(`${prefix}dec`, model, { ...target, layers: target.self }),
    {
      ...cross,
      kind: "cross",
      queryTokens: target.tokens,
      keyTokens: source.tokens,
      special: { query: ids, key: specialOf(source.special) },
    },
  ];
}

const specialOf = (special: readonly boolean[]): number[] => [...special.keys()].filter((i) => special[i]);

/** A model's attention on pictures as one bundle, with a block for each: its patches are keys and queries, and the picture is in it. */
export function bundleOfPictures(
  model: ImageModel,
  attentions: readonly ImageAttention[],
  names: readonly string[],
  options: BundleOptions = {},
): Promise<Uint8Array> {
  const blocks = attentions.map((one, n) => {
    const { grid, picture } = one;
    const image = { data: picture.data, shape: [picture.height, picture.width, 3] };
    const sequences = new Int8Array(one.tokens.length);
    return {
      ...blockOf(attentions.length === 1 ? "self" : `picture${n + 1}`, model, { ...one, sequences }),
      pictures: [{ ...grid, image: image as TensorLike }],
    };
  });
  const warnings = model.notes.flatMap(({ severity, text }) =>
    severity === "warning" ? [`${model.name}: ${text}`] : [],
  );
  return writeBundle({ model: model.name, text: names.join("\n"), warnings, blocks }, options);
}

function blockOf(
  name: string,
  model: Pick<AttentionModel, "architecture">,
  attention: Pick<TextAttention, "tokens" | "layers" | "sequences" | "special">,
): BlockInput {
  const { tokens, layers, sequences, special } = attention;
  const specials = specialOf(special);
  const tableName = `${name}.relative`;
  const recipes = layers.map((layer) => recipeOf(model, layer, name));
  const [first] = recipes;
  // The recipe of the first layer is that of the block; a layer that differs has a complete override.
  const same = (recipe: LayerRecipe) => JSON.stringify(recipe) === JSON.stringify(first);
  const overrides = recipes.flatMap((recipe, n) => (same(recipe) ? [] : [[n, recipe] as const]));
  const table = layers[0]?.recipe?.relative?.table;
  const positions = layers.flatMap(({ recipe }, n) =>
    (["positionKeys", "positionQueries"] as const).flatMap((part) => {
      const tensor = recipe?.disentangled?.[part];
      return tensor ? [[`${name}.${part}.${n}`, tensor] as const] : [];
    }),
  );
  return {
    name,
    tokens,
    kind: "self",
    recipe: { ...first, ...(overrides.length > 0 && { layerOverrides: Object.fromEntries(overrides) }) },
    tensors: { ...(table && { [tableName]: table }), ...Object.fromEntries(positions) },
    segments: segmentsOf(sequences),
    // An empty list, so that no token is guessed to be special by its spelling.
    special: { query: specials, key: specials },
    // With global tokens each value has a part for local and one for global rows: no picture of one value.
    layers: layers.map(({ query, key, value, lse, recipe }) => ({
      query,
      key,
      lse,
      ...(!hasGlobals(recipe) && { value }),
    })),
  };
}

const hasGlobals = (recipe: TextAttention["layers"][number]["recipe"]): boolean =>
  typeof recipe?.mask === "object" && recipe.mask.globals !== undefined;

/** A layer's recipe in the bundle, with the names of its tensors in the block of this name. */
function recipeOf(
  model: Pick<AttentionModel, "architecture">,
  { recipe, options }: TextAttention["layers"][number],
  name: string,
): LayerRecipe {
  if (!recipe)
    return {
      mask: model.architecture === "decoder" ? "causal" : "none",
      ...(options?.scale !== undefined && { scale: options.scale }),
    };
  const { relative, disentangled } = recipe;
  return {
    ...recipeOfModel(recipe),
    ...(relative && {
      bias: {
        relative: `${name}.relative`,
        maxDistance: relative.maxDistance,
        bidirectional: relative.bidirectional,
      },
    }),
    ...(disentangled && {
      bias: {
        disentangled: {
          rows: [...disentangled.rows],
          ...(disentangled.positionKeys && { keys: `${name}.positionKeys` }),
          ...(disentangled.positionQueries && { queries: `${name}.positionQueries` }),
        },
      },
    }),
  };
}

/** The segments of a pair, each with the special tokens after it. */
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
