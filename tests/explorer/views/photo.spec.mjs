// @ts-check
/**
 * Keys on the photograph: every patch has the color of its weight over the picture, each head of the layer has its map, and pointer,
 * touch and keyboard choose the patch that looks. The numbers are those of float64 in this file, from the page's queries and keys.
 */
import { expect } from "@playwright/test";
import { codeOf } from "../../../src/store/measures/transfer.ts";
import { colorTable } from "../../../src/view/color.ts";
import { becomes, same, test } from "../support/fixtures.ts";
import { makeInput, picture } from "../support/heads.mjs";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const GRID = { first: 2, rows: 4, columns: 6 };
const N = GRID.first + GRID.rows * GRID.columns;
const NAMES = ["[CLS]", "[REG1]", ...Array.from({ length: 24 }, (_, n) => `${Math.floor(n / 6)},${n % 6}`)];
/** @type {import("../support/heads.mjs").Wanted} */
const HEADS = { layers: 2, heads: 3, tokens: NAMES, pictures: [GRID], seed: 5 };

/** softmax(q·kᵀ / √d) of a row of the fixture. @param {number} layer @param {number} head @param {number} i @returns {number[]} */
function weights(layer, head, i) {
  const { query, key } = makeInput(HEADS).blocks[0].layers[layer];
  const d = query.shape[2];
  const at = (/** @type {any} */ { data }, /** @type {number} */ n, /** @type {number} */ c) =>
    data[(head * N + n) * d + c];
  const scores = NAMES.map((_, j) => {
    let sum = 0;
    for (let c = 0; c < d; c++) sum += at(query, i, c) * at(key, j, c);
    return sum / Math.sqrt(d);
  });
  const largest = Math.max(...scores);
  const powers = scores.map((s) => Math.exp(s - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

/** The state. @param {Page} page @returns {Promise<any>} */
const state = (page) => page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));

/** Ground, place and class of every token. @param {Page} page @returns {Promise<{ unit: number, ground: number[], kind: string, box: number[] }[]>} */
const units = (page) =>
  page.evaluate(() =>
    [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".photos .unit")]
      .filter((one) => one.checkVisibility())
      .map((one) => {
        const { left, top, width, height } = one.getBoundingClientRect();
        const ground = (getComputedStyle(one).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
        return {
          unit: Number(one.dataset.unit),
          ground,
          kind: one.className,
          box: [left, top, width, height],
        };
      }),
  );

/** Every token's color is that of its weight in the row of a query. @param {Page} page @param {number} layer @param {number} head @param {number} query */
async function compared(page, layer, head, query) {
  const row = weights(layer, head, query);
  const largest = Math.max(...row);
  const table = colorTable("plum");
  await expect
    .poll(async () => {
      const wrong = (await units(page)).filter(({ unit, ground }) => {
        const code = codeOf(row[unit], "sqrt", largest);
        const isPatch = unit >= GRID.first;
        const [r, g, b] = table[code];
        const alpha = isPatch ? Math.round(255 * 0.85 * (code / 255)) / 255 : 1;
        const [gr, gg, gb, ga = 1] = ground;
        // A color without opacity has no other numbers; codes next to each other are one rounding apart.
        if (alpha < 0.01) return ga > 0.02;
        return (
          Math.abs(ga - alpha) > 0.006 || Math.max(Math.abs(gr - r), Math.abs(gg - g), Math.abs(gb - b)) > 2
        );
      });
      return wrong.map(({ unit }) => unit);
    })
    .toEqual([]);
}

test("a file with a picture opens on it, and every patch has the color of its weight", async ({ visit }) => {
  await visit({ heads: HEADS }, async (page) => {
    const { mode, domain, layer, head, query } = await state(page);
    same([mode, domain], ["photo", "row"], "how it opens");
    await becomes(async () => (await units(page)).length, N, "tokens");
    await compared(page, layer, head, query);
    // Patches cover the picture, row by row, without gaps.
    const patches = (await units(page)).filter(({ unit }) => unit >= GRID.first);
    const [left, top, width, height] = patches[0].box;
    for (const { unit, box } of patches) {
      const n = unit - GRID.first;
      expect(Math.abs(box[0] - left - (n % 6) * width)).toBeLessThan(0.6);
      expect(Math.abs(box[1] - top - Math.floor(n / 6) * height)).toBeLessThan(0.6);
    }
    const pixels = await page.evaluate(() => {
      const canvas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".photos .photo canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return { size: [canvas.height, canvas.width], data: [...data].filter((_, i) => i % 4 < 3) };
    });
    const want = picture(GRID);
    same(pixels.size, want.shape.slice(0, 2), "size of the picture");
    same(pixels.data, [...want.data], "pixels of the picture");
  });
});

test("a click on a patch shows where it looks, in this head and in each head of the layer", async ({
  visit,
}) => {
  await visit({ heads: HEADS }, async (page) => {
    const patch = page.locator('attention-view .photos .unit[data-unit="15"]');
    await patch.click();
    same((await state(page)).query, 15, "the query");
    await page.mouse.move(2, 2);
    const { layer } = await state(page);
    for (const head of [1, 2, 0]) {
      await page.locator(`attention-view .photos .maps [data-head="${head}"]`).click();
      same((await state(page)).head, head, "the head");
      await compared(page, layer, head, 15);
    }
    // Each map: its strongest patch and its weight.
    for (const head of [0, 1, 2]) {
      const row = weights(layer, head, 15).slice(GRID.first);
      const best = row.indexOf(Math.max(...row));
      const label = await page
        .locator(`attention-view .photos .maps [data-head="${head}"]`)
        .getAttribute("aria-label");
      expect(label).toContain(`Head ${head}: strongest at ${NAMES[GRID.first + best]}, `);
      expect(Number(label?.split(", ").at(-1))).toBeCloseTo(row[best], 3);
    }
    // The line about the picture: how much of the attention is on it.
    const share = weights(layer, 0, 15)
      .slice(GRID.first)
      .reduce((a, b) => a + b, 0);
    const says = await page.locator("attention-view .photos .says").innerText();
    expect(says.replace(/\s+/g, " ")).toContain("Tokens 2 … 25 are 4 × 6 patches of image 1; they get");
    expect(Number(says.match(/get\s+([\d.]+)/)?.[1])).toBeCloseTo(100 * share, 0);
  });
});

test("keys move over the grid, and to the tokens beside it", async ({ visit }) => {
  await visit({ heads: HEADS }, async (page) => {
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 9, key: 9 }));
    await settled(page);
    await page.locator('attention-view .photos .unit[data-unit="9"]').focus();
    const queries = [];
    for (const key of [
      "ArrowDown",
      "ArrowRight",
      "ArrowUp",
      "End",
      "Home",
      "ArrowUp",
      "ArrowUp",
      "ArrowUp",
      "ArrowDown",
    ]) {
      await page.keyboard.press(key);
      queries.push((await state(page)).query);
    }
    // Two tokens are before the patches, which have rows of six.
    same(queries, [15, 16, 10, 13, 8, 2, 1, 0, 1], "queries");
    await page.keyboard.press("ArrowDown");
    const { query, layer, head } = await state(page);
    same(query, 2, "back on the picture");
    await compared(page, layer, head, 2);
    const label = await page.evaluate(() =>
      /** @type {any} */ (globalThis).view.shadowRoot.activeElement?.getAttribute("aria-label"),
    );
    expect(label).toMatch(/^0,0: [\d.]+/);
  });
});

test("on a phone a tap chooses a patch; the picture fits and nothing scrolls sideways", async ({ visit }) => {
  await visit({ heads: HEADS, width: 375, height: 812, touch: true }, async (page) => {
    const patch = page.locator('attention-view .photos .unit[data-unit="20"]');
    await patch.tap();
    same((await state(page)).query, 20, "the query");
    const boxes = (await units(page)).filter(({ unit }) => unit >= GRID.first).map(({ box }) => box);
    expect(Math.min(...boxes.map(([left]) => left))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...boxes.map(([left, , width]) => left + width))).toBeLessThanOrEqual(375);
    expect(boxes[0][2]).toBeGreaterThanOrEqual(44);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  });
});

test("of a text with pictures in it, each picture lies between its words", async ({ visit }) => {
  const tokens = ["<s>", "look", ...Array(6).fill("img"), "and", ...Array(4).fill("img"), "what", "is", "it"];
  const pictures = [
    { first: 2, rows: 2, columns: 3 },
    { first: 9, rows: 2, columns: 2 },
  ];
  await visit({ heads: { tokens, pictures, recipe: { mask: "causal" }, seed: 9 } }, async (page) => {
    const parts = await page.evaluate(() => {
      const list = [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".photos .passage")];
      return [...list.find((one) => one.checkVisibility()).children].map((one) => [
        one.className,
        one.querySelectorAll(".unit").length,
      ]);
    });
    same(
      parts,
      [
        ["beside", 2],
        ["photo", 6],
        ["beside", 1],
        ["photo", 4],
        ["beside", 3],
      ],
      "parts",
    );
    const says = (await page.locator("attention-view .photos .says").innerText()).replace(/\s+/g, " ");
    expect(says).toContain("Tokens 2 … 7 are 2 × 3 patches of image 1");
    expect(says).toContain("Tokens 9 … 12 are 2 × 2 patches of image 2");
  });
});

test("a file without a picture has no such view, and its address opens the matrix", async ({ visit }) => {
  await visit({ heads: { Nq: 6 }, hash: "#m=photo" }, async (page) => {
    same((await state(page)).mode, "matrix", "the drawing");
    same(await page.locator("attention-view .toolbar").getByText("Photo").count(), 0, "buttons");
    await page.keyboard.press("i");
    same((await state(page)).mode, "matrix", "the drawing");
  });
});
