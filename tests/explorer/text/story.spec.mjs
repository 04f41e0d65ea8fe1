// @ts-check
/**
 * The first screen of `heed view`: the story of one head in six steps, each with its picture, its sentence and its numbers, and the share
 * of the window that the picture has. Needs dist/ (npm run build).
 */
import { expect, test } from "@playwright/test";
import { endAll, pageAt, view } from "../support/served.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** @type {string} */
let url;
test.beforeAll(async () => {
  ({ url } = await view());
});
test.afterAll(endAll);

/** A busy machine opens a text in seconds. */
const WAIT = { timeout: 30_000 };
const stateOf = (/** @type {Page} */ page) =>
  page.evaluate(() => {
    const { state, store } = /** @type {any} */ (document.querySelector("attention-view"));
    const { view, layer, head, query, key } = state;
    const tokens = store?.blocks[0].queryTokens ?? [];
    return { view, head: `L${layer} H${head}`, link: `${tokens[query]} → ${tokens[key]}` };
  });
/** Opens a step of the story. @param {Page} page @param {string} name */
async function step(page, name) {
  await page.locator("#steps button").filter({ hasText: name }).click();
  await expect(page.locator("#steps [aria-current]")).toContainText(name);
}

test.setTimeout(180_000);

test("the story: a pair, its control, the reasons, the cause, the effect, and links that are none", async ({
  browser,
}) => {
  const { page, reported, close } = await pageAt(browser, url);
  const [sentence, figure] = [page.locator("#seen"), page.locator("#figure")];
  await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });
  await expect
    .poll(() => stateOf(page), WAIT)
    .toEqual({ view: "compare", head: "L0 H4", link: "flies → time" });
  await expect(sentence).toHaveText(
    /‹flies› gives 80\s%\s?of its attention to ‹time› in one, 81\s%\s?to ‹fruit› in the other.*4\.3\s%\s?and 2\.1\s%\.$/,
  );
  await expect(page.locator("attention-view .comparison section")).toHaveCount(3);
  // An address that names no picture shows the story too.
  await page.goto("about:blank");
  await page.goto(url.split("#")[0]);
  await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });
  await expect
    .poll(() => stateOf(page), WAIT)
    .toEqual({ view: "compare", head: "L0 H4", link: "flies → time" });
  // A reload shows the same step.
  await expect.poll(() => page.url(), WAIT).toContain("#v1/compare");
  await page.reload();
  await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });

  await step(page, "Control");
  await expect
    .poll(() => stateOf(page), WAIT)
    .toEqual({ view: "compare", head: "L0 H4", link: "bank → river" });
  await expect(sentence).toHaveText(/‹bank› gives 71\s%.*‹river›.*With ‹table› at that place, 4\.5\s%/);

  await step(page, "Why");
  await expect.poll(() => stateOf(page), WAIT).toEqual({ view: "head", head: "L0 H4", link: "flies → time" });
  // The parts add up to the number that the sentence names.
  await expect(sentence).toContainText(
    /3\.74 above the mean of its row: \+4\.64 from the two words, \+0\.764 from their places, −1\.66 from the rest/,
  );
  await expect(figure.locator("tbody tr")).toHaveCount(3);
  await expect(figure.locator("tbody tr").first()).toHaveText(/‹flies› → ‹time›\+4\.64\+0\.764−1\.66\+3\.74/);
  await figure.locator("summary").click();
  await expect(figure.locator("code").first()).toHaveText(
    /^heed why .*"time flies like an arrow" --layer 0 --head 4/,
  );

  await step(page, "Cause");
  await expect(figure.locator(".one")).toHaveCount(72);
  await expect(figure.locator(".strip")).toHaveAttribute(
    "aria-label",
    /the largest: L0 H4 \+0\.140, L0 H10 \+0\.0498/,
  );

  await step(page, "Effect");
  await expect
    .poll(() => stateOf(page), WAIT)
    .toEqual({ view: "head", head: "L0 H4", link: "flies → fruit" });
  await expect(sentence).toContainText("“soars” hardly tells them apart.");

  await step(page, "Where it fails");
  await expect.poll(() => stateOf(page), WAIT).toEqual({ view: "head", head: "L5 H11", link: "it → cat" });
  await expect(figure).toBeHidden();
  await expect(sentence).toHaveText(/‹it› gives 68\s%.*but the other tokens give it 64\s% on average/);
  await sentence.getByRole("button", { name: "‹bank› → ‹river›" }).click();
  await expect
    .poll(() => stateOf(page), WAIT)
    .toEqual({ view: "head", head: "L2 H11", link: "bank → river" });
  // The story has ended: the sentence is about the picture, and claims no more than its contrast supports.
  await expect(page.locator("#steps [aria-current]")).toHaveCount(0);
  await expect(sentence).toHaveText(/But most tokens look at the previous token/, WAIT);
  expect(reported).toEqual([]);
  await close();
});

for (const [width, height, share] of /** @type {const} */ ([
  [1280, 800, 0.35],
  [375, 812, 0.5],
]))
  test(`the picture has ${100 * share} % of a window of ${width} × ${height}, and the toolbar is one row`, async ({
    browser,
  }) => {
    const context = await browser.newContext({ viewport: { width, height } });
    const page = await context.newPage();
    await page.goto(url);
    await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });
    await page.evaluate(() => {
      /** @type {any} */ (document.querySelector("attention-view")).state = { view: "head" };
    });
    await expect(page.locator("#seen")).toContainText("The other tokens give ‹time›", { timeout: 30_000 });
    await expect(page.locator("attention-view .root.head .toolbar")).toBeVisible({ timeout: 30_000 });
    await expect(page.locator("attention-view .foot")).toContainText("Each row is a query", {
      timeout: 30_000,
    });
    const measured = await page.evaluate(() => {
      const inside = /** @type {any} */ (document.querySelector("attention-view")).shadowRoot;
      const box = inside.querySelector(".pane").getBoundingClientRect();
      const high = Math.max(0, Math.min(innerHeight, box.bottom) - box.top);
      return {
        share: (box.width * high) / (innerWidth * innerHeight),
        toolbar: inside.querySelector(".toolbar").getBoundingClientRect().height,
      };
    });
    expect(measured.share).toBeGreaterThanOrEqual(share);
    expect(measured.toolbar).toBeLessThan(48);
    await context.close();
  });

test("texts that start alike are told apart in their tabs and in the lists of Compare", async ({
  browser,
}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(url);
  await expect(page.locator("#steps [aria-current]")).toHaveText("1 Look", { timeout: 60_000 });
  const tabs = page.locator("attention-view .sources button");
  await expect(tabs.nth(6)).toHaveText("The cat … tired", WAIT);
  await expect(tabs.nth(7)).toHaveText("The cat … soft");
  await expect(tabs.nth(7)).toHaveAttribute("title", "The cat sat on the mat because it was soft");
  await page.evaluate(() => {
    /** @type {any} */ (document.querySelector("attention-view")).state = { text: 6, other: null };
  });
  const list = page.locator("attention-view .comparison").getByLabel("text A");
  await expect(list).toHaveValue("6", WAIT);
  const [text, space] = await list.evaluate((/** @type {HTMLSelectElement} */ select) => {
    const context = /** @type {CanvasRenderingContext2D} */ (
      document.createElement("canvas").getContext("2d")
    );
    context.font = getComputedStyle(select).font;
    return [context.measureText(select.selectedOptions[0].text).width, select.clientWidth];
  });
  // The arrow of the list takes some 24 pixels.
  expect(text + 24).toBeLessThan(space);
  await context.close();
});
