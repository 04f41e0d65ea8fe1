// @ts-check
/**
 * Switching heads in the page of `heed view`: the model runs again in the command's process, the page shows the numbers of
 * `ablateHeads`, the address has the state, and the page shows errors. Needs dist/ (npm run build).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { ablateHeads, locateShipped, readModel } from "heed/models";
import { openStore } from "heed/view";
import { endAll, pageAt, view } from "../support/served.mjs";

/** @typedef {import("@playwright/test").Page} Page */

test.afterAll(endAll);

/** Waits for the first step of the story, and shows the head alone. @param {Page} page */
async function headOf(page) {
  await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });
  await page.evaluate(() => {
    /** @type {any} */ (document.querySelector("attention-view")).state = { view: "head" };
  });
}

const panel = (/** @type {Page} */ page) => page.locator("attention-view .ablation");
/** The values of a table of the panel, row by row. @param {Page} page @param {string} kind */
const values = async (page, kind) => {
  const rows = page.locator(`attention-view .ablation .${kind} tbody tr`);
  await expect(rows.first()).toBeVisible({ timeout: 60_000 });
  return rows.evaluateAll((all) =>
    all.map((row) => [
      row.querySelector("th")?.textContent?.trim(),
      ...[...row.querySelectorAll("data")].map((one) => Number(one.getAttribute("value"))),
    ]),
  );
};

test("a decoder's head is switched off: the change of the next token, in the address, marked in the atlas", async ({
  browser,
}) => {
  const text = "the president of the united";
  const { url, end } = await view("--model", "decoder", "--text", text);
  const { page, reported, close } = await pageAt(browser, url.replace(/#.*/, "#v1/head?l=1&h=2"));
  await panel(page).getByRole("button", { name: "off", exact: true }).click();
  const shown = await values(page, "compared-tokens");
  const model = await readModel(locateShipped("decoder"));
  const off = { layer: 1, head: 2, replace: /** @type {const} */ ("zero"), position: null };
  const run = ablateHeads(model, text, [off]);
  const tokens = run.predicted?.tokens ?? [];
  expect(shown.map(([, ...numbers]) => numbers)).toEqual(tokens.map(({ before, after }) => [before, after]));
  expect(tokens.some(({ before, after }) => before !== after)).toBe(true);
  const moved = await values(page, "moved");
  expect(moved[0][1]).toBe(Math.max(...run.moved));
  await expect(page).toHaveURL(/[?&]off=1\.2(&|$)/);
  await expect(
    page.locator("attention-view .atlas [role=gridcell]").filter({ hasText: "switched off" }),
  ).toHaveCount(1);

  // A second head, replaced by its mean; the table is that of both.
  await page.keyboard.press("]");
  await panel(page).getByRole("button", { name: "mean", exact: true }).click();
  await expect(page).toHaveURL(/[?&]off=1\.2,1\.3m(&|$)/);
  const both = ablateHeads(model, text, [off, { layer: 1, head: 3, replace: "mean", position: null }]);
  await expect
    .poll(async () => (await values(page, "moved"))[0][1], { timeout: 30_000 })
    .toBe(Math.max(...both.moved));

  // The address restores the heads and the predicted position.
  await panel(page)
    .getByRole("button", { name: /^Predict after/ })
    .click();
  const { query } = await page.evaluate(
    () => /** @type {any} */ (document.querySelector("attention-view")).state,
  );
  await expect(page).toHaveURL(new RegExp(`[?&]pr=${query}(&|$)`));
  await page.reload();
  const again = await values(page, "compared-tokens");
  const expected = ablateHeads(model, text, [off, { layer: 1, head: 3, replace: "mean", position: null }], {
    position: query,
  });
  expect(again.map(([, ...numbers]) => numbers)).toEqual(
    (expected.predicted?.tokens ?? []).map(({ before, after }) => [before, after]),
  );

  // The run without the heads opens as another text.
  await panel(page)
    .getByRole("button", { name: /^Open the attention without/ })
    .click();
  await expect(page.locator("attention-view .sources button")).toHaveText([
    "the president … united",
    `${text}, without L1 H2 L1 H3 (mean)`,
  ]);
  await expect(panel(page)).toHaveCount(0);
  await page.locator("attention-view .sources button").first().click();
  await panel(page).getByRole("button", { name: "Restore all" }).click();
  await expect(page.locator("attention-view .compared-tokens")).toHaveCount(0);
  expect(reported).toEqual([]);

  // After the command has ended there is no model: the page says so.
  await end();
  await panel(page).getByRole("button", { name: "off", exact: true }).click();
  await expect(panel(page).getByRole("alert")).toContainText("The program that served this page has ended");
  await close();
});

test("an encoder masks the selected word and predicts it; the key K switches the head", async ({
  browser,
}) => {
  const { url, end } = await view("--text", "the old ship sailed to the sea");
  const { page, reported, close } = await pageAt(browser, url.replace(/#.*/, "#v1/head?l=0&h=1&i=3&j=1"));
  await expect(panel(page)).toBeVisible({ timeout: 60_000 });
  await page.locator("attention-view .pane [role=gridcell][tabindex='0']").first().focus();
  await page.keyboard.press("k");
  await values(page, "moved");
  await expect(page.locator("attention-view .compared-tokens")).toHaveCount(0);
  await panel(page)
    .getByRole("button", { name: /^Mask and predict ‹\s*ship\s*›$/ })
    .click();
  const shown = await values(page, "compared-tokens");
  const model = await readModel(locateShipped("encoder"));
  const heads = [{ layer: 0, head: 1, replace: /** @type {const} */ ("zero"), position: null }];
  const { predicted } = ablateHeads(model, "the old ship sailed to the sea", heads, { position: 3 });
  expect(predicted?.masked).toBe(true);
  expect(shown.map(([, ...numbers]) => numbers)).toEqual(
    (predicted?.tokens ?? []).map(({ before, after }) => [before, after]),
  );
  // At one token only.
  await panel(page)
    .getByRole("button", { name: /^off at/ })
    .click();
  await expect(page).toHaveURL(/[?&]off=0\.1\.3(&|$)/);
  await page.locator("attention-view .pane [role=gridcell][tabindex='0']").first().focus();
  await page.keyboard.press("k");
  await expect(page).not.toHaveURL(/[?&]off=/);
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("a captured sentence has no switch; a text typed into the page has one", async ({ browser }) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  await headOf(page);
  await expect(page.locator("attention-view .atlas canvas")).toBeVisible({ timeout: 60_000 });
  await expect(panel(page)).toHaveCount(0);
  await page.locator("#words").fill("the ship and the sea");
  await page.locator("#own button").click();
  await expect(panel(page)).toBeVisible({ timeout: 60_000 });
  await panel(page).getByRole("button", { name: "off", exact: true }).click();
  await values(page, "moved");
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("own words open at a link between two whole words, whatever head and token were looked at", async ({
  browser,
}) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  await headOf(page);
  await expect(page.locator("attention-view .atlas canvas")).toBeVisible({ timeout: 60_000 });
  await page.evaluate(() => {
    /** @type {any} */ (document.querySelector("attention-view")).state = {
      layer: 0,
      head: 3,
      query: 9,
      key: 0,
    };
  });
  for (const text of ["the girl lost the ball and she was sad", "a dog saw the river near the old house"]) {
    await page.locator("#words").fill(text);
    await page.locator("#own button").click();
    const tab = page.locator("attention-view .sources button[aria-current]");
    await expect(tab).toHaveText(text, { timeout: 60_000 });
    const link = await page.evaluate(async () => {
      const element = /** @type {any} */ (document.querySelector("attention-view"));
      const { layer, head, query, key } = element.state;
      const { queryTokens, keyTokens } = element.store.blocks[0];
      await element.store.load({ block: 0, layer, head });
      const weight = element.store.cell({ block: 0, layer, head }, query, key, "weights");
      return { weight, words: [queryTokens[query], keyTokens[key]] };
    });
    expect(link.weight, text).toBeGreaterThanOrEqual(0.3);
    expect(link.weight, text).toBeLessThanOrEqual(0.95);
    for (const word of link.words) expect(text.split(" "), text).toContain(word);
    await expect(page.locator("#seen")).toContainText(`‹${link.words[0]}› gives`);
  }
  expect(reported).toEqual([]);
  await close();
  await end();
});

/** The text that is shown, and its cell. @param {Page} page */
const cellOf = (page) =>
  page.evaluate(() => {
    const { store, state } = /** @type {any} */ (document.querySelector("attention-view"));
    const { text, layer, head, query, key } = state;
    return { name: store?.report.name, text, layer, head, query, key };
  });

test("own words name the model that read them; a reload and a link in another window show them again", async ({
  browser,
}) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  const [caption, larger] = [page.locator("#seen"), page.locator("#larger")];
  await headOf(page);
  await expect(caption).toContainText("A real model (all-MiniLM-L6-v2) reads a sentence.", {
    timeout: 60_000,
  });
  await expect(larger).toBeHidden();
  const texts = ["a dog saw the river near the old house", "The dog chased the ball because it was bored"];
  for (const text of texts) {
    await page.locator("#words").fill(text);
    await page.locator("#own button").click();
    await expect.poll(async () => (await cellOf(page)).name, { timeout: 60_000 }).toBe(text);
    await expect(caption).toContainText("Your words, read by the small model that comes with heed: ");
  }
  await expect(caption).toContainText(
    "It reads words that it does not know in pieces: ‹chased› is ‹chase› ‹##d›.",
  );
  await larger.locator("summary").click();
  await expect(larger).toContainText(
    "heed pull sentence-transformers/all-MiniLM-L6-v2 downloads the model of the examples; heed view --model sentence-transformers/all-MiniLM-L6-v2 lets it read your words.",
  );
  const shown = await cellOf(page);
  await expect.poll(() => page.url()).toMatch(new RegExp(`[?&]n=9&.*&i=${shown.query}(&|$)`));
  const link = page.url();
  await page.reload();
  await expect.poll(() => cellOf(page), { timeout: 60_000 }).toEqual(shown);
  await expect(caption).toContainText("Your words, read by the small model");
  const other = await pageAt(browser, link);
  await expect.poll(() => cellOf(other.page), { timeout: 60_000 }).toEqual(shown);
  await expect(other.page.locator("attention-view .sources button")).toHaveCount(10);
  await other.close();
  await page.locator("attention-view .sources").getByText("time flies like an arrow").click();
  await expect(caption).toContainText("A real model (all-MiniLM-L6-v2) reads");
  await expect(larger).toBeHidden();
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("the bar names the model; a text is compared with one of its own model, and two models are named", async ({
  browser,
}) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  const about = page.locator("attention-view .about");
  await expect(about).toContainText("all-MiniLM-L6-v2 · 6 layers × 12 heads · 7 tokens", {
    timeout: 60_000,
  });
  await page.locator("#words").fill("the dog sat on the mat because it was old");
  await page.locator("#own button").click();
  await expect(about).toContainText("encoder · 4 layers × 4 heads · 12 tokens", { timeout: 60_000 });
  await page.locator("attention-view").getByRole("button", { name: "Compare", exact: true }).click();
  const second = page.locator("attention-view .comparison").getByLabel("text B");
  const difference = page.locator("attention-view .comparison section").last();
  await expect(second).toHaveValue("8");
  await expect(difference).toContainText("full color at ±");
  await expect(difference).not.toContainText("two models");
  await second.selectOption({ label: "The cat sat on the mat because it was tired" });
  await expect(difference).toContainText("two models: encoder and all-MiniLM-L6-v2");
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("a link to a text that the page does not have is reported, and the first text is shown", async ({
  browser,
}) => {
  const { url, end } = await view();
  const { page, close } = await pageAt(browser, url.replace(/#.*/, "#v1/head?n=9&l=1&i=8&j=3"));
  await expect(page.locator("#notice")).toHaveText("This address names text 10, but there are 8.");
  await expect
    .poll(async () => (await cellOf(page)).name, { timeout: 60_000 })
    .toBe("time flies like an arrow");
  await close();
  await end();
});

test("the page says how many tokens of a long text the model does not read", async ({ browser }) => {
  const { url, end } = await view();
  const { page, close } = await pageAt(browser, url);
  await headOf(page);
  await expect(page.locator("attention-view .atlas canvas")).toBeVisible({ timeout: 60_000 });
  await page.locator("#words").fill("the ship and the sea ".repeat(30));
  await page.locator("#own button").click();
  // 150 words and two special tokens.
  await expect(page.locator("attention-view .notices")).toContainText(
    "encoder reads at most 128 tokens; 24 are left out.",
    { timeout: 60_000 },
  );
  await close();
  await end();
});

/** What the other captures give the same positions, by their weights: the number of texts with words there, and the mean in percent. */
async function positionsElsewhere(
  /** @type {number} */ layer,
  /** @type {number} */ head,
  /** @type {number} */ query,
  /** @type {number} */ key,
) {
  const folder = join(import.meta.dirname, "../../../models/captures");
  const weights = [];
  for (const file of readdirSync(folder).filter((name) =>
    /(?<!time-flies|translation)\.safetensors$/.test(name),
  )) {
    const store = await openStore(readFileSync(join(folder, file)), { name: file });
    const [{ Nk, special }] = store.blocks;
    const all = await store.weights({ block: 0, layer, head });
    if (!special.query[query] && !special.key[key]) weights.push(all[query * Nk + key]);
    store.dispose();
  }
  return {
    texts: weights.length,
    percent: Math.round((100 * weights.reduce((sum, w) => sum + w, 0)) / weights.length),
  };
}

test("a link is shown with what the other tokens give; a stripe is not claimed, and a link with contrast is offered", async ({
  browser,
}) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  const caption = page.locator("#seen");
  await headOf(page);
  await expect(caption).toContainText(
    /Here ‹flies› gives 80\s%\s?of its attention to ‹time›\. The other tokens give ‹time› 4\.3\s% on average; in 7 other texts the same positions get 21\s% on average, and this head has a link above chance in 4 of 7 other texts\.$/,
    { timeout: 60_000 },
  );
  expect(await positionsElsewhere(0, 4, 2, 1)).toEqual({ texts: 7, percent: 21 });
  const ledger = page.locator("attention-view .readout .evidence");
  await expect(ledger).toHaveText(
    /^The other tokens give ‹time› 4\.3\s% on average; in 7 other texts the same positions get 21\s% on average, and this head has a link above chance in 4 of 7 other texts\.$/,
  );
  // True in light and in dark, where more is lighter.
  await expect(caption).toContainText("the stronger the color, the more");
  await expect(caption.locator("button")).toHaveCount(0);
  // In this head every token gives "arrow" as much.
  await page.evaluate(() =>
    /** @type {any} */ (document.querySelector("attention-view")).setCursor({
      layer: 5,
      head: 11,
      query: 2,
      key: 5,
    }),
  );
  await expect(caption).toContainText(
    /‹flies› gives 58\s%\s?of its attention to ‹arrow›\. But every token looks at ‹arrow›: on average the others give it 61\s%; in 7 other texts the same positions get 11\s% on average\./,
  );
  expect(await positionsElsewhere(5, 11, 2, 5)).toEqual({ texts: 7, percent: 11 });
  await expect(ledger).toHaveText(
    /^Every token looks at ‹arrow›: on average the others give it 61\s%; in 7 other texts the same positions get 11\s% on average\.$/,
  );
  const offer = caption.locator("button");
  await expect(offer).toHaveText(
    /^Layer 0, head 4 shows more: ‹flies› gives 80\s% to ‹time›, the others 4\.3\s%$/,
  );
  await offer.click();
  await expect(caption).toContainText(/‹flies› gives 80\s%\s?of its attention to ‹time›\./);
  const state = await page.evaluate(
    () => /** @type {any} */ (document.querySelector("attention-view")).state,
  );
  expect([state.layer, state.head]).toEqual([0, 4]);
  // The button is gone; the picture has the keys.
  await expect
    .poll(() => page.evaluate(() => document.activeElement === document.querySelector("attention-view")))
    .toBe(true);
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("the sentence about the picture is about the picture that is shown", async ({ browser }) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  const caption = page.locator("#seen");
  await headOf(page);
  await expect(caption).toContainText("Each row is a word that looks", { timeout: 60_000 });
  const show = (/** @type {object} */ state) =>
    page.evaluate((patch) => {
      /** @type {any} */ (document.querySelector("attention-view")).state = patch;
    }, state);
  for (const [state, says] of /** @type {const} */ ([
    [{ mode: "lines" }, /Each line goes from a word that looks to a word it looks at/],
    [{ mode: "text" }, /attention passes between it and the word that is underlined or framed/],
    [{ view: "row" }, /how one of its numbers is computed/],
    [{ view: "compare" }, /Two of its heads, or one head of two texts/],
    [{ view: "flow" }, /All of its layers and heads together/],
    [{ view: "model" }, /Each square is one of its heads/],
  ])) {
    await show(state);
    await expect(caption).toContainText(says);
    // Only where the picture has rows and columns is it read by rows and columns.
    if (state.view !== "model") await expect(caption).not.toContainText("Each row");
    // Flow is not about one link of one head.
    if (state.view === "flow") await expect(caption).not.toContainText("Here");
  }
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("of a file that is dropped, the sentence says no more than its numbers do", async ({ browser }) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  const sentence = page.locator("#seen");
  await headOf(page);
  await expect(sentence).toContainText("reads a sentence", { timeout: 60_000 });
  const even = [0.25, 0.25, 0.25, 0.25];
  for (const [name, row, text] of /** @type {const} */ ([
    ["weights.npy", even, /Here ‹w1› gives 25\s%\s?of its attention to ‹w1›\./],
    ["logs.npy", even.map(Math.log), /Here the numbers of ‹w1› are not shares of attention\.$/],
    [
      "seven.npy",
      even.map((weight) => 7 * weight),
      /Here the numbers of ‹w1› are not shares of attention\.$/,
    ],
    ["nan.npy", [0.25, Number.NaN, 0.5, 0.25], /Here the numbers of ‹w1› are not shares of attention\.$/],
  ])) {
    await page.evaluate(
      async ([name, row]) => {
        const view = /** @type {any} */ (document.querySelector("attention-view"));
        const tokens = ["w0", "w1", "w2", "w3"];
        const data = Float32Array.from([0, 1, 2, 3].flatMap(() => row));
        const layers = [{ weights: { data, shape: [1, 4, 4] } }];
        await view.add({ name, data: { name, blocks: [{ tokens, layers }] } });
        view.setCursor({ layer: 0, head: 0, query: 1, key: 1 });
      },
      /** @type {const} */ ([name, row]),
    );
    await expect(sentence).toContainText(`${name}. Each row is a word that looks`);
    await expect(sentence).toHaveText(text);
    await expect(sentence).not.toContainText(/A real model|NaN|−|-\d|\d{3}\s?%/);
    await expect(sentence.locator("button")).toHaveCount(0);
  }
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("an empty sentence is asked for again, and of a long one the page says what was left out", async ({
  browser,
}) => {
  const { url, end } = await view();
  const { page, reported, close } = await pageAt(browser, url);
  await headOf(page);
  await expect(page.locator("attention-view .atlas canvas")).toBeVisible({ timeout: 60_000 });
  await page.locator("#words").fill("  ");
  await page.locator("#own button").click();
  await expect(page.locator("#status")).toHaveText("Type a sentence first.");
  await expect(page.locator("#words")).toBeFocused();
  await page.locator("#words").fill("word ".repeat(199));
  await page.locator("#own button").click();
  await expect(page.locator("attention-view .notices")).toContainText(
    "encoder reads at most 128 tokens; 73 are left out.",
    { timeout: 60_000 },
  );
  await expect(page.locator("#status")).toHaveText("");
  expect(reported).toEqual([]);
  await close();
  await end();
});
