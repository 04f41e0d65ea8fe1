/** `heed ablate MODEL TEXT`: what changes without each head, layer of attention or feed-forward network, or without a link. */
import { ablate } from "../../models/inference/ablate.ts";
import { measureEffects, type Quantity } from "../../models/inference/effects.ts";
import type { EffectPart, PartsOptions } from "../../models/inference/parts.ts";
import { spellMasks } from "../../models/inference/prediction.ts";
import { type Component, componentName } from "../../models/inference/residual.ts";
import type { TextModel, TextTokens } from "../../models/text-model.ts";
import { decimalPercent } from "../../store/text/number.ts";
import { MODEL_HELP, modelAndText, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandTexts } from "../support/input/stdin.ts";
import { headLinkPlace, linkPlace, tokenPlace } from "../support/input/token-place.ts";
import { type Command, type Io, UsageError, type Values } from "../support/line/command.ts";
import { integer, oneOf, optional } from "../support/line/values.ts";
import { printJson, printTable } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

export const command: Command = {
  name: "ablate",
  summary: "switch off parts of a model and compare its prediction",
  usage: "heed ablate MODEL TEXT [OPTIONS]",
  help: {
    part: "LIST  what is switched off in turn: head (default), attention (a layer's heads), mlp",
    link: "QUERY:KEY  switch off this link instead, in each head: two words, or numbers from 0",
    renormalize: "with --link, the row's other weights grow so that they sum to 1",
    layer: "N  only this layer, from 0",
    head: "N  only this head of each layer, from 0",
    replace: "KIND  zero (default) or mean (over the text), which replaces the output of a part",
    position:
      "N  the token, from 0, that an encoder masks and predicts, or whose next token a decoder predicts (default: the first [MASK], or the last token)",
    word: "WORD  measure the last state of this token instead: its cosine with that of the unchanged run",
    sentence: "measure the mean of all last states instead (default where the model predicts no tokens)",
    weight: "LAYER.HEAD:QUERY:KEY  measure the weight of this link instead, such as 0.4:flies:time",
    other: "TEXT  with --word or --sentence, the cosine with this text, without the same part",
    top: "N  parts to print, the largest change first (default 10)",
    ...ENGINE_HELP,
    json: "print every part as JSON",
  },
  notes: `${MODEL_HELP}
The text may be - for standard input.
A decoder predicts the token after the text, an encoder the first [MASK] in it, or the token that --position masks. The model runs once per part.`,
  examples: [
    'heed ablate decoder "the president of the united"',
    'heed ablate encoder "the president of the united [MASK]" --replace mean --part head,mlp --top 5',
    'heed ablate decoder "the president of the united" --link ited:ident --renormalize',
    'heed ablate encoder "time flies like an arrow" --word flies --other "fruit flies like a banana"',
  ],
  async run(values, positionals, io) {
    const [name, textArgument] = modelAndText(
      positionals,
      'one text: heed ablate decoder "the president of the united"',
    );
    const byWord = values.word !== undefined;
    const measures = ["word", "sentence", "weight"].filter((name) => values[name] !== undefined);
    if (measures.length > 1) throw new UsageError(`give --${measures[0]} or --${measures[1]}, not both`);
    const byState = measures.length > 0 || values.other !== undefined;
    if (values.other !== undefined && !byWord && !values.sentence)
      throw new UsageError("--other belongs to --word or --sentence");
    if (byState && values.position !== undefined)
      throw new UsageError("--position belongs to a prediction, not to --word, --sentence or --weight");
    if (values.link !== undefined && values.part !== undefined)
      throw new UsageError("give --part or --link, not both");
    if (values.link === undefined && values.renormalize)
      throw new UsageError("--renormalize belongs to --link");
    const other = values.other as string | undefined;
    const [text] = await expandTexts([textArgument], io);
    const count = (option: string, least: number) => optional(values, option, integer, least);
    const top = count("top", 1) ?? 10;
    const replace = oneOf("replace", values.replace ?? "zero", ["zero", "mean"] as const);
    const parts = partsOf(values.part);
    const place = { layer: count("layer", 0), head: count("head", 0) };
    const position = count("position", 0);
    const model = await pickTextModel(name, io);
    const read = model.tokenize(spellMasks(model.tokenizer, text));
    warnOfCuts(model, read, io);
    const link =
      values.link === undefined
        ? undefined
        : { ...linkPlace("link", values.link, read.tokens), renormalize: values.renormalize === true };
    const options = { ...place, replace, ...(parts && { parts }), ...(link && { link }) };
    const request = { model, text, read, top, json: values.json === true };
    return byState || !model.model.hasHead
      ? stateEffects({ ...request, other, values }, options, io)
      : predictionEffects(request, { ...options, position }, io);
  },
};

/** What was requested, besides the parts. */
interface Request {
  readonly model: TextModel;
  readonly text: string;
  readonly read: TextTokens;
  readonly top: number;
  readonly json: boolean;
}

/** Options of both measures. */
type Parts = PartsOptions & { readonly replace: "zero" | "mean" };

function partsOf(value: unknown): PartsOptions["parts"] {
  if (value === undefined) return undefined;
  return String(value)
    .split(",")
    .map((one) => oneOf("part", one.trim(), ["head", "attention", "mlp"] as const));
}

/** `L2 H8`, `MLP 2`, `attention 2`, `link in L2 H8`. */
function partName({
  part,
  layer,
  head,
}: {
  readonly part: EffectPart;
  layer: number;
  head?: number;
}): string {
  if (part === "attention") return `attention ${layer}`;
  if (part === "link") return `link in L${layer} H${head}`;
  return componentName({ kind: part as Component["kind"], layer, head });
}

function predictionEffects(
  { model, text, read, top, json }: Request,
  options: Parts & { readonly position?: number },
  io: Io,
): number {
  const { predicted, effects, position } = ablate(model, text, options);
  if (json) {
    const about = { kind: "prediction", command: io.commandLine, model: model.name };
    return printJson(io, { ...about, text, position, predicted, effects });
  }
  const named = ({ token }: { readonly token: string }) => JSON.stringify(token);
  const [first] = predicted;
  const at = JSON.stringify(read.tokens[position]);
  const where =
    model.architecture === "decoder" ? `after ${at}` : `in place of ${at} (token ${position}, from 0)`;
  const rows = effects
    .slice(0, top)
    .map((it) => [
      partName(it),
      decimalPercent(it.probability),
      `${it.change >= 0 ? "+" : "−"}${(100 * Math.abs(it.change)).toFixed(1)}`,
      `${named(it.top)} ${decimalPercent(it.top.probability)}`,
    ]);
  const one = options.link ? "the link in one head" : `one ${(options.parts ?? ["head"]).join(" or ")}`;
  const lines = [
    `predicted ${where}: ${predicted.map((it) => `${named(it)} ${decimalPercent(it.probability)}`).join(", ")}`,
    `Without ${one}: the probability of ${named(first)}, its change in percentage points, and the token that is then the most likely.`,
  ];
  return printTable(
    lines,
    [["without", named(first), "change", "most likely then"], ...rows],
    effects.length - top,
    io,
  );
}

function stateEffects(
  {
    model,
    text,
    read,
    top,
    json,
    other,
    values,
  }: Request & { readonly other?: string; readonly values: Values },
  options: Parts,
  io: Io,
): number {
  const partner = other === undefined ? undefined : model.tokenize(spellMasks(model.tokenizer, other));
  if (partner) warnOfCuts(model, partner, io);
  const quantity: Quantity =
    values.weight !== undefined
      ? { of: "weight", ...headLinkPlace("weight", values.weight, read.tokens) }
      : values.word === undefined
        ? { of: "text" }
        : {
            of: "state",
            position: tokenPlace("word", values.word, read.tokens),
            ...(partner && { otherPosition: tokenPlace("word", values.word, partner.tokens) }),
          };
  const parts = options.link ? undefined : (options.parts ?? (["head"] as const));
  const { value, effects } = measureEffects(model, text, quantity, { ...options, parts, other });
  if (json) {
    const about = { kind: "effects", command: io.commandLine, model: model.name };
    return printJson(io, { ...about, text, other, quantity, value, effects });
  }
  const number = (x: number) => x.toFixed(4).replace("-", "−");
  const signed = (x: number) => `${x >= 0 ? "+" : ""}${number(x)}`;
  const what =
    values.word === undefined ? "the mean of the last states" : `the last state of "${values.word}"`;
  const isWeight = values.weight !== undefined;
  const against = other === undefined ? "the unchanged run" : "the other text";
  const rows = effects.slice(0, top).map((it) => [partName(it), number(it.value), signed(it.change)]);
  const lines = [
    ...(model.model.hasHead ? [] : [`${model.name} has no head that predicts tokens.`]),
    isWeight
      ? `Weight of the link ${values.weight}: ${number(value)}; without one part:`
      : `Cosine of ${what} with that of ${against}: ${number(value)}; without one part:`,
  ];
  return printTable(
    lines,
    [["without", isWeight ? "weight" : "cosine", "change"], ...rows],
    effects.length - top,
    io,
  );
}
