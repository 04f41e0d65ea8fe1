/** Claims beyond the text: what a caption says about other texts is true of them, with texts in which it would be false. */
import { describe, expect, test } from "vitest";
import { storeFrom } from "../layout/from.ts";
import { contrastOf } from "../measures/contrast.ts";
import { headsOverTexts, type MeasuredText } from "../measures/over-texts.ts";
import { evidenceText } from "./evidence.ts";

const N = 12;
/** A text of one head: even attention, except for links [query, key, weight]. */
function textOf(
  name: string,
  links: readonly (readonly [number, number, number])[],
  tokens = N,
): MeasuredText {
  const data = new Float64Array(tokens * tokens).fill(1 / tokens);
  for (const [query, key, weight] of links) {
    data.fill((1 - weight) / (tokens - 1), tokens * query, tokens * (query + 1));
    data[tokens * query + key] = weight;
  }
  const words = Array.from({ length: tokens }, (_, n) => `${name}${n}`);
  return {
    name,
    open: () =>
      storeFrom({ blocks: [{ tokens: words, layers: [{ weights: { data, shape: [1, tokens, tokens] } }] }] }),
  };
}
const REF = { block: 0, layer: 0, head: 0 };
const LINK = [5, 2, 0.9] as const;
const everyRow = (place: (i: number) => number) =>
  Array.from({ length: N }, (_, i) => [i, place(i), 0.9] as const).filter(([, j]) => j >= 0);

/** The caption of the link 5 → 2 of a text, with others. */
async function caption(text: MeasuredText, others: readonly MeasuredText[]): Promise<string> {
  const [query, key] = LINK;
  const store = await text.open();
  const beyond =
    others.length === 0
      ? undefined
      : (await headsOverTexts(others, { layer: 0, head: 0, at: { query, key } }))[0];
  const link = { query, key, ...(await contrastOf(store, REF, query, key)) };
  return evidenceText(store.blocks[0], link, "“key”", beyond).replaceAll("\u202f", " ");
}

describe("a caption with other texts", () => {
  test("says that the link goes with its words where the same positions get little elsewhere", async () => {
    const others = [textOf("b", [[7, 9, 0.9]]), textOf("c", [[3, 8, 0.9]])];
    expect(await caption(textOf("a", [LINK]), others)).toMatch(
      /^the other tokens give “key” 8\.\d+ % on average; in 2 other texts the same positions get 8\.\d+ % on average, and this head has a link above chance in 2 of 2 other texts$/,
    );
  });

  test("says that the positions get as much in every text, where they do", async () => {
    expect(await caption(textOf("a", [LINK]), [textOf("b", [LINK]), textOf("c", [LINK])])).toContain(
      "in 2 other texts the same positions get 90 % on average",
    );
  });

  test("counts the texts in which the head has no link", async () => {
    const others = [textOf("b", []), textOf("c", []), textOf("d", [[3, 8, 0.9]])];
    expect(await caption(textOf("a", [LINK]), others)).toMatch(/link above chance in 1 of 3 other texts$/);
    expect(await caption(textOf("a", [LINK]), [textOf("b", [])])).toMatch(
      /; in 1 other text the same positions get 8\.\d+ %, and this head has a link above chance in 0 of 1 other text$/,
    );
  });

  test("claims no link where every token attends to the key, or to the same place: only the positions are named", async () => {
    const others = [textOf("b", [LINK])];
    const stripe = await caption(
      textOf(
        "a",
        everyRow(() => 2),
      ),
      others,
    );
    expect(stripe).toMatch(/^every token looks at “key”: .*; in 1 other text the same positions get 90 %$/);
    const place = await caption(
      textOf(
        "a",
        everyRow((i) => i - 3),
      ),
      others,
    );
    expect(place).toMatch(
      /^every token looks at the token 3 before it: .*; in 1 other text the same positions get 90 %$/,
    );
  });

  test("says nothing of positions that no other text has, and nothing at all without other texts", async () => {
    const text = textOf("a", [LINK]);
    expect(await caption(text, [textOf("short", [[1, 2, 0.9]], 4)])).not.toContain("positions");
    const alone = await caption(text, []);
    expect(alone).toMatch(/^the other tokens give “key” 8\.\d+ % on average$/);
  });

  test("the mean is that of the texts with words there, special tokens and masked links left out", async () => {
    const texts = [0.9, 0.5, 0.1].map((weight, n) => textOf(`t${n}`, [[5, 2, weight]]));
    const [head] = await headsOverTexts([...texts, textOf("short", [], 3)], {
      layer: 0,
      head: 0,
      at: { query: 5, key: 2 },
    });
    expect(head.at?.mean).toBeCloseTo(0.5, 12);
    expect(head.at?.texts).toBe(3);
    await expect(headsOverTexts(texts, { layer: 1 })).rejects.toThrow(
      /has no head.* in layer 1; its layers are 0/,
    );
    await expect(headsOverTexts(texts, { at: { query: -1, key: 0 } })).rejects.toThrow(
      /at: \{ query, key \}, integers from 0/,
    );
  });
});
