// @ts-check
/**
 * Files of 32 × 32 and 80 × 64 heads (in turn), made here: how many requests there are and how many at once, that none fails, that the head
 * under the cursor is read first,
 * pages and groups of the overview, and "Ask the heads" over all of them with its progress and its end. Needs dist/ (npm run build).
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { cast, randn } from "heed";
import { openStore, writeBundle } from "heed/view";
import { inTurn } from "../../support/cases/count.ts";
import { endAll, pageAt, view } from "../support/served.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** @type {string} */
let folder;
test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-many-heads-"));
});
test.afterAll(() => {
  endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a causal file of random queries and keys. @param {{ layers: number, heads: number, keyHeads: number, N: number, d: number }} sizes */
async function makeFile({ layers, heads, keyHeads, N, d }) {
  const file = join(folder, `${layers}x${heads}.safetensors`);
  const half = (/** @type {number[]} */ shape, /** @type {number} */ seed) =>
    cast(randn(shape, { seed }), "float16");
  const bytes = await writeBundle({
    blocks: [
      {
        name: "self",
        kind: "self",
        tokens: Array.from({ length: N }, (_, n) => `w${n}`),
        recipe: { mask: "causal" },
        layers: Array.from({ length: layers }, (_, n) => ({
          query: half([heads, N, d], 2 * n + 1),
          key: half([keyHeads, N, d], 2 * n + 2),
        })),
      },
    ],
  });
  writeFileSync(file, bytes);
  return file;
}

/** Counts the requests for data of a page. @param {Page} page */
function counted(page) {
  const count = { all: 0, open: 0, largest: 0, failed: /** @type {string[]} */ ([]) };
  const isPart = (/** @type {import("@playwright/test").Request} */ request) =>
    request.url().includes("/data/") && request.method() === "GET";
  page.on("request", (request) => {
    if (!isPart(request)) return;
    count.all++;
    count.largest = Math.max(count.largest, ++count.open);
  });
  page.on("requestfinished", (request) => isPart(request) && count.open--);
  page.on("requestfailed", (request) => {
    if (!isPart(request)) return;
    count.open--;
    count.failed.push(`${request.url().replace(/\?.*/, "")} ${request.failure()?.errorText}`);
  });
  return count;
}

/** The element's state and whether the cursor's head is in memory. @param {Page} page */
const stateOf = (page) =>
  page.evaluate(() => {
    const element = /** @type {any} */ (document.querySelector("attention-view"));
    const { layer, head, sort } = element.state;
    return { layer, head, sort, isReady: element.store?.ready({ block: 0, layer, head }) === true };
  });

const SIZES = [
  { layers: 32, heads: 32, keyHeads: 8, N: 64, d: 64 },
  { layers: 80, heads: 64, keyHeads: 8, N: 16, d: 16 },
];

for (const sizes of inTurn(SIZES, 2))
  test(`${sizes.layers} × ${sizes.heads} heads: few requests at once, pages, groups, and all heads asked`, async ({
    browser,
  }) => {
    const file = await makeFile(sizes);
    const { url, end } = await view(file);
    const { page, reported, close } = await pageAt(browser, "about:blank");
    const count = counted(page);
    await page.goto(url.replace(/#.*/, "#v1/head?b=self&l=9&h=20&i=10&j=3"));
    await expect.poll(() => stateOf(page)).toMatchObject({ layer: 9, head: 20, isReady: true });
    // The head under the cursor is there before all of the file was requested.
    const blocks = Math.ceil(statSync(file).size / 2 ** 16);
    expect(count.all).toBeLessThan(blocks);
    const value = page.locator("attention-view .readout .big data");
    const store = await openStore(file);
    await store.load({ block: 0, layer: 9, head: 20 });
    const weight = store.cell({ block: 0, layer: 9, head: 20 }, 10, 3, "weights");
    expect(Number(await value.getAttribute("value"))).toBeCloseTo(weight, 12);
    store.dispose();

    // The page of the overview has the cursor's layer; all columns are inside the left column.
    const pager = page.locator("attention-view .atlas .pager").first();
    await expect(pager).toBeVisible();
    await expect(pager.locator("span")).toContainText(`of ${sizes.layers}`);
    const [, first, last] =
      /layers (\d+)–(\d+)/.exec((await pager.locator("span").textContent()) ?? "") ?? [];
    expect([Number(first) <= 9, Number(last) >= 9]).toEqual([true, true]);
    const atlas = page.locator("attention-view .left .atlas");
    expect(await atlas.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(true);
    await pager.getByRole("button", { name: "Heads after" }).click();
    await expect(pager.locator("span")).toContainText(`layers ${Number(last) + 1}–`);

    // All heads answer, with progress; a question can be stopped.
    const left = page.locator("attention-view .left");
    await left.getByRole("button", { name: /^Which heads link/ }).click();
    const status = left.getByRole("status").filter({ hasText: "Asking" });
    await expect(status.locator("progress")).toBeVisible();
    await status.getByRole("button", { name: "Stop" }).click();
    await expect(left.getByRole("button", { name: /^Which heads link/ })).toBeVisible();
    await left.getByRole("button", { name: /^Which heads link/ }).click();
    await expect(left.locator(".answers li")).toHaveCount(10, { timeout: 120_000 });
    const shares = await left
      .locator(".answers li > data")
      .evaluateAll((all) => all.map((one) => Number(one.getAttribute("value"))));
    expect(Math.max(...shares)).toBeGreaterThan(0.2);

    await left.getByLabel("Sort heads by").selectOption({ label: "by pattern" });
    await expect.poll(() => stateOf(page)).toMatchObject({ sort: "pattern" });
    await expect(pager.locator("span")).toContainText("page ");
    // Heads are read by blocks: 3,977 requests for 80 × 64 heads, before they were.
    expect(count.all).toBeLessThan(2 * blocks);
    expect(count.largest).toBeLessThanOrEqual(6);
    expect(count.failed).toEqual([]);
    expect(reported).toEqual([]);
    await close();
    await end();
  });

test("a part of the page that could not be loaded is loaded at its next use", async ({ browser }) => {
  const { url, end } = await view();
  const { page, close } = await pageAt(browser, "about:blank");
  let refused = 0;
  await page.route("**/parts/lazy.js", (route) =>
    refused++ === 0 ? route.abort("failed") : route.continue(),
  );
  await page.goto(url.replace(/#.*/, "#v1/head?b=self&l=0&h=5&i=2&j=1"));
  await expect.poll(() => refused).toBeGreaterThan(0);
  await expect(page.locator("attention-view .left")).toBeVisible();
  // Its first use: a dialog.
  await page.locator("attention-view").getByRole("button", { name: "Keyboard", exact: true }).click();
  await expect(page.locator("attention-view dialog")).toBeVisible();
  await expect(page.locator("attention-view .left")).toContainText("Ask the heads");
  await close();
  await end();
});
