/** Runs an exposed ONNX model in onnxruntime, and computes its attention again from the operands that it gives. */
import { checkArgument, checkCount, FormatError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { asTensor, Tensor, type TensorLike } from "../../core/tensor.ts";
import { type AttentionOptions, scaledDotProductAttention, slidingWindow, softcap } from "../../index.ts";
import { type FloatTensor, reshape, transpose } from "../../nn/index.ts";
import type { AttentionRecipe, LayerAttention } from "../transformer/attend.ts";
import { widen } from "../transformer/parameters.ts";
import { EXPOSED, type ExposedLayer, RECIPE } from "./expose.ts";
import type { OnnxLayout } from "./find.ts";

const WHAT = "attentionOf";

/** The part of an `InferenceSession` of onnxruntime-node or onnxruntime-web that is used. */
export interface OnnxSession {
  readonly inputNames?: readonly string[];
  readonly outputNames: readonly string[];
  /** Computes the outputs of these names. */
  run(feeds: never, fetches: readonly string[]): Promise<Readonly<Record<string, unknown>>>;
}

/** A tensor of onnxruntime. */
interface OnnxTensor {
  readonly data: unknown;
  readonly dims: readonly number[];
  readonly type: string;
}

/** The part of a pipeline of transformers.js (`@huggingface/transformers`) that is used. */
export interface OnnxPipeline {
  /** The inputs of the model for a text. */
  tokenizer(text: string): unknown;
  readonly model: { readonly sessions: Readonly<Record<string, OnnxSession>> };
}

/**
 * The attention of a model that `heed onnx expose` (`exposeAttention`) wrote, on one set of inputs, or on a text with a pipeline of
 * transformers.js: for each layer queries, keys and values [B, H, N, d], the log-sum-exp, and the options of the call;
 * `layerWeights` gives its weights. The model runs once. Additive masks are those of the graph, number by number; rows without a
 * key have no weights.
 *
 * @param from   a session of onnxruntime-node or onnxruntime-web, or a pipeline
 * @param inputs the tensors that the session takes, or a text
 * @throws OptionError for a model that is not exposed; UnsupportedError for a mask of a form that heed does not have
 * @example
 * const session = await ort.InferenceSession.create("exposed.onnx");
 * const layers = await attentionOf(session, { input_ids, attention_mask });
 * const weights = layerWeights(layers[0]); // [B, H, N, N]
 */
export async function attentionOf(
  from: OnnxSession | OnnxPipeline,
  inputs: Readonly<Record<string, unknown>> | string,
): Promise<LayerAttention[]> {
  checkCount("attentionOf", arguments, 2);
  checkArgument(
    typeof from === "function" || (typeof from === "object" && from !== null),
    WHAT,
    "a session of onnxruntime or a pipeline of transformers.js",
    from,
  );
  if (typeof inputs === "string" || "tokenizer" in from) {
    const { session, feeds } = await pipelineFeeds(from as OnnxPipeline, inputs);
    return sessionAttention(session, feeds);
  }
  return sessionAttention(from as OnnxSession, inputs);
}

/** The session of a pipeline, and a text as its inputs. */
async function pipelineFeeds(
  pipeline: OnnxPipeline,
  text: unknown,
): Promise<{ session: OnnxSession; feeds: Record<string, unknown> }> {
  const { tokenizer, model } = (pipeline ?? {}) as Partial<OnnxPipeline>;
  const sessions = model?.sessions ?? {};
  const session = sessions.model ?? Object.values(sessions)[0];
  checkArgument(
    typeof tokenizer === "function" && session !== undefined,
    WHAT,
    "a pipeline of transformers.js, for a text",
    pipeline,
  );
  checkArgument(typeof text === "string", WHAT, "a text, for a pipeline", text);
  // A tokenizer of transformers.js is a function with a class of its own: it may not lose its object.
  const tokens = (await pipeline.tokenizer(text as string)) as Record<
    string,
    { readonly ort_tensor?: unknown }
  >;
  const wanted = session.inputNames ?? Object.keys(tokens);
  const missing = wanted.filter((name) => tokens[name] === undefined);
  if (missing.length > 0)
    throw new OptionError(
      "onnx-inputs",
      `${WHAT}: the model takes ${missing.join(", ")}, which its tokenizer does not give; call attentionOf(session, inputs) with all inputs`,
      { missing },
    );
  return {
    session,
    feeds: Object.fromEntries(wanted.map((name) => [name, tokens[name].ort_tensor ?? tokens[name]])),
  };
}

async function sessionAttention(
  session: OnnxSession,
  feeds: Readonly<Record<string, unknown>>,
): Promise<LayerAttention[]> {
  checkArgument(
    typeof (session as Partial<OnnxSession> | undefined)?.run === "function" &&
      Array.isArray(session.outputNames),
    WHAT,
    "an InferenceSession of onnxruntime",
    session,
  );
  const names = session.outputNames.filter((name) => name.startsWith(EXPOSED));
  if (!names.includes(RECIPE))
    throw new OptionError(
      "onnx-session",
      `${WHAT}: the model of this session does not give its attention; "heed onnx expose in.onnx -o out.onnx" writes one that does`,
    );
  const results = await session.run(feeds as never, names);
  const layers = recipeOf(results[RECIPE] as OnnxTensor);
  const tensor = (name: string): OnnxTensor => {
    const result = results[name] as OnnxTensor | undefined;
    if (result === undefined)
      throw new FormatError("onnx-recipe", `${WHAT}: the session gave no ${name}`, { name });
    return result;
  };
  return layers.map((layer) => layerOf(layer, tensor));
}

function recipeOf({ data }: OnnxTensor): ExposedLayer[] {
  const [text] = data as readonly string[];
  const layers: unknown = JSON.parse(text);
  if (!Array.isArray(layers))
    throw new FormatError("onnx-recipe", `attentionOf: ${RECIPE} must be a list of layers`);
  return layers as ExposedLayer[];
}

const tensorOf = ({ data, dims, type }: OnnxTensor, what: string): Tensor =>
  asTensor(`attentionOf: ${what}`, {
    data,
    shape: dims,
    dtype: type === "bool" ? "bool" : type,
  } as TensorLike);

/** An operand as [..., H, N, d]. */
function headsOf(
  stored: OnnxTensor,
  layout: OnnxLayout,
  heads: number | undefined,
  what: string,
): FloatTensor {
  const plain = tensorOf(stored, what);
  const x =
    plain.dtype === "float64" || plain.dtype === "float32" ? (plain as FloatTensor) : widen(plain, "float32");
  if (layout === "bhdn") return transpose(x, -2, -1);
  if (layout === "bhnd" || heads === undefined) return x;
  const [B, N, C] = x.shape;
  return transpose(reshape(x, [B, N, heads, C / heads]), 1, 2);
}

function layerOf(layer: ExposedLayer, tensor: (name: string) => OnnxTensor): LayerAttention {
  const query = headsOf(tensor(layer.query.name), layer.query.layout, layer.heads, "query");
  const key = headsOf(tensor(layer.key.name), layer.key.layout, layer.keyHeads, "key");
  const value = headsOf(tensor(layer.value.name), layer.value.layout, layer.keyHeads, "value");
  const [Nq, d] = query.shape.slice(-2);
  const Nk = key.shape[key.shape.length - 2];
  let scale = layer.scale ?? 1 / Math.sqrt(d);
  let added: { readonly mask: Tensor; factor: number }[] = [];
  const hidden: Tensor[] = [];
  for (const step of layer.steps) {
    if (step.kind === "factor" || step.kind === "multiply" || step.kind === "divide") {
      const factor =
        step.kind === "factor" ? step.value : numberOf(tensor(step.name), step.kind === "divide");
      scale *= factor;
      added = added.map(({ mask, factor: before }) => ({ mask, factor: before * factor }));
      continue;
    }
    const mask = tensor(step.name);
    if (step.kind === "padding") hidden.push(paddingMask(mask));
    else if (mask.type === "bool")
      hidden.push(step.kind === "drop" ? inverted(mask) : tensorOf(mask, "mask"));
    else added.push({ mask: tensorOf(mask, "mask"), factor: 1 });
  }
  const masks = [...hidden, ...added.flatMap(({ mask, factor }) => scaledMask(mask, factor) ?? [])];
  const { causal, window, softcap: cap } = layer;
  const queryOffset = causal === "last" ? Nk - Nq : 0;
  const structural = window === undefined ? [] : [slidingWindow(window - 1, 0)];
  const attnMask = [...structural, ...masks];
  const options: AttentionOptions = {
    scale,
    ...(causal && { isCausal: true, queryOffset }),
    ...(attnMask.length > 0 && { attnMask }),
    ...(cap !== undefined && { scoreMod: softcap(cap) }),
  };
  const recipe: AttentionRecipe = {
    mask:
      causal === undefined ? "none" : window === undefined ? "causal" : { window: window - 1, causal: true },
    scale,
    ...(cap !== undefined && { softcap: cap }),
  };
  const { output, lse } = scaledDotProductAttention(query, key, value, options);
  return { query, key, value, output: output as FloatTensor, lse: lse as FloatTensor, options, recipe };
}

function numberOf(stored: OnnxTensor, divides: boolean): number {
  const numbers = tensorOf(stored, "factor").toFloat64();
  if (numbers.length !== 1)
    throw new UnsupportedError(
      "onnx-factor",
      `attentionOf: the scores are multiplied by a tensor [${stored.dims.join(", ")}]; heed has one factor for a layer`,
    );
  return divides ? 1 / numbers[0] : numbers[0];
}

/** Keys that may be read, [B, Nk] (1) or [B] (lengths are refused), as [B, 1, 1, Nk]. */
function paddingMask(stored: OnnxTensor): Tensor {
  if (stored.dims.length !== 2)
    throw new UnsupportedError(
      "onnx-mask",
      `attentionOf: a mask of keys [${stored.dims.join(", ")}]; heed has [B, Nk]`,
    );
  const [B, Nk] = stored.dims;
  const flags = Uint8Array.from(tensorOf(stored, "mask").toFloat64(), (x) => (x === 0 ? 0 : 1));
  return new Tensor(flags, [B, 1, 1, Nk], "bool");
}

const inverted = (stored: OnnxTensor): Tensor =>
  new Tensor(
    Uint8Array.from(tensorOf(stored, "mask").toFloat64(), (x) => 1 - x),
    stored.dims,
    "bool",
  );

/** A mask that is added, times a factor; undefined where it is 0 everywhere. */
function scaledMask(mask: Tensor, factor: number): Tensor | undefined {
  const numbers = mask.toFloat64();
  if (numbers.every((x) => x === 0)) return undefined;
  // The product of −∞ with a factor above 0 is −∞.
  return new Tensor(
    Float32Array.from(numbers, (x) => x * factor),
    mask.shape,
    "float32",
  );
}
