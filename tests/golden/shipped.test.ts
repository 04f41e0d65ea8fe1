/** The models in models/: small, whole, as docs/models.md says, and with heads that do something. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Gpt2 } from "heed/models";
import { fillMask, generate, headScores, inductionScores, locateShipped, readModel } from "heed/models";
import { beforeAll, describe, expect, it } from "vitest";
import { fillCloze, scoreOf } from "../../tools/corpus/cloze.ts";

const fileOf = (which: "encoder" | "decoder", name: string) => join(locateShipped(which), name);
const json = (which: "encoder" | "decoder", name: string) =>
  JSON.parse(readFileSync(fileOf(which, name), "utf8"));
/** The sentences over which docs/models.md states what heads do. */
const texts = [
  "The committee, of which he was a member, replied that it would not consent to the treaty.",
  "The cat sat on the mat because it was tired.",
  "He sat on the bank of the river, and she put money in the bank.",
  "A small tool (with a sharp blade) that is used for cutting wood.",
  '"We shall see," said the old man, "whether the river is wide."',
  "The children play in the garden (behind the house) until it is dark.",
  "She bought bread, butter and cheese at the market.",
  "The president of the united states spoke to the people of the country.",
  "Time flies like an arrow, and fruit flies like a banana.",
  "They [the soldiers] crossed the bridge at night.",
];

/** The sentences of the courses and of the README: people read them before any other. */
const COURSES = [
  "time flies like an arrow",
  "fruit flies like a banana",
  "he sat on the bank of the river",
  "she put money in the bank",
  "The cat sat on the mat because it was tired",
  "The animal didn't cross the street because it was too tired",
];

describe.each(["encoder", "decoder"] as const)("the %s", (which) => {
  it("is a Hugging Face directory of at most 4 MB", () => {
    for (const name of ["config.json", "tokenizer.json", "model.safetensors", "training.json"])
      expect(existsSync(fileOf(which, name)), name).toBe(true);
    expect(statSync(fileOf(which, "model.safetensors")).size).toBeLessThan(4e6);
    expect(json(which, "config.json")).toMatchObject(
      which === "decoder"
        ? { model_type: "gpt2", n_layer: 4, n_head: 4, n_embd: 128 }
        : { model_type: "bert", num_hidden_layers: 4, num_attention_heads: 4, hidden_size: 128 },
    );
  });

  it("predicts what was held out better than the bigram", () => {
    const { heldOut, average, baselines } = json(which, "training.json");
    expect(average?.heldOut ?? heldOut.at(-1)[1]).toBeLessThan(baselines.bigram - 0.4);
  });
});

describe("the encoder", () => {
  let model: Awaited<ReturnType<typeof readModel>>;
  beforeAll(async () => {
    model = await readModel(locateShipped("encoder"));
  });

  it("predicts better than the 5-gram too", () => {
    const { average, baselines } = json("encoder", "training.json");
    expect(average.heldOut).toBeLessThan(baselines["5-gram"] - 0.1);
  });

  it.each(COURSES)("reads “%s” in whole words", (text) => {
    const { tokens } = model.tokenize(text);
    expect(tokens.slice(1, -1)).toEqual(text.toLowerCase().match(/\w+|[^\w\s]/g));
  });

  it("has heads that look one back, one ahead, and from an opening bracket or quote to the closing one", () => {
    const scores = headScores(model, texts);
    const best = (measure: "previous" | "next" | "matchingNext") =>
      Math.max(...scores.map((score) => score[measure]));
    expect(best("previous")).toBeGreaterThan(0.9);
    expect(best("next")).toBeGreaterThan(0.8);
    expect(best("matchingNext")).toBeGreaterThan(8 * scores[0].even.matching);
  });

  it.each([
    ["the [MASK] states of america.", "united"],
    ["the president of the united [MASK].", "states"],
    ["the king of [MASK].", "israel"],
  ])("fills in “%s” with “%s”, and proposes whole words", (text, word) => {
    const [{ candidates }] = fillMask(model, text);
    expect(candidates[0].token).toBe(word);
    for (const { token } of candidates) expect(token).toMatch(/^\w+$/);
  });
});

describe("the decoder", () => {
  let model: Awaited<ReturnType<typeof readModel>>;
  beforeAll(async () => {
    model = await readModel(locateShipped("decoder"));
  });

  it("has a head that looks at the previous token", () => {
    const scores = headScores(model, texts).map(
      ({ previous, even }) => (previous ?? 0) / (even.previous ?? 1),
    );
    expect(Math.max(...scores)).toBeGreaterThan(3);
  });

  it("has induction heads: in a repeated sequence of random tokens they attend to the token that followed the first time", () => {
    const scores = inductionScores(model).map(({ induction }) => induction ?? 0);
    expect(scores.filter((score) => score > 0.4).length).toBeGreaterThanOrEqual(4);
    expect(inductionScores(model)[0].even.induction).toBeLessThan(0.04);
  });

  it("says again what was said", () => {
    const ids = model.tokenizer.ids("seven white birds over the hill, seven white birds");
    const text = model.tokenizer.decode(
      Int32Array.from(generate(model.model as Gpt2, ids, { maxTokens: 6 })),
    );
    expect(text).toMatch(/^ over the hill/);
  });
});

it("the encoder's score on everyday sentences is the one in docs/models.md", async () => {
  const model = await readModel(locateShipped("encoder"));
  const filled = fillCloze((text) => fillMask(model, text, { top: 5 })[0].candidates);
  expect(filled.length).toBe(50);
  expect(filled.every(({ text }) => text.split("[MASK]").length === 2)).toBe(true);
  const { five, first } = scoreOf(filled);
  const chapter = readFileSync(join(import.meta.dirname, "../../docs/models.md"), "utf8").replaceAll(
    "\n",
    " ",
  );
  expect(chapter).toContain(
    `${five} have one of their expected words among the five most likely, ${first} as the first`,
  );
});
