/** The answers to the page's questions equal what the functions of heed/models give, and wrong questions are refused with the reason. */
import { expect, test } from "vitest";
import {
  ablate,
  attributeLogits,
  locateShipped,
  measureEffects,
  readModel,
  splitScore,
} from "../../../models/index.ts";
import { blockParts } from "../../../models/inference/block.ts";
import { lensTable } from "../../../models/inference/lens.ts";
import { answerQuestion } from "./questions.ts";

const decoder = await readModel(locateShipped("decoder"));
const [TEXT, OTHER] = ["the president of the united", "the captain of the united"];
const cell = { layer: 1, head: 0, query: 5, key: 1 };
const effects = {
  of: "effects",
  layer: 1,
  change: "zero",
  measure: "prediction",
  cell,
  position: null,
} as const;
const ask = (question: Parameters<typeof answerQuestion>[2]) =>
  answerQuestion(decoder, TEXT, question) as never as ReturnType<typeof measureEffects>;
const parts = ["head", "attention", "mlp"] as const;

test("a prediction without each part of a layer", () => {
  const { predicted, effects: all } = ablate(decoder, TEXT, { layer: 1, parts });
  const answer = ask(effects);
  expect(answer).toMatchObject({ value: predicted[0].probability, token: predicted[0].token });
  expect(answer.effects.map(({ part, head, value, change }) => [part, head, value, change])).toEqual(
    all.map(({ part, head, probability, change }) => [part, head, probability, change]),
  );
});

test("states, texts and weights; of a second text the aligned token", () => {
  expect(ask({ ...effects, measure: "state", change: "mean" })).toEqual(
    measureEffects(decoder, TEXT, { of: "state", position: 5 }, { layer: 1, parts, replace: "mean" }),
  );
  // "ain" is one token more than "ident": token 5 is " of" in both texts, one later in the other.
  expect(ask({ ...effects, measure: "state", other: OTHER })).toEqual(
    measureEffects(
      decoder,
      TEXT,
      { of: "state", position: 5, otherPosition: 6 },
      { layer: 1, parts, other: OTHER },
    ),
  );
  expect(ask({ ...effects, measure: "text", other: OTHER })).toEqual(
    measureEffects(decoder, TEXT, { of: "text" }, { layer: 1, parts, other: OTHER }),
  );
  expect(ask({ ...effects, layer: 0, measure: "weight" })).toEqual(
    measureEffects(decoder, TEXT, { of: "weight", ...cell }, { layer: 0, parts }),
  );
});

test("a link, and patches, of a prediction between the tokens that the two texts predict", () => {
  const link = { query: 5, key: 1, renormalize: true };
  expect(ask({ ...effects, measure: "state", change: "renormalized" })).toEqual(
    measureEffects(decoder, TEXT, { of: "state", position: 5 }, { layer: 1, link }),
  );
  const patch = ask({ ...effects, change: "patch", other: OTHER }) as ReturnType<typeof ask> &
    Record<"token" | "against", string>;
  const predicted = ablate(decoder, TEXT, { layer: 0, head: 0 }).predicted;
  expect(patch.token).toBe(predicted[0].token);
  expect(patch.against).not.toBe(patch.token);
  expect(Number.isFinite(patch.otherValue)).toBe(true);
  expect(patch.effects.length).toBe(decoder.heads + 2);
});

test("the score of a link and what adds to a prediction", () => {
  const place = { layer: 1, head: 0, query: 4, key: 1 };
  expect(ask({ of: "score", ...place })).toEqual(splitScore(decoder, TEXT, { ...place, top: 24 }));
  expect(ask({ of: "logits", position: 3 })).toEqual(attributeLogits(decoder, TEXT, { position: 3 }));
  expect(ask({ of: "lens", from: 1, to: 3 })).toEqual(lensTable(decoder, TEXT, 1, 3));
  expect(ask({ of: "block", layer: 1, position: 3 })).toEqual(blockParts(decoder, TEXT, 1, 3));
});

test("wrong questions", () => {
  const bad = (question: object) => () => ask(question as never);
  expect(bad({ of: "secrets" })).toThrow(
    'a question is of effects, score, logits, lens, block or next, got "secrets"',
  );
  expect(bad({ ...effects, layer: 9 })).toThrow("layer must be 0 to 3, got 9");
  expect(bad({ ...effects, measure: "weight", cell: { ...cell, query: 99 } })).toThrow("query must be 0 to");
  expect(bad({ ...effects, measure: "state", cell: { ...cell, query: 4 }, other: "the" })).toThrow(
    "has no partner in the other text",
  );
  expect(bad({ of: "score", layer: 1, head: 0, query: "1", key: 0 })).toThrow("query must be 0 to");
});
