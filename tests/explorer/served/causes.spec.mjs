// @ts-check
/**
 * Causes in the page of `heed view`: the model in the command's process turns off, replaces and patches parts, and the page shows what
 * `measureEffects`, `ablate`, `attributeLogits` and `splitScore` compute; captures without a model show what they carry. Needs dist/.
 */
import { expect, test } from "@playwright/test";
import {
  ablate,
  attributeLogits,
  locateShipped,
  logitLens,
  measureEffects,
  readModel,
  recordActivations,
} from "heed/models";
import { violations } from "../../support/axe.mjs";
import { endAll, pageAt, view } from "../support/served.mjs";

/** @typedef {import("@playwright/test").Page} Page */
/** @typedef {import("@playwright/test").Locator} Locator */

test.afterAll(endAll);

const TEXT = "the president of the united";
const OTHER = "the captain of the united";
const PARTS = /** @type {const} */ (["head", "attention", "mlp"]);

/** The numbers in a place, as the page knows them. @param {Locator} place */
const numbers = (place) =>
  place.locator("data").evaluateAll((all) => all.map((one) => Number(one.getAttribute("value"))));

/** The listed effects: names and changes. @param {Locator} pane */
async function listed(pane) {
  await expect(pane.locator(".effects li")).toHaveCount(6);
  await expect(pane.locator("progress")).toHaveCount(0);
  const names = await pane.locator(".effects li > :first-child").allTextContents();
  return { names, changes: await numbers(pane.locator(".effects .by")) };
}

/** @param {{ readonly part: string, readonly layer: number, readonly head?: number }} effect */
const nameOf = ({ part, layer, head }) =>
  head === undefined ? `${part === "mlp" ? "MLP" : "attention"} ${layer}` : `L${layer} H${head}`;

test("the fourth pane of Compare: off, patched from B, one link; on the next token, a state, a weight", async ({
  browser,
}) => {
  const { url, end } = await view("--model", "decoder", "--text", TEXT, "--text", OTHER);
  const { page, reported, close } = await pageAt(
    browser,
    url.replace(/#.*/, "#v1/compare?b=self&l=1&h=0&i=5&j=1"),
  );
  const model = await readModel(locateShipped("decoder"));
  const pane = page.locator("attention-view .compare-causes");
  await pane.getByRole("button", { name: /^What changes/ }).click();
  // A state is compared with that of the aligned token in the other text.
  await pane.getByRole("group", { name: "Measured on" }).getByRole("button").nth(1).click();
  const state = measureEffects(
    model,
    TEXT,
    { of: "state", position: 5, otherPosition: 6 },
    { parts: PARTS, other: OTHER },
  );
  await expect.poll(async () => (await listed(pane)).changes[0]).toBe(state.effects[0].change);
  const shown = await listed(pane);
  expect(shown.names).toEqual(state.effects.slice(0, 6).map(nameOf));
  expect(shown.changes).toEqual(state.effects.slice(0, 6).map(({ change }) => change));
  expect((await numbers(pane))[0]).toBe(state.value);
  await expect(page).toHaveURL(/[?&]ca=zero(&|$)/);
  expect(await pane.locator(".effect-grid button").count()).toBe(4 * (4 + 2));

  await pane.getByRole("button", { name: "next token" }).click();
  const prediction = ablate(model, TEXT, { parts: PARTS });
  await expect
    .poll(async () => (await listed(pane)).names)
    .toEqual(prediction.effects.slice(0, 6).map(nameOf));
  expect((await listed(pane)).changes).toEqual(
    prediction.effects.slice(0, 6).map(({ change }) => 100 * change),
  );

  await pane.getByRole("button", { name: "from B" }).click();
  const first = prediction.predicted[0].id;
  const otherFirst = ablate(model, OTHER, { layer: 0, head: 0 }).predicted[0].id;
  const against = otherFirst === first ? prediction.predicted[1].id : otherFirst;
  const patch = measureEffects(
    model,
    TEXT,
    { of: "logit", token: first, against },
    { parts: PARTS, other: OTHER, patch: true },
  );
  await expect
    .poll(async () => (await listed(pane)).changes)
    .toEqual(patch.effects.slice(0, 6).map(({ change }) => change));
  expect((await numbers(pane)).slice(0, 2)).toEqual([patch.value, patch.otherValue]);

  // A link is one of each head, so no attention layers and MLPs are listed; a head of the list opens.
  await pane.getByRole("button", { name: "this link" }).click();
  const link = ablate(model, TEXT, { link: { query: 5, key: 1 } });
  await expect
    .poll(async () => (await listed(pane)).changes)
    .toEqual(link.effects.slice(0, 6).map(({ change }) => 100 * change));
  const { layer, head } = link.effects[0];
  await pane.locator(".effects button").first().click();
  await expect
    .poll(() => page.evaluate(() => /** @type {any} */ (document.querySelector("attention-view")).state))
    .toMatchObject({ layer, head, cause: "link", measure: "prediction" });

  await pane.getByRole("button", { name: "this weight" }).click();
  await pane.getByRole("button", { name: "off", exact: true }).click();
  const weight = measureEffects(
    model,
    TEXT,
    { of: "weight", layer, head: /** @type {number} */ (head), query: 5, key: 1 },
    { parts: PARTS },
  );
  await expect.poll(async () => (await listed(pane)).changes[0]).toBe(weight.effects[0].change);

  await pane.getByRole("button", { name: "Close the causes" }).click();
  await expect(pane.locator(".effects")).toHaveCount(0);
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("with long texts no part of Compare is over another; on a phone the causes are below the pictures", async ({
  browser,
}) => {
  const [one, other] = ["deep sea", "green field"].map(
    (place) => `The whale was in the ${place} and the captain saw the`,
  );
  const { url, end } = await view("--model", "decoder", "--text", one, "--text", other);
  const { page, reported, close } = await pageAt(browser, url.replace(/#.*/, "#v1/compare?l=1&h=0&ca=zero"));
  const inPage = page.locator("attention-view");
  await expect(inPage.locator(".comparison .area")).toHaveCount(3);
  await expect(inPage.locator(".comparison .effects li")).toHaveCount(6);
  /** @param {string} selector */
  const boxes = async (selector) =>
    inPage.locator(selector).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  const sections = await boxes(".comparison > section");
  for (const selector of [
    ".comparison .chooser",
    ".comparison select[aria-label^=text], .comparison .wide select",
    ".comparison .matrix",
  ])
    for (const { left, right } of await boxes(selector))
      expect(
        sections.some((it) => left >= it.left - 1 && right <= it.right + 1),
        selector,
      ).toBe(true);
  await page.setViewportSize({ width: 375, height: 812 });
  await expect
    .poll(
      async () => (await boxes(".compare-causes"))[0].top - (await boxes(".comparison > section"))[2].bottom,
    )
    .toBeGreaterThanOrEqual(0);
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("Ask the heads has what each head and MLP adds to the prediction; the ledger says why, and its terms are the score", async ({
  browser,
}) => {
  const { url, end } = await view("--model", "decoder", "--text", TEXT);
  const { page, reported, close } = await pageAt(
    browser,
    url.replace(/#.*/, "#v1/head?b=self&l=1&h=2&i=6&j=3&a=pair&ab=logit"),
  );
  const model = await readModel(locateShipped("decoder"));
  const { shares, difference } = attributeLogits(model, TEXT);
  const answers = page.locator("attention-view .answers");
  await expect(answers.locator(".logit")).toHaveCount(10);
  expect(await numbers(answers.locator(".logit"))).toEqual(shares.slice(0, 10).map(({ value }) => value));
  expect(shares.slice(0, 10).some(({ component }) => component.kind === "mlp")).toBe(true);
  expect(shares.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(difference, 10);

  const inspector = page.locator("attention-view .side");
  await inspector.getByRole("button", { name: /^Split the score/ }).click();
  const table = inspector.locator("table.why");
  await expect(table).toBeVisible();
  const terms = await numbers(table.locator("tbody tr td:nth-of-type(1)"));
  const scaled = await numbers(inspector.locator(".ledger li", { hasText: "÷ √d" }));
  expect(terms.length).toBeGreaterThan(4);
  expect(Math.abs(terms.reduce((sum, x) => sum + x, 0) - scaled[0])).toBeLessThan(1e-5);
  const [differences, score] = await Promise.all([
    numbers(table.locator("tbody tr td:nth-of-type(2)")),
    numbers(table.locator("tfoot td:nth-of-type(2)")),
  ]);
  expect(Math.abs(differences.reduce((sum, x) => sum + x, 0) - score[0])).toBeLessThan(1e-5);

  // The states: what each layer would predict after each token, and what one layer adds.
  await page.keyboard.press("s");
  const lens = page.locator("attention-view table.lens");
  const { ids } = model.tokenize(TEXT);
  const read = [...ids.keys()].map((position) => logitLens(model, TEXT, { position, top: 1 }).rows);
  const wanted = read[0].flatMap((_, layers) => read.map((rows) => rows[layers].tokens[0].probability));
  await expect.poll(async () => (await numbers(lens)).length).toBe(wanted.length);
  for (const [n, probability] of (await numbers(lens)).entries())
    expect(probability).toBeCloseTo(wanted[n], 6);
  const cell = (/** @type {number} */ layer, /** @type {number} */ query) =>
    lens.locator(`[data-cell="${layer} ${query}"]`);
  await expect(cell(2, 4)).toHaveAttribute("title", `Layer 2, ident: ${read[4][3].tokens[0].token}`);
  await cell(2, 3).click();
  await page.keyboard.press("ArrowRight");
  await expect(cell(2, 4)).toBeFocused();
  const block = inspector.locator("table.block").first();
  await expect(inspector.locator("h2")).toContainText("What layer 2 adds to ‹ident›");
  const [before, after] = recordActivations(model, model.tokenize(TEXT))
    .states.slice(2, 4)
    .map((state) => {
      const C = /** @type {number} */ (state.shape.at(-1));
      return Math.hypot(...state.toFloat64().subarray(4 * C, 5 * C));
    });
  await expect.poll(async () => (await numbers(block.locator("td:nth-of-type(1)"))).length).toBe(5);
  const lengths = await numbers(block.locator("td:nth-of-type(1)"));
  expect(lengths[0]).toBeCloseTo(before, 4);
  expect(lengths[4]).toBeCloseTo(after, 4);
  const parts = await numbers(block.locator("tbody td:nth-of-type(2)"));
  expect(parts.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 6);
  expect((await numbers(block.locator("tfoot td:last-child")))[0]).toBeCloseTo(wanted[3 * ids.length + 4], 6);
  expect(await violations(page)).toEqual([]);
  await inspector.getByRole("button", { name: "Open layer 2" }).click();
  await expect(page).toHaveURL(/head\?.*l=2.*i=4/);
  expect(reported).toEqual([]);
  await close();
  await end();
});

test("a masked word that another text patches asks for masks, in a sentence; a capture shows what it carries, with its command", async ({
  browser,
}) => {
  const encoder = await view("--model", "encoder", "--text", TEXT, "--text", OTHER);
  const first = await pageAt(
    browser,
    encoder.url.replace(/#.*/, "#v1/compare?b=self&i=2&ca=patch&me=prediction&pr=2"),
  );
  await expect(first.page.locator("attention-view .compare-causes .warning")).toContainText(
    "to patch a masked word, write [MASK] in its place in both texts",
  );
  await first.close();
  await encoder.end();

  const { url, end } = await view();
  const { page, reported, close } = await pageAt(
    browser,
    url.replace(/#.*/, "#v1/head?b=self&l=0&h=5&i=2&j=1&ca=zero"),
  );
  const causes = page.locator("attention-view .left .causes");
  await expect(causes).toContainText(
    "Cosine of the last state of ‹flies› with that in fruit flies like a banana: 0.631",
  );
  await expect(causes.locator("p strong")).toHaveText("Without L0 H5");
  await expect(causes.locator(".effects li").first()).toContainText("L0 H4");
  expect((await numbers(causes.locator(".effects .by")))[0]).toBeCloseTo(0.14, 2);
  await expect(causes.locator("details code")).toContainText("heed ablate ./all-MiniLM-L6-v2");
  // The score of this head's link is in the file, so no button has to be pressed.
  await causes.locator(".effects button").first().click();
  const why = page.locator("attention-view .side .why");
  await expect(why.locator("tbody tr").first()).toContainText("word · word");
  expect(reported).toEqual([]);
  await close();
  await end();
});
