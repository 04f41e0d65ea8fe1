/** The task as tokens: the vocabulary, the tokenizer, pairs for training and pairs that were held out. */
import { Generator } from "../../../src/core/random/generator.ts";
import { wordsOf } from "./clauses.ts";
import { Grammar, type Pair } from "./grammar.ts";

/** Ids of the special tokens, as BART has them. */
const SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"];
const END = "</s>";

/** FNV-1a of a text. */
const hash = (text: string): number =>
  [...text].reduce((sum, char) => Math.imul(sum ^ (char.codePointAt(0) ?? 0), 16777619) >>> 0, 2166136261);

/** Whether two words never occur together in a pair for training: one of twelve combinations of a noun with a verb or an adjective. */
const isHeldOut = ({ combinations }: Pair): boolean => combinations.some((one) => hash(one) % 12 === 0);

/** `count` pairs, for training or held out; `stream` numbers independent lists. */
export function pairs(count: number, stream: number, heldOut = false): Pair[] {
  const grammar = new Grammar(new Generator(1, stream));
  const list: Pair[] = [];
  while (list.length < count) {
    const pair = grammar.next();
    if (isHeldOut(pair) === heldOut) list.push(pair);
  }
  return list;
}

/** Pairs from which the vocabulary is read. */
const sample = () => pairs(150_000, 0);

/** words.txt: the English words, each on a line; with a capital those that always have one. */
export function wordsText(): string {
  const words = new Set(sample().flatMap(({ english }) => wordsOf(english)));
  const small = [...words].filter(
    (word) =>
      /^[a-z]/i.test(word) && (word === "I" || !words.has(word.toLowerCase()) || word === word.toLowerCase()),
  );
  return `${small.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)).join("\n")}\n`;
}

/** The words of both languages, the most frequent first. */
function vocabulary(): string[] {
  const counts = new Map<string, number>();
  for (const { english, german } of sample())
    for (const word of wordsOf([...english, ...german])) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([word]) => word);
}

/** tokenizer.json: whole words, and the contractions of "not" as two words. */
export function tokenizerText(): string {
  const words = [...SPECIAL, ...vocabulary()];
  const replace = (from: string, to: string) => ({ type: "Replace", pattern: { String: from }, content: to });
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const sequence = { Sequence: { id: "A", type_id: 0 } };
  const id = (token: string) => words.indexOf(token);
  return JSON.stringify(
    {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: SPECIAL.map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: {
        type: "Sequence",
        normalizers: [
          replace("’", "'"),
          replace("can't", "can not"),
          replace("cannot", "can not"),
          replace("won't", "will not"),
          replace("n't", " not"),
          replace("I'm", "I am"),
        ],
      },
      pre_tokenizer: { type: "BertPreTokenizer" },
      post_processor: {
        type: "TemplateProcessing",
        single: [sequence, special(END)],
        pair: [sequence, special(END), { Sequence: { id: "B", type_id: 0 } }, special(END)],
        special_tokens: { [END]: { id: END, ids: [id(END)], tokens: [END] } },
      },
      decoder: { type: "WordPiece", prefix: "##", cleanup: true },
      model: {
        type: "WordLevel",
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        unk_token: "<unk>",
      },
    },
    undefined,
    1,
  );
}
