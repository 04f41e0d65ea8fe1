// @ts-check
/**
 * The models on this machine in the page of `heed view`: those in Hugging Face's cache and in a folder are listed, one click reads the
 * words by one of them, the bar and the tabs say which model read which text, and a reload keeps it. Needs dist/.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { locateShipped } from "heed/models";
import { endAll, pageAt, view } from "../support/served.mjs";

/** @type {string} */
let folder;
const { HF_HUB_CACHE } = process.env;
test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-models-"));
  // A cache as Hugging Face's library makes it, with one model that is complete and one that is not.
  const cache = join(folder, "cache");
  const commit = "0123456789abcdef0123456789abcdef01234567";
  for (const name of ["someone/tiny", "someone/incomplete"]) {
    const model = join(cache, `models--${name.replace("/", "--")}`);
    mkdirSync(join(model, "refs"), { recursive: true });
    writeFileSync(join(model, "refs", "main"), commit);
    const snapshot = join(model, "snapshots", commit);
    mkdirSync(snapshot, { recursive: true });
    if (name.endsWith("tiny")) cpSync(locateShipped("decoder"), snapshot, { recursive: true });
  }
  process.env.HF_HUB_CACHE = cache;
  // A folder of models: one with the name of the captures' model, but another one.
  cpSync(locateShipped("encoder"), join(folder, "models", "all-MiniLM-L6-v2"), { recursive: true });
});
test.afterAll(() => {
  endAll();
  if (HF_HUB_CACHE === undefined) delete process.env.HF_HUB_CACHE;
  else process.env.HF_HUB_CACHE = HF_HUB_CACHE;
  rmSync(folder, { recursive: true, force: true });
});

test("models are listed; a click reads the same words by another one; bar, tabs and address name it", async ({
  browser,
}) => {
  const { url, end } = await view("--models", join(folder, "models"));
  const { page, reported, close } = await pageAt(browser, url);
  await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });
  const by = page.getByLabel("The model that reads them");
  await expect(by.locator("option")).toHaveText([
    "the small model that comes with heed",
    "decoder",
    "translator",
    "someone/tiny",
    "all-MiniLM-L6-v2",
  ]);
  await page.locator("#words").fill("the old ship");
  await expect(by).toBeVisible();
  await page.keyboard.press("Enter");
  const tabs = page.locator("attention-view .sources button");
  await expect(tabs.last()).toHaveText("the old ship");
  // The list of models does not cover the sentence about the words.
  await expect(by).toBeHidden();
  await expect(page.locator("#seen")).toContainText(
    "Your words, read by the small model that comes with heed",
  );
  const about = page.locator("attention-view .about");
  await expect(about).toContainText("encoder");
  await page.locator("#again").getByRole("button", { name: "someone/tiny" }).click();
  await expect(tabs.last()).toHaveText("the old ship · someone/tiny");
  await expect(about).toContainText("someone/tiny · 4 layers");
  await expect(page.locator("#seen")).toContainText("Your words, read by someone/tiny");
  // Heads of another model: the page opens at a link of its own, not at the cell of the last model.
  const weightOf = () =>
    page.evaluate(() => {
      const { store, state } = /** @type {any} */ (document.querySelector("attention-view"));
      return store.cell(
        { block: 0, layer: state.layer, head: state.head },
        state.query,
        state.key,
        "weights",
      );
    });
  await expect.poll(weightOf).toBeGreaterThan(0.3);
  await expect(page).toHaveURL(/[?&]text\.someone%2Ftiny=the\+old\+ship/);
  await page.reload();
  await expect(tabs).toHaveCount(10);
  await expect(tabs.last()).toHaveText("the old ship · someone/tiny");
  await expect(tabs.nth(8)).toHaveText("the old ship");

  // The list's choice reads the next words.
  await page.locator("#words").fill("the sea");
  await by.selectOption("decoder");
  await page.locator("#own button").click();
  await expect(tabs.last()).toHaveText("the sea · decoder");
  expect(reported).toEqual([]);

  // A model of the captures' name that is another one answers nothing about them.
  await tabs.first().click();
  await page.evaluate(() => {
    const element = /** @type {any} */ (document.querySelector("attention-view"));
    element.state = { view: "head", layer: 0, head: 5, cause: "zero" };
  });
  await expect(page.locator("attention-view .left .causes .warning")).toContainText(
    "has 4 layers of 4 heads, the model of this sentence 6 of 12: it is another one",
  );
  await close();
  await end();
});
