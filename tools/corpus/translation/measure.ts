/**
 * How well a translator translates sentences with combinations of words that it was not trained on, and which heads of its cross-attention
 * look at the word that is translated.
 *
 *     node tools/corpus/translation/measure.ts MODEL_DIR [COUNT] [--beams N]
 *
 * Prints the share of translations that are equal word for word, among COUNT held-out pairs (1,000) and as many of those for training; and
 * for each head the mean weight on the source words with the meaning of the next German word, beside its share of the source's words.
 */
import { readModel, translate } from "../../../src/models/index.ts";
import { layerWeights } from "../../../src/models/transformer/attend.ts";
import { keysOf, wordsOf } from "./clauses.ts";
import type { Pair } from "./grammar.ts";
import { pairs } from "./task.ts";

const beamsAt = process.argv.indexOf("--beams");
const beams = beamsAt < 0 ? 1 : Number(process.argv[beamsAt + 1]);
const [directory, count = "1000"] = process.argv.slice(2, beamsAt < 0 ? undefined : beamsAt);
if (directory === undefined) {
  console.error("node tools/corpus/translation/measure.ts MODEL_DIR [COUNT] [--beams N]");
  process.exit(2);
}
const model = await readModel(directory);
const { tokenizer } = model;
const textOf = (words: readonly string[]) => wordsOf(words).join(" ");
// Streams below 100 are not trained on.
const lists = {
  "held-out combinations": pairs(Number(count), 50, true),
  "combinations of the training": pairs(Number(count), 51),
};
for (const [name, list] of Object.entries(lists)) {
  let right = 0;
  const kinds = new Map<string, [right: number, all: number]>();
  for (const { english, german } of list) {
    const wanted = [...wordsOf(german)].map((word) => tokenizer.id(word) ?? -1);
    const { ids } = translate(model, textOf(english), { maxTokens: 47, beams });
    const isRight = ids.length === wanted.length && ids.every((id, n) => id === wanted[n]);
    right += Number(isRight);
    const kind = orderOf({ english, german, combinations: [] });
    const [a, b] = kinds.get(kind) ?? [0, 0];
    kinds.set(kind, [a + Number(isRight), b + 1]);
    if (!isRight && process.env.SHOW)
      console.log(`${textOf(english)} | ${tokenizer.decode(ids)} | ${textOf(german)}`);
  }
  const shares = [...kinds].map(([kind, [a, b]]) => `${kind} ${a} of ${b}`).join(", ");
  console.log(`${name}: ${right} of ${list.length} equal word for word (${shares})`);
}

/** Whether words with a common key are in another order in German. */
function orderOf({ english, german }: Pair): string {
  const source = keysOf(english);
  const places = keysOf(german)
    .map((keys) => source.findIndex((other) => keys.some((key) => other.includes(key))))
    .filter((place) => place >= 0);
  return places.some((place, n) => n > 0 && place < places[n - 1]) ? "another order" : "the same order";
}

/** Weight by layer and head on the source words of the next German word (or of the one read), and an even share of it. */
const sums = new Map<string, { next: number; read: number }>();
let words = 0;
let even = 0;
for (const { english, german } of lists["held-out combinations"].slice(0, 200)) {
  const source = keysOf(english);
  const { target } = model.attention(textOf(english), textOf(german));
  const targetKeys = keysOf(german);
  const columnsOf = (keys: readonly string[] | undefined) =>
    source.flatMap((other, n) => (keys?.some((key) => other.includes(key)) ? [n] : []));
  target?.cross.forEach((layer, l) => {
    const weights = layerWeights(layer);
    const [H, N, S] = weights.shape;
    const data = weights.toFloat64();
    for (let h = 0; h < H; h++)
      for (let n = 0; n < N; n++) {
        const next = columnsOf(targetKeys[n]);
        if (next.length === 0 || n === 0) continue;
        if (l === 0 && h === 0) {
          words++;
          even += next.length / S;
        }
        const sum = sums.get(`${l} ${h}`) ?? { next: 0, read: 0 };
        const on = (columns: readonly number[]) =>
          columns.reduce((total, s) => total + data[(h * N + n) * S + s], 0);
        // Row n has read German word n − 1 and predicts word n.
        sum.next += on(next);
        sum.read += on(columnsOf(targetKeys[n - 1]));
        sums.set(`${l} ${h}`, sum);
      }
  });
}
for (const [name, { next, read }] of sums) {
  const [layer, head] = name.split(" ");
  console.log(
    `cross-attention, layer ${layer}, head ${head}: ${(next / words).toFixed(2)} on the words of the next German word, ${(read / words).toFixed(2)} on those of the last one; even ${(even / words).toFixed(2)}`,
  );
}
