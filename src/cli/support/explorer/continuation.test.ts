/** The page's continuation of a text: the tokens of `generate`, the attention on exactly these ids, and refusals with the reason. */
import { expect, test } from "vitest";
import type { DecoderModel } from "../../../models/index.ts";
import { generate, locateShipped, readModel } from "../../../models/index.ts";
import { openStore } from "../../../store/formats/open.ts";
import { fileModel } from "../input/model-bundle.ts";
import { continuationOf, type NextQuestion } from "./continuation.ts";

const decoder = await readModel(locateShipped("decoder"));
const TEXT = "the president of the united";
const greedy = { of: "next", total: 6, temperature: 0, seed: 0 } as const;
const idsOf = (options: object) => [
  ...generate(decoder.model as DecoderModel, decoder.tokenize(TEXT).ids, { maxTokens: 6, ...options }),
];

test("the tokens are those of generate, greedy and sampled, asked in order, again or from the middle", () => {
  const next = continuationOf(decoder, TEXT);
  const ask = (question: NextQuestion) => {
    const answer = next(question);
    return answer.token === null ? -1 : answer.attention.ids.at(-1);
  };
  for (const options of [{}, { temperature: 1, seed: 7 }, { temperature: 1, seed: 8 }]) {
    const ids = idsOf(options);
    expect(ids.map((_, n) => ask({ ...greedy, ...options, n }))).toEqual(ids);
    expect(ask({ ...greedy, ...options, n: 3 })).toBe(ids[3]);
    expect(ask({ ...greedy, ...options, n: 4 })).toBe(ids[4]);
  }
  expect(idsOf({ temperature: 1, seed: 7 })).not.toEqual(idsOf({ temperature: 1, seed: 8 }));
});

test("an answer has a bundle with a row for each token, and its model where the text alone gives the same tokens", async () => {
  const { answer } = fileModel(decoder, { texts: [TEXT] });
  const { token, file } = (await answer!({ ...greedy, n: 2 })) as {
    token: string;
    file: { source: Uint8Array; model?: object };
  };
  const store = await openStore(file.source);
  const { queryTokens, Nq } = store.blocks[0];
  expect(Nq).toBe(decoder.tokenize(TEXT).ids.length + 3);
  expect(queryTokens.at(-1)).toBe(token);
  const same = decoder.tokenize(store.report.text ?? "").ids.length === Nq;
  expect(file.model !== undefined).toBe(same);
  store.dispose();
});

test("a text that fills the model ends, and wrong questions and models that do not write are refused", async () => {
  const long = continuationOf(decoder, "the ship ".repeat(decoder.maxTokens));
  expect(long({ ...greedy, n: 0 })).toEqual({
    token: null,
    why: `${decoder.name} reads at most ${decoder.maxTokens} tokens`,
  });
  const next = continuationOf(decoder, TEXT);
  const bad = (change: object) => () => next({ ...greedy, n: 0, ...change } as NextQuestion);
  expect(bad({ n: 6 })).toThrow("n must be an integer from 0 to 5, got 6");
  expect(bad({ total: 501 })).toThrow("total must be an integer from 1 to 500, got 501");
  expect(bad({ temperature: -1 })).toThrow("temperature must be");
  expect(bad({ seed: "x" })).toThrow("seed must be");
  const encoder = await readModel(locateShipped("encoder"));
  expect(() => continuationOf(encoder, TEXT)({ ...greedy, n: 0 })).toThrow("only a decoder continues a text");
});
