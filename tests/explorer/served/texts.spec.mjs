// @ts-check
/** A list of texts that is dropped on the page of `heed view`: every head over its lines, as `headsOverTexts` measures them. Needs dist/. */
import { writeFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { locateShipped, readModel } from "heed/models";
import { headsOverTexts, storeFromModel } from "heed/view";
import { test as local } from "../support/fixtures.ts";
import { endAll, pageAt, view } from "../support/served.mjs";
import { textOf } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

test.afterAll(endAll);

const TEXTS = ["time flies like an arrow", "the old ship sails", "a whale swims in the sea"];

/** Drops a file on the element. @param {Page} page @param {string} name @param {string} text */
const drop = (page, name, text) =>
  page.evaluate(
    ([file, lines]) => {
      const data = new DataTransfer();
      data.items.add(new File([lines], file));
      document.querySelector("attention-view")?.dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
    },
    [name, text],
  );

test("every head over the lines of a list; an example opens at its link; stop; no line; the palette", async ({
  browser,
}, info) => {
  const { url, end } = await view("--model", "encoder", "--text", "the ship");
  const { page, reported, close } = await pageAt(browser, url);
  await expect(page.locator("attention-view .ablation")).toBeVisible();
  await drop(page, "list.txt", `${TEXTS.join("\r\n")}\n\n${TEXTS[0]}\n`);
  const dialog = page.locator("attention-view dialog");
  const row = dialog.locator(".over-texts tbody");
  await expect(row.first()).toBeVisible();
  const model = await readModel(locateShipped("encoder"));
  const heads = await headsOverTexts(
    TEXTS.map((name) => ({ name, dispose: true, open: () => storeFromModel(model.attention(name)) })),
  );
  const shown = await row.evaluateAll((rows) =>
    rows.map((one) => {
      const [holds, texts, mean] = [...one.querySelectorAll(".num data")].map((data) =>
        Number(data.getAttribute("value")),
      );
      return [one.querySelector("th")?.textContent, holds, texts, Number(mean.toFixed(4))];
    }),
  );
  expect(shown).toEqual(
    heads
      .slice(0, 12)
      .map((it) => [
        `L${it.layer} H${it.head}`,
        it.holds,
        it.contrast.texts,
        Number(it.contrast.mean.toFixed(4)),
      ]),
  );
  await expect(dialog).toContainText("list.txt, read by encoder: 3 texts");
  const best = heads[0];
  const link = [...best.strongest, ...best.failing][0];
  await row.first().locator("button").first().click();
  await expect(dialog).toHaveCount(0);
  await expect
    .poll(() =>
      page.evaluate(() => {
        const { state, store } = /** @type {any} */ (document.querySelector("attention-view"));
        return [store.report.text, state.layer, state.head, state.query, state.key];
      }),
    )
    .toEqual([link.text, best.layer, best.head, link.query, link.key]);

  await drop(page, "empty.txt", "\n \n");
  await expect(dialog.getByRole("alert")).toHaveText("empty.txt has no line of text");
  await dialog.getByRole("button", { name: "Close" }).click();
  // The file picker takes lists too, and the work can be stopped.
  const long = info.outputPath("long.txt");
  writeFileSync(
    long,
    Array.from({ length: 400 }, (_, n) => `the ship number ${n} sails over the sea`).join("\n"),
  );
  await page.keyboard.press("Control+k");
  await page.keyboard.type("many texts");
  await page.keyboard.press("Enter");
  const picking = page.waitForEvent("filechooser");
  await dialog.getByRole("button", { name: "Choose a list of texts" }).click();
  await (await picking).setFiles(long);
  await dialog.getByRole("button", { name: "Stop" }).click();
  await expect(dialog.getByRole("alert")).toHaveText("It was stopped.");
  expect(reported).toEqual([]);
  await close();
  await end();
});

local("a list without a model behind the page says which command measures it", async ({ visit }) => {
  await visit({ heads: { heads: 1, layers: 1, Nq: 5 } }, async (page) => {
    await drop(page, "my list.txt", "one text\nanother text\n");
    await expect
      .poll(() => textOf(page, ".notices"))
      .toContain(
        'my list.txt is a list of texts, and no model is behind this page to read them. heed heads "my list.txt" --model encoder measures',
      );
  });
});
