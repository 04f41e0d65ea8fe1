/** The translator in models/: small, right on sentences whose order of words changes, with heads that follow the translation. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { layerWeights, locateShipped, readModel, translate } from "heed/models";
import { openStore } from "heed/view";
import { beforeAll, describe, expect, test } from "vitest";

const folder = locateShipped("translator");
let translator: Awaited<ReturnType<typeof readModel>>;
beforeAll(async () => {
  translator = await readModel(folder);
});

test("its folder is at most 2 MB, and the model has less than a million parameters", () => {
  const names = readdirSync(folder);
  expect(names).toContain("words.txt");
  expect(names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)).toBeLessThan(2e6);
  const { parameters, heldOut } = JSON.parse(readFileSync(join(folder, "training.json"), "utf8"));
  expect(parameters).toBeLessThan(1e6);
  expect(heldOut.at(-1)[1]).toBeLessThan(0.05);
});

describe.each([1, 4])("with %d beams", (beams) => {
  test.each([
    ["Today the man sees the dog.", "Heute sieht der Mann den Hund."],
    ["because the dog sleeps", "weil der Hund schläft"],
    ["I have seen the old house.", "Ich habe das alte Haus gesehen."],
    ["The woman opens the door.", "Die Frau macht die Tür auf."],
    ["She wants to read the new book.", "Sie will das neue Buch lesen."],
    ["Do you see the dog?", "Siehst du den Hund?"],
    ["The man doesn't see a dog.", "Der Mann sieht keinen Hund."],
    ["I can't open the window.", "Ich kann das Fenster nicht aufmachen."],
    ["The father gave the child an apple.", "Der Vater hat dem Kind einen Apfel gegeben."],
    ["If the boy sleeps, the mother reads a letter.", "Wenn der Junge schläft, liest die Mutter einen Brief."],
    ["he knows that the girls help the teacher", "er weiß, dass die Mädchen dem Lehrer helfen"],
    ["Yesterday we went to the cinema.", "Gestern sind wir ins Kino gegangen."],
  ])("%s", (english, german) => {
    expect(translate(translator, english, { beams }).text).toBe(german);
  });
}); // biome-ignore format: one sentence a line

test("a word that it does not know is an error that names it, in both languages", () => {
  const unknown = (words: string[]) =>
    expect.objectContaining({ name: "OptionError", code: "unknown-word", fields: { words } });
  expect(() => translate(translator, "the zebra sees a red unicorn")).toThrow(unknown(["zebra", "unicorn"]));
  expect(() => translate(translator, "the zebra")).toThrow(
    /translator does not know "zebra".*heed translate translator --words/,
  );
  expect(() => translator.attention("the zebra")).toThrow(unknown(["zebra"]));
  expect(() => translator.attention("the dog", "das Zebra")).toThrow(unknown(["Zebra"]));
});

test("it reads each word of words.txt, and its examples in the documents", () => {
  const words = readFileSync(join(folder, "words.txt"), "utf8").trim().split("\n");
  expect(words.length).toBe(646);
  for (const word of words) expect(translator.tokenizer.id(word), word).toBeDefined();
  const contractions = translator.tokenizer.ids("can't cannot won't I'm don’t");
  expect(translator.tokenizer.decode(contractions)).toBe("can not can not will not I am do not");
});

/** The head that docs/models.md names. */
const HEAD = { layer: 1, head: 0 };

test("a head of cross-attention looks at the English word whose meaning it writes next", () => {
  const { target, tokens } = translator.attention("today the man has not seen the old dog");
  const weights = layerWeights(target!.cross[HEAD.layer]);
  const [, N, S] = weights.shape;
  const data = weights.toFloat64();
  const columns = Array.from({ length: N }, (_, n) => {
    const row = [...data.subarray((HEAD.head * N + n) * S, (HEAD.head * N + n + 1) * S)];
    return tokens[row.indexOf(Math.max(...row))];
  });
  expect(target!.tokens.slice(1)).toEqual([
    "heute",
    "hat",
    "der",
    "Mann",
    "den",
    "alten",
    "Hund",
    "nicht",
    "gesehen",
  ]);
  const wanted = ["today", "has", "the", "man", "the", "old", "dog", "not", "seen"];
  const right = wanted.filter((word, n) => columns[n] === word);
  expect(right.length).toBeGreaterThanOrEqual(7);
});
test("its capture has German rows and English columns", async () => {
  const file = readFileSync(join(folder, "../captures/translation.safetensors"));
  expect(file.length).toBeLessThan(90_000);
  const store = await openStore(file, { name: "translation" });
  const cross = store.blocks.find(({ kind }) => kind === "cross")!;
  expect(cross.queryTokens).toContain("gesehen");
  expect(cross.keyTokens).toContain("seen");
  expect(store.report.problems).toEqual([]);
  store.dispose();
});
