// @ts-check
/** The sentences of the page, in the words of the courses: what each number, control and caption says it is. */
import { expect } from "@playwright/test";
import { test } from "../support/fixtures.ts";
import { settled, textOf } from "../support/site.mjs";

const TOKENS = ["[CLS]", "the", "cat", "sat", "on", "a", "mat", "[SEP]"];

/** A part of the page after a change of the state, and what it says. @type {readonly (readonly [state: object, selector: string, says: RegExp])[]} */
const SENTENCES = [
  [{ query: 6, key: 2 }, ".side h2", /^Where this number comes from$/],
  [{}, ".side", /‹mat› gives \d+(\.\d)?\s%\s*of its attention to ‹cat›/],
  [{}, ".side", /q·k .*÷ √d_k .*− largest .*exp .*sum over 8 keys .*exp ÷ sum .*× ‖v‖/],
  [{}, ".side", /the \d+ products q.·k. .*3 of the \d+ products make up \d+\s%\s*of the total size/],
  [{}, ".side", /This row: ‹mat› spread as if over \d\.\d+ of 8 tokens/],
  [{}, ".toolbar", /leave out\s*nothing\s*\[CLS\], \[SEP\]\s*the first token\s*selected tokens/],
  [{}, ".toolbar", /full color at\s*1\s*this head's largest\s*each row's largest/],
  [{}, ".toolbar", /when zoomed out show\s*the largest value\s*the mean/],
  [{}, ".toolbar", /several tokens\s*average\s*sum\s*largest/],
  [{}, ".foot", /^Each row is a query, each column a key\./],
  [{ mode: "lines" }, ".main", /\d+ of 64 links drawn; together \d+\s%\s*of all attention\./],
  [{ mode: "text" }, ".main", /Color: how much of the attention of ‹mat› each token gets\. Click to pin\./],
  [{ mode: "matrix", hide: "special" }, ".toolbar", /leave the gap\s*rescale to 100 %/],
  [{}, ".foot", /2 tokens left out \(rows no longer sum to 1\)/],
  [{ renormalize: true }, ".foot", /rescaled without 2 tokens/],
  [{ renormalize: false, hide: "none", domain: "head" }, ".foot", /full color at this head's largest/],
];

test("the page says what is shown in the words of the courses", async ({ visit }) => {
  await visit({ heads: { tokens: TOKENS, seed: 50 } }, async (page) => {
    for (const [state, selector, says] of SENTENCES) {
      await page.evaluate((patch) => {
        /** @type {any} */ (globalThis).view.state = patch;
      }, state);
      await settled(page);
      await expect.poll(() => textOf(page, selector), `${selector}: ${says}`).toMatch(says);
    }
    const scale = page
      .locator("attention-view .toolbar")
      .getByRole("button", { name: "√", exact: true, includeHidden: true });
    await expect(scale).toHaveAttribute("title", /small weights are visible/);
    // States of a model without an output matrix: what is missing, and no cells that look like answers.
    await page.evaluate(async (tokens) => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
      const unused = () => new Promise(() => {});
      const model = { name: "a model", predicts: "none", text: "a cat", ablate: unused, ask: unused };
      view.sources = [{ name: "a cat", data: makeInput({ tokens }), model }];
      await loaded;
      view.state = { view: "states" };
    }, TOKENS);
    await expect
      .poll(() => textOf(page, ".main"))
      .toMatch(/No predictions: a model has no output matrix.*ForMaskedLM.*config\.json/);
    const cells = page.locator("attention-view table.lens tbody button");
    expect(new Set(await cells.allTextContents())).toEqual(new Set([""]));
  });
});
