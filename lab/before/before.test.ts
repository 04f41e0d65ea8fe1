import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { pictureOf } from "../frame/render.ts";
import type { BeforeNumbers } from "./compute.ts";
import { page } from "./page.ts";

test("a phone shows the loss and the state that asks, too", async () => {
  const view = await viewOf("before", { row: 2 });
  const narrow = pictureOf(page as never, { ...view, wide: false });
  for (const name of ["weights", "loss", "states"]) expect(narrow).toContain(`data-name="${name}"`);
  expect(narrow).toContain("the query: the state before letter 3");
});

test("a word that cannot be read is named, and another is read instead", async () => {
  for (const word of ["zzz", "hello1", "", "🙂"]) {
    const view = await viewOf("before", { word });
    expect((view.numbers as BeforeNumbers).word).toBe("chageb");
    expect(textOf(page.caption(view as never))).toContain(`“${word}” is not six letters from a to h`);
  }
});

test("the second task accepts a network that fails, and not a word of one letter", async () => {
  const view = await viewOf("before", { steps: 120, at: 120 });
  const numbers = view.numbers as BeforeNumbers;
  const withWord = (word: string) =>
    ({
      ...view,
      state: { ...view.state, word },
      numbers: { ...numbers, word, losses: Array(120).fill(0), frames: [] },
    }) as never;
  expect(page.tasks[1].done(withWord("aabbcc"))).toBe(true);
  expect(page.tasks[1].done(withWord("aaaaaa"))).toBe(false);
});
