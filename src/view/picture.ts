/**
 * A picture in one call, from weights or from queries and keys: `figureOf` draws a figure (figure/figure.ts), `show` the page of a terminal
 * (terminal/text.ts) and the figure of a notebook. Both make the store of these tensors (store/layout/from.ts) for the time of the call.
 */
import { tensor } from "../core/create/construct.ts";
import { isNested, type NestedNumbers } from "../core/create/nested.ts";
import {
  checkCount,
  checkMethods,
  formatTensor,
  formatValue,
  OptionError,
  ShapeError,
} from "../core/errors.ts";
import { isObject } from "../core/known-names.ts";
import { checkKinds, checkNames, type FieldKinds } from "../core/option-names.ts";
import { asTensor, reshaped, type Tensor, type TensorLike } from "../core/tensor.ts";
import type { HeadStore } from "../store/head-store.ts";
import { storeFrom } from "../store/layout/from.ts";
import type { DrawnFigure } from "./figure/drawn.ts";
import { renderFigure } from "./figure/figure.ts";
import { FIGURE_KINDS, type FigureOptions } from "./figure/options.ts";
import { renderText, TEXT_KINDS, type TextOptions } from "./terminal/text.ts";

/** A tensor, or nested arrays. */
type Values = TensorLike | NestedNumbers;

/**
 * What is drawn: weights [Nq, Nk] or [heads, Nq, Nk], the result of a call with `returnWeights`, or queries [heads, Nq, d] and keys
 * [key heads, Nk, d], from which each row is computed when it is drawn. A batch axis of length 1 is accepted.
 */
export type PictureSource =
  | Values
  | { readonly weights: Values }
  | { readonly query: Values; readonly key: Values };

/** The tokens of a picture, and how scores are computed from queries and keys. */
export interface PictureOptions {
  /** A label for each row and each column. Default: their positions. */
  readonly tokens?: readonly string[];
  /** Labels of rows and of columns, where they differ. Default: `tokens`. */
  readonly queryTokens?: readonly string[];
  readonly keyTokens?: readonly string[];
  /** Queries and keys only: a query attends to its own position and earlier ones. Default false. */
  readonly isCausal?: boolean;
  /** Queries and keys only: multiplies q·k. Default 1/√d. */
  readonly scale?: number;
}

/** What `show` returns: `console.log` prints lines for a terminal, a Jupyter kernel (Deno) shows the figure. */
export interface AttentionPicture {
  /** The lines of the terminal. */
  toString(): string;
  readonly figure: DrawnFigure;
}

/** The options of a picture beside those of its drawing. */
const withPicture = (drawing: FieldKinds): FieldKinds => ({
  ...drawing,
  "true or false": `isCausal ${drawing["true or false"] ?? ""}`.trim(),
  "a number": "scale",
  "": `tokens queryTokens keyTokens ${drawing[""]}`,
});

/**
 * A figure of weights, or of queries and keys: `svg`, `pdf()`, caption and alternative text. The other options are those of
 * `renderFigure`; `head` selects the head, 0 by default.
 *
 * @throws ShapeError for tensors that are no heads, OptionError for a list of tokens of another length
 *
 * @example
 * const { svg } = await figureOf([[1, 0], [0.3, 0.7]], { tokens: ["time", "flies"] });
 */
export async function figureOf(
  source: PictureSource,
  options: PictureOptions & Omit<FigureOptions, "block" | "layer"> = {},
): Promise<DrawnFigure> {
  checkCount("figureOf", arguments, 2);
  checkKinds("figureOf", options, withPicture(FIGURE_KINDS));
  return withStore("figureOf", source, options, (store, rest) => renderFigure(store, rest as FigureOptions));
}

/**
 * A head for a terminal and for a notebook: its weights, its strongest links, its measures. The other options are those of
 * `renderText`; `head` selects the head, 0 by default.
 *
 * @throws ShapeError for tensors that are no heads, OptionError for a list of tokens of another length
 *
 * @example
 * console.log(await show([[1, 0], [0.3, 0.7]], { tokens: ["time", "flies"] }));
 */
export async function show(
  source: PictureSource,
  options: PictureOptions & Omit<TextOptions, "block" | "layer"> = {},
): Promise<AttentionPicture> {
  checkCount("show", arguments, 2);
  checkKinds("show", options, withPicture(TEXT_KINDS));
  return withStore("show", source, options, async (store, rest) => {
    const page = { ...(rest as TextOptions), layer: 0, head: options.head ?? 0 };
    const { queryTokens } = store.blocks[0];
    const lines = await renderText(store, queryTokens.join(" "), page);
    const { head, query, key } = page;
    const figure = await renderFigure(store, { head, query, key });
    const text = lines.join("\n");
    const picture = checkMethods("AttentionPicture", { toString: () => text, figure }, { toString: 0 });
    Object.defineProperty(picture, Symbol.for("nodejs.util.inspect.custom"), { value: () => text });
    Object.defineProperty(picture, Symbol.for("Jupyter.display"), {
      value: () => ({ "text/plain": text, "image/svg+xml": figure.svg }),
    });
    return picture;
  });
}

/** Runs `draw` with the store of the source, and with the options that are not those of the picture. */
async function withStore<T>(
  what: string,
  source: PictureSource,
  options: PictureOptions,
  draw: (store: HeadStore, rest: object) => Promise<T>,
): Promise<T> {
  const { tokens, queryTokens = tokens, keyTokens = tokens, isCausal = false, scale, ...rest } = options;
  const layer = layerOf(what, source);
  const isWeights = "weights" in layer;
  if (isWeights && (isCausal || scale !== undefined))
    throw new OptionError(
      isCausal ? "isCausal" : "scale",
      `${what}: isCausal and scale are for { query, key }; weights have both in their numbers`,
    );
  const [rows, columns] = isWeights
    ? layer.weights.shape.slice(-2)
    : [layer.query, layer.key].map((t) => t.shape[1]);
  if (rows === 0 || columns === 0)
    throw new ShapeError("weights", `${what}: there is nothing to draw, ${rows} rows of ${columns} keys`);
  checkTokens(what, queryTokens === tokens ? "tokens" : "queryTokens", queryTokens, rows, "rows");
  checkTokens(what, keyTokens === tokens ? "tokens" : "keyTokens", keyTokens, columns, "columns");
  const recipe = { ...(isCausal && { mask: "causal" as const }), ...(scale !== undefined && { scale }) };
  const store = storeFrom({
    name: "attention",
    blocks: [{ queryTokens, keyTokens, recipe, layers: [layer] }],
  });
  try {
    // A note beside the figure could be lost: scores in place of weights would be drawn as if they were shares.
    const wrong = store.report.problems.find(({ code }) => code === "negative" || code === "row-sum");
    if (wrong) throw new OptionError("weights", `${what}: ${wrong.text}`);
    return await draw(store, rest);
  } finally {
    store.dispose();
  }
}

function checkTokens(what: string, name: string, tokens: unknown, count: number, kind: string): void {
  if (tokens === undefined) return;
  const isList = Array.isArray(tokens) && tokens.every((token) => typeof token === "string");
  if (!isList || tokens.length !== count)
    throw new OptionError(
      name,
      `${what}: ${name} must be a list of ${count} texts, one for each of the ${kind}, got ${isList ? `${tokens.length}` : formatValue(tokens)}`,
      { got: tokens, expected: count },
    );
}

const PARTS = ["query", "key", "value", "weights", "output", "lse", "options", "recipe"];

/** The tensors of the source, with an axis of heads. */
function layerOf(
  what: string,
  source: PictureSource,
): { readonly weights: Tensor } | { readonly query: Tensor; readonly key: Tensor } {
  const parts = source as Partial<Record<"weights" | "query" | "key" | "output", Values>> | null | undefined;
  // Not a tensor-like object, which is the weights; the fields are also those of a result and of a model's layer.
  const isParts = parts?.query !== undefined || parts?.weights !== undefined;
  if (isParts && Object.getPrototypeOf(parts) === Object.prototype)
    checkNames(`${what}: the source`, parts, PARTS);
  if (parts?.query !== undefined && parts.key !== undefined)
    return { query: heads(what, "query", parts.query), key: heads(what, "key", parts.key) };
  if (parts?.output !== undefined && parts.weights === undefined)
    throw new OptionError(
      "weights",
      `${what}: this result has no weights; call scaledDotProductAttention with { returnWeights: true }`,
    );
  if (parts?.query !== undefined || parts?.key !== undefined)
    throw new OptionError("source", `${what}: queries need keys, { query, key }`);
  if (isObject(parts) && "layers" in (parts as object))
    throw new OptionError(
      "source",
      `${what}: the attention of a model has many heads; one layer is ${what}(attention.layers[0]), all are storeFromModel(attention), for renderFigure and renderText`,
    );
  return { weights: heads(what, "weights", parts?.weights ?? (source as Values)) };
}

/** [heads, N, columns] of [N, columns], [heads, N, columns] or [1, heads, N, columns]. */
function heads(what: string, name: string, value: Values): Tensor {
  const t = isNested(value)
    ? tensor(value as NestedNumbers)
    : asTensor(`${what}: ${name}`, value as TensorLike);
  const { shape } = t;
  const extra = shape.length - 3;
  if (shape.length < 2 || shape.slice(0, Math.max(0, extra)).some((n) => n !== 1))
    throw new ShapeError(
      name,
      `${what}: ${name} must be [N, columns] or [heads, N, columns], got ${formatTensor(name, t)}; pick(${name}, 0) of heed/nn is the first batch entry`,
      { shape },
    );
  return reshaped(t, extra === -1 ? [1, ...shape] : shape.slice(extra));
}
