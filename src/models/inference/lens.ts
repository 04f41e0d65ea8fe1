/**
 * The logit lens (nostalgebraist 2020): what the state of a token would predict after each layer, if the model ended there. Each state goes
 * through the model's own last norm and output head; the last row is the model's prediction. The layers before the last were not
 * trained to be read this way: a token that appears late may have been there in another form.
 */
import { tidy } from "../../api/tidy.ts";
import { checkCount, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { type FloatTensor, slice } from "../../nn/index.ts";
import { checkTextModel, type TextModel, type TextTokens } from "../text-model.ts";
import { Transformer } from "../transformer/transformer.ts";
import { tokenId } from "./effects.ts";
import { checkIndex, runOptions } from "./intervene.ts";
import {
  checkedPosition,
  checkHead,
  mostLikely,
  type Predicted,
  predictedToken,
  spellMasks,
} from "./prediction.ts";
import { finiteLogits, largest, numbersOf, sharesOf } from "./sampling.ts";

/** What a state predicts. */
export interface LensRow {
  /** Number of layers before the state; 0: the embedding. */
  readonly layers: number;
  /** The most likely tokens, the most likely first. */
  readonly tokens: readonly Predicted[];
  /** Probability and rank, from 1, of the token in question. */
  readonly probability: number;
  readonly rank: number;
}

/** What the states of one token predict, the embedding first. */
export interface LogitLens {
  /** The token whose states these are. Decoders predict the token after it, encoders the token in its place. */
  readonly position: number;
  /** The token in question, with the model's probability. */
  readonly token: Predicted;
  readonly rows: readonly LensRow[];
}

/** Options of `logitLens`. */
export interface LogitLensOptions {
  /** Default the last token of a decoder's text, the first mask of an encoder's. */
  readonly position?: number;
  /** The text or id of a token to follow; default the one that the model predicts. */
  readonly token?: string | number;
  /** Number of tokens of each row; default 5. */
  readonly top?: number;
}

/**
 * What the state of a token would predict after each layer, by the model's last norm and output head.
 *
 * @throws UnsupportedError for a model without a language-modeling head, or logits that are not finite; OptionError where there is no such
 *   token or position, or an encoder's text has neither a mask nor a position
 * @example
 * const { rows } = logitLens(decoder, "the president of the united");
 * rows.map(({ tokens }) => tokens[0].token); // one for the embedding and for each layer
 */
export function logitLens(model: TextModel, text: string, options: LogitLensOptions = {}): LogitLens {
  checkCount("logitLens", arguments, 3);
  const what = "logitLens";
  checkTextModel(what, model);
  checkOptionNames(what, options, ["position", "token", "top"]);
  const { top = 5 } = options;
  if (!(Number.isInteger(top) && top > 0)) refuseValue(what, "top", "an integer ≥ 1", top);
  checkHead(what, model, "has no logits");
  const tokens = model.tokenize(spellMasks(model.tokenizer, text));
  const position = checkedPosition(what, model, tokens, options.position);
  const all = [...shareRows(what, model, tokens, position, position + 1)].map(([shares]) => shares);
  const last = all[model.layers];
  const token = options.token === undefined ? largest(last) : tokenId(what, model, options.token);
  return {
    position,
    token: predictedToken(model.tokenizer, last, token),
    rows: all.map((shares, layers) => ({
      layers,
      tokens: mostLikely(model.tokenizer, shares, top),
      probability: shares[token],
      rank: 1 + shares.reduce((count, share) => count + Number(share > shares[token]), 0),
    })),
  };
}

/** The largest number of tokens of a table. */
const TOKENS = 64;

/** What the states of tokens from..to − 1 predict: for the embedding and for each layer the most likely token of each. */
export function lensTable(model: TextModel, text: string, from: number, to: number): Predicted[][] {
  checkHead("lensTable", model, "has no logits");
  const tokens = model.tokenize(spellMasks(model.tokenizer, text));
  checkIndex("lensTable", "from", from, tokens.ids.length);
  return Array.from(
    shareRows("lensTable", model, tokens, from, Math.min(to, from + TOKENS, tokens.ids.length)),
    (rows) => rows.map((shares) => predictedToken(model.tokenizer, shares, largest(shares))),
  );
}

/** For the embedding and for each layer: the probabilities of all tokens by the states of tokens from..to − 1. */
function* shareRows(
  what: string,
  model: TextModel,
  tokens: TextTokens,
  from: number,
  to: number,
): Generator<Float64Array[]> {
  const network = model.model;
  if (!(network instanceof Transformer))
    throw new UnsupportedError("model", `${what}: ${model.name} is no encoder or decoder of this package`);
  const states = tidy(() => {
    const rows: FloatTensor[] = [];
    const keep = (state: FloatTensor) => rows.push(slice(state, 0, from, to) as FloatTensor);
    network.hidden(tokens.ids, runOptions(model, tokens, { onHidden: (_, state) => void keep(state) }));
    return rows;
  });
  for (const state of states) {
    const logits = tidy(() => network.logits(network.finalStates(state))); // [to − from, V]
    const numbers = finiteLogits(what, numbersOf(what, logits, "compute on the CPU"));
    for (const one of [logits, state]) one.dispose();
    const V = numbers.length / (to - from);
    yield Array.from({ length: to - from }, (_, n) => sharesOf(numbers.subarray(n * V, (n + 1) * V)));
  }
}
