// @ts-check
/** The reader's text continued by its model in the page of `heed view`: the tokens of `generate`, each a row of the picture. Needs dist/. */
import { expect, test } from "@playwright/test";
import { generate, locateShipped, readModel } from "heed/models";
import { endAll, pageAt, view } from "../support/served.mjs";

/** @typedef {import("@playwright/test").Page} Page */

test.afterAll(endAll);

const TEXT = "the president of the united";

/** What is announced from now on: progress of other work may follow it at once. @param {Page} page */
const announcements = (page) =>
  page.evaluateHandle(() => {
    const status = /** @type {Element} */ (
      document.querySelector("attention-view")?.shadowRoot?.querySelector("[role=status].hid")
    );
    /** @type {string[]} */
    const texts = [];
    new MutationObserver(() => texts.push(status.textContent ?? "")).observe(status, {
      characterData: true,
      childList: true,
      subtree: true,
    });
    return texts;
  });

/** How many rows the picture has, and the row of the cursor. @param {Page} page */
const rows = (page) =>
  page.evaluate(() => {
    const { store, state } = /** @type {any} */ (document.querySelector("attention-view"));
    return [store.blocks[0].Nq, state.query];
  });

test("a decoder continues the text: greedy, then with a seed; stopped; each token is a row with the model's name", async ({
  browser,
}) => {
  const { url, end } = await view("--model", "decoder", "--text", TEXT);
  const { page, reported, close } = await pageAt(
    browser,
    url.replace(/#.*/, "#v1/head?b=self&l=1&h=0&i=5&j=1"),
  );
  const model = await readModel(locateShipped("decoder"));
  const { ids } = model.tokenize(TEXT);
  const wanted = (/** @type {object} */ options) =>
    [...generate(/** @type {any} */ (model.model), ids, options)].map((id) =>
      model.tokenizer.display(id).trim(),
    );
  const pane = page.locator("attention-view .continuation");
  const tokens = () => pane.locator(".written .link").allTextContents();
  await pane.getByLabel("tokens").fill("4");
  await pane.getByRole("button", { name: "Continue by decoder" }).click();
  await expect.poll(async () => (await tokens()).length).toBe(4);
  await expect(pane.getByRole("button", { name: "Continue by decoder" })).toBeVisible();
  expect((await tokens()).map((text) => text.trim())).toEqual(wanted({ maxTokens: 4 }));
  expect(await rows(page)).toEqual([ids.length + 4, ids.length + 3]);
  await expect(pane.locator(".written")).toContainText("decoder, most likely tokens");
  // One tab for the continuation, whatever its length.
  expect(
    await page.evaluate(() => /** @type {any} */ (document.querySelector("attention-view")).sources.length),
  ).toBe(2);
  // A token leads to its row.
  await pane.locator(".written .link").first().click();
  expect(await rows(page)).toEqual([ids.length + 4, ids.length]);

  // The first text again, sampled, by keyboard.
  await page.evaluate(() => {
    /** @type {any} */ (document.querySelector("attention-view")).state = { text: 0 };
  });
  await expect.poll(async () => (await rows(page))[0]).toBe(ids.length);
  await pane.getByRole("button", { name: "sampled" }).press("Enter");
  await pane.getByLabel("temperature").fill("1");
  await pane.getByLabel("seed").fill("7");
  const announced = await announcements(page);
  await pane.getByRole("button", { name: "Continue by decoder" }).press("Enter");
  await expect.poll(async () => (await tokens()).length, { timeout: 60_000 }).toBe(4);
  const drawn = wanted({ maxTokens: 4, temperature: 1, seed: 7 });
  await expect.poll(async () => (await tokens()).map((text) => text.trim())).toEqual(drawn);
  await expect(pane.locator(".written")).toContainText("temperature 1, seed 7");
  await expect.poll(() => announced.jsonValue()).toContain("decoder wrote 4 tokens.");

  await pane.getByLabel("tokens").fill("400");
  await pane.getByRole("button", { name: "Continue by decoder" }).click();
  await expect.poll(async () => (await tokens()).length).toBeGreaterThan(1);
  await pane.getByRole("button", { name: "Stop" }).click();
  await expect(pane.getByText("It was stopped.")).toBeVisible();
  await expect(pane.getByRole("button", { name: /^Continue by/ })).toBeFocused();
  expect((await tokens()).length).toBeLessThan(400);
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("a program that has ended is an error in the pane; an encoder's text has no pane", async ({
  browser,
}) => {
  const { url, end } = await view("--model", "decoder", "--text", TEXT);
  const { page, close } = await pageAt(browser, url);
  const pane = page.locator("attention-view .continuation");
  await expect(pane.getByRole("button", { name: "Continue by decoder" })).toBeVisible();
  await end();
  await pane.getByRole("button", { name: "Continue by decoder" }).click();
  await expect(pane.getByRole("alert")).toHaveText(/The program that served this page has ended/);
  await close();
  const encoder = await view("--model", "encoder", "--text", TEXT);
  const other = await pageAt(browser, encoder.url);
  await expect(other.page.locator("attention-view .ablation")).toBeVisible();
  await expect(other.page.locator("attention-view .continuation")).toHaveCount(0);
  await other.close();
  await encoder.end();
});
