/**
 * SentencePiece's `.model` files (Kudo and Richardson 2018, arXiv 1808.06226; google/sentencepiece, sentencepiece_model.proto) as a
 * tokenizer.json: Unigram and BPE. A file does not say which special tokens a model puts around a text, so the family and
 * tokenizer_config.json decide; the families with an order of ids of their own are those of `ORDERS`.
 */
import { FormatError } from "../../../core/errors.ts";
import { ProtoMessage } from "../../../io/protobuf.ts";
import { asBytes, type Refuse, refuser } from "../../../io/refuse.ts";
import { addedTokens, bpeModel, mergesOf, type SpecialToken, templatePart, tokenizerFile } from "./parts.ts";

/** Kinds of pieces. */
const [UNKNOWN, CONTROL, USER_DEFINED, BYTE] = [2, 3, 4, 6];
const MAX_PIECES = 2 ** 22;
const SPACE = "▁";

/** A `.model` file. */
export interface SentencePieceModel {
  readonly kind: "Unigram" | "BPE";
  readonly pieces: readonly { readonly text: string; readonly score: number; readonly kind: number }[];
  readonly unknown: number;
  readonly first: number;
  readonly last: number;
  readonly byteFallback: boolean;
  /** The compiled normalization, or no bytes. */
  readonly charsmap: Uint8Array;
  readonly addPrefix: boolean;
  readonly removeSpaces: boolean;
}

/** Settings that are outside the file. */
export interface SentencePieceSettings {
  /** `model_type` of config.json. */
  readonly modelType?: string;
  /** Fields of tokenizer_config.json. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The ids of pieces, where another file has them: Marian's vocab.json, of two languages. */
  readonly ids?: ReadonlyMap<string, number>;
}

/** Reads a `.model`. Throws a FormatError for other bytes. */
export function readSentencePiece(
  data: Uint8Array | ArrayBuffer,
  what = "SentencePiece model",
): SentencePieceModel {
  const refuse: Refuse = refuser(what);
  const message = new ProtoMessage(asBytes(what, data), refuse);
  const [trainer, normalizer] = [2, 3].map((number) => message.messages(number).at(-1));
  const fields = message.all(1);
  if (fields.length === 0 || fields.length > MAX_PIECES || trainer === undefined)
    return message.refuse("no vocabulary of pieces with its settings: not a model of SentencePiece");
  const pieces = fields.map((field) => {
    const piece = message.message(field);
    return { text: piece.text(1) ?? "", score: piece.float(2) ?? 0, kind: piece.integer(3) ?? 1 };
  });
  const type = trainer.integer(3) ?? 1;
  if (type !== 1 && type !== 2)
    return trainer.refuse(
      `a model of kind ${type === 3 ? "word" : type === 4 ? "char" : type}; heed reads Unigram and BPE`,
    );
  if ((trainer.integer(24) ?? 0) !== 0) return trainer.refuse("treat_whitespace_as_suffix must be false");
  if (normalizer !== undefined && normalizer.integer(5) === 0)
    return normalizer.refuse("escape_whitespaces must be true");
  const id = (number: number, otherwise: number) => {
    const value = trainer.integer(number) ?? otherwise;
    return value < pieces.length ? value : trainer.refuse(`an id of ${value} among ${pieces.length} pieces`);
  };
  const unknown = id(40, 0);
  if (unknown < 0) return trainer.refuse("no piece for unknown text");
  const table = normalizer?.last(2);
  return {
    kind: type === 1 ? "Unigram" : "BPE",
    pieces,
    unknown,
    first: id(41, 1),
    last: id(42, 2),
    byteFallback: trainer.integer(35) === 1,
    charsmap: (normalizer && table && normalizer.range(table)) ?? new Uint8Array(),
    addPrefix: normalizer?.integer(3) !== 0,
    removeSpaces: normalizer?.integer(4) !== 0,
  };
}

type Scored = readonly [string, number];

/** Orders of ids that differ from the file's: fairseq's, of XLM-RoBERTa and CamemBERT, and T5's and DeBERTa's additional tokens at the end. */
const ORDERS: Readonly<
  Record<string, (pieces: readonly Scored[], config: Readonly<Record<string, unknown>>) => readonly Scored[]>
> = {
  "xlm-roberta": (pieces) => [
    ["<s>", 0],
    ["<pad>", 0],
    ["</s>", 0],
    ["<unk>", 0],
    ...pieces.slice(3),
    ["<mask>", 0],
  ],
  camembert: (pieces) => [
    ["<s>NOTUSED", 0], ["<pad>", 0], ["</s>NOTUSED", 0], ["<unk>", 0], ["<unk>NOTUSED", -100], ...pieces.slice(1), ["<mask>", 0],
  ], // biome-ignore format: one list
  "deberta-v2": (pieces) =>
    pieces.some(([text]) => text === "[MASK]") ? pieces : [...pieces, ["[MASK]", 0]],
  t5: (pieces, { extra_ids: count = 100 }) => [
    ...pieces,
    ...Array.from({ length: Number(count) }, (_, i): Scored => [`<extra_id_${Number(count) - 1 - i}>`, 0]),
  ],
};

/** Below the score of every text of known pieces: a piece of the other language is read where this one's have no other way. */
const OTHER_LANGUAGE = -1000;

/** Pieces in the order of their ids. Throws a FormatError for ids with gaps. */
function orderedBy(pieces: readonly Scored[], ids: ReadonlyMap<string, number>): Scored[] {
  const scores = new Map(pieces);
  const lowest = pieces.reduce((low, [, score]) => Math.min(low, score), 0) + OTHER_LANGUAGE;
  const order: Scored[] = [...ids]
    .sort(([, a], [, b]) => a - b)
    .map(([text]) => [text, scores.get(text) ?? lowest]);
  if (!order.every(([text], n) => ids.get(text) === n))
    throw new FormatError("tokenizer", `vocab.json: its ids must be 0 to ${order.length - 1}, each once`);
  if (!ids.has("<unk>") || !ids.has("</s>"))
    throw new FormatError("tokenizer", "vocab.json: there is no <unk> or no </s>");
  return order;
}

/** Model types whose texts end with `</s>` and begin with nothing. */
const ENDS_ONLY = ["t5", "mt5", "umt5", "pegasus", "marian"];

/** The same tokenizer as tokenizer.json. */
export function sentencePieceJson(
  model: SentencePieceModel,
  { modelType = "", config = {}, ids }: SentencePieceSettings = {},
): object {
  const { kind, charsmap, addPrefix, removeSpaces, byteFallback } = model;
  const direct = model.pieces.map(({ text, score }): Scored => [text, score]);
  const pieces = ids
    ? orderedBy(direct, ids)
    : (ORDERS[modelType.replace(/^(?:mt5|umt5)$/, "t5")]?.(direct, config) ?? direct);
  const vocab = new Map(pieces.map(([text], id) => [text, id]));
  const idOf = (text: string) => vocab.get(text) ?? -1;
  const unknown = idOf(model.pieces[model.unknown].text);
  const special: SpecialToken[] = model.pieces.flatMap(({ text, kind }) =>
    kind === UNKNOWN || kind === CONTROL || kind === USER_DEFINED
      ? [{ id: idOf(text), content: text, special: kind !== USER_DEFINED }]
      : [],
  );
  for (const [text, id] of vocab)
    if (ids && /^>>.+<<$/.test(text)) special.push({ id, content: text, special: false });
    else if (/^<(?:pad|mask|extra_id_\d+|(?:un)?k?|\/?s)>(?:NOTUSED)?$/.test(text) || text === "<unk>NOTUSED")
      special.push({ id, content: text, lstrip: text === "<mask>" });
  const isAlbert = modelType === "albert";
  if (isAlbert) special.push({ id: idOf("[MASK]"), content: "[MASK]", lstrip: true });
  const isDeberta = modelType === "deberta-v2";
  if (isDeberta) special.push({ id: idOf("[MASK]"), content: "[MASK]" });
  const lower = config.do_lower_case ?? !isDeberta;
  const replaceSpaces = { type: "Replace", pattern: { Regex: "\\s{2,}|[\\n\\r\\t]" }, content: " " };
  const normalizers: object[] = isDeberta
    ? // As transformers 5, which does not use the normalization in the file.
      [
        ...(lower ? [{ type: "Lowercase" }] : []),
        replaceSpaces,
        { type: "NFC" },
        { type: "Strip", strip_left: false, strip_right: true },
      ]
    : [
        ...(isAlbert
          ? [
              { type: "Replace", pattern: { String: "``" }, content: '"' },
              { type: "Replace", pattern: { String: "''" }, content: '"' },
              ...(config.keep_accents === true ? [] : [{ type: "NFKD" }, { type: "StripAccents" }]),
              ...(lower ? [{ type: "Lowercase" }] : []),
            ]
          : []),
        ...(charsmap.length > 0 ? [{ type: "Precompiled", precompiled_charsmap: base64(charsmap) }] : []),
        ...(removeSpaces
          ? [
              { type: "Strip", strip_left: true, strip_right: true },
              { type: "Replace", pattern: { Regex: " {2,}" }, content: " " },
            ]
          : []),
      ];
  const scheme = addPrefix ? (kind === "BPE" && config.legacy === false ? "first" : "always") : "never";
  const space = { type: "Metaspace", replacement: SPACE, prepend_scheme: scheme };
  // Metaspace adds no mark before a text that begins with a space; SentencePiece does.
  const marks = kind === "BPE" && scheme === "always";
  if (marks)
    normalizers.push(
      { type: "Prepend", prepend: SPACE },
      { type: "Replace", pattern: { String: " " }, content: SPACE },
    );
  const decoders = [
    { type: "Replace", pattern: { String: SPACE }, content: " " },
    { type: "ByteFallback" },
    { type: "Fuse" },
    ...(addPrefix ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
  ];
  return tokenizerFile({
    added_tokens: addedTokens(special.filter(({ id }) => id >= 0)),
    normalizer: normalizers.length === 0 ? null : { type: "Sequence", normalizers },
    // Unigram never joins two words; BPE may have pieces of several spaces.
    pre_tokenizer: marks
      ? null
      : config.split_by_punct === true && isDeberta
        ? { type: "Sequence", pretokenizers: [{ type: "Punctuation", behavior: "Isolated" }, space] }
        : { ...space, split: kind === "Unigram" },
    post_processor: templateOf(model, modelType, config, idOf),
    decoder: kind === "BPE" || byteFallback ? { type: "Sequence", decoders } : space,
    model:
      kind === "Unigram"
        ? {
            type: "Unigram",
            unk_id: unknown,
            vocab: pieces.map((piece) => [...piece]),
            byte_fallback: byteFallback,
          }
        : bpeModel(
            vocab,
            mergesOf(
              pieces.map(([text, score], id) => [model.pieces[id]?.kind === BYTE ? "" : text, score]),
              vocab,
            ),
            { unk_token: model.pieces[model.unknown].text, fuse_unk: true, byte_fallback: byteFallback },
          ),
  });
}

function templateOf(
  { pieces, first, last }: SentencePieceModel,
  modelType: string,
  config: Readonly<Record<string, unknown>>,
  idOf: (text: string) => number,
): object | null {
  if (modelType === "albert" || modelType === "deberta-v2")
    return templatePart(["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B:1", "[SEP]:1"], idOf);
  if (modelType === "xlm-roberta" || modelType === "camembert")
    return templatePart(["<s>", "A", "</s>"], ["<s>", "A", "</s>", "</s>", "B", "</s>"], idOf);
  const endsOnly = ENDS_ONLY.includes(modelType);
  const flag = (name: string, otherwise: boolean) =>
    typeof config[name] === "boolean" ? config[name] : otherwise;
  const start = flag("add_bos_token", !endsOnly) && first >= 0 ? [pieces[first].text] : [];
  const end = flag("add_eos_token", endsOnly) && last >= 0 ? [pieces[last].text] : [];
  if (start.length + end.length === 0) return null;
  const typed = (names: readonly string[]) => names.map((name) => (endsOnly ? name : `${name}:1`));
  return templatePart(
    [...start, "A", ...end],
    [...start, "A", ...end, ...typed([...start, "B", ...end])],
    idOf,
  );
}

/** Bytes in base64, in parts that fit a call's arguments. */
function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
