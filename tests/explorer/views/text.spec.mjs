// @ts-check
/**
 * The running text of a head: each token's background is the color of its weight, with readable letters; pointer and keyboard
 * reach every number; only the visible part of a long text has elements.
 */
import { expect } from "@playwright/test";
import { codeOf } from "../../../src/store/measures/transfer.ts";
import { colorTable } from "../../../src/view/color.ts";
import { same, test } from "../support/fixtures.ts";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** @param {Page} page @param {object} patch */
async function set(page, patch) {
  await page.evaluate((to) => {
    /** @type {any} */ (globalThis).view.state = to;
  }, patch);
  await settled(page);
  await tinted(page);
}

/** Waits until the requested columns have been loaded. @param {Page} page */
const tinted = (page) =>
  page.waitForFunction(() => {
    const { shadowRoot } = /** @type {any} */ (globalThis).view;
    return (
      shadowRoot.querySelector(".text.waiting") === null && shadowRoot.querySelector(".text .unit") !== null
    );
  });

/** The state. @param {Page} page @returns {Promise<any>} */
const state = (page) => page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));

/**
 * The tokens that are elements: text, ground, ink, class.
 * @param {Page} page
 * @returns {Promise<{ unit: number, text: string, ground: number[], ink: number[], kind: string }[]>}
 */
const units = (page) =>
  page.evaluate(() =>
    [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".text .unit")].map((one) => {
      const style = getComputedStyle(one);
      const rgb = (/** @type {string} */ text) => (text.match(/\d+(\.\d+)?/g) ?? []).map(Number);
      return {
        unit: Number(one.dataset.unit),
        text: one.textContent,
        ground: rgb(style.backgroundColor),
        ink: rgb(style.color),
        kind: one.className,
      };
    }),
  );

/** Weights of a row or column, by the page's own store. @param {Page} page @param {number} at @param {"row" | "column"} which @returns {Promise<number[]>} */
const weights = (page, at, which) =>
  page.evaluate(
    async ([n, method]) => {
      const { view } = /** @type {any} */ (globalThis);
      const { layer, head } = view.state;
      return [...(await view.store[method]({ block: 0, layer, head }, n, "weights"))];
    },
    /** @type {const} */ ([at, which]),
  );

/** WCAG 2.2. @param {number[]} a @param {number[]} b */
function contrast(a, b) {
  const light = (/** @type {number[]} */ rgb) => {
    const [r, g, b] = rgb.map((v) =>
      v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Compares every token that is shown with the table. @param {Page} page @param {number[]} values @param {string} ramp @param {any} transfer */
async function compared(page, values, ramp, transfer) {
  const table = colorTable(/** @type {any} */ (ramp));
  const shown = await units(page);
  if (shown.length === 0) throw new Error("no token is shown");
  for (const { unit, ground, ink, kind } of shown) {
    if (!/tinted/.test(kind)) continue;
    const want = table[codeOf(values[unit], transfer, 1)];
    same(ground, [...want], `the ground of token ${unit}, weight ${values[unit]}`);
    if (contrast(ground, ink) < 4.5) throw new Error(`token ${unit}: contrast ${contrast(ground, ink)}`);
  }
  return shown;
}

const HEADS = { heads: 2, layers: 2, Nq: 12, recipe: { mask: "causal" }, segments: true };
const WORDS = ["[CLS]", "the", "un", "##like", "##ly", "cat", "sat", "##s", "[SEP]"];
const unit = (/** @type {number} */ n) => `.text [data-unit="${n}"]`;

/** The number under the text. @param {Page} page */
const read = (page) =>
  page.evaluate(() => {
    const line = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".text .says p:last-child");
    return { value: Number(line.querySelector("data").value), text: line.textContent.replace(/\s+/g, " ") };
  });

/** @type {Record<string, { heads: import("../support/heads.mjs").Wanted, hash: string, scheme?: "light" | "dark", run: (page: Page) => Promise<void> }>} */
const CASES = {
  "grounds are the table's colors, letters can be read on them": {
    heads: { ...HEADS, Nq: 40 },
    hash: "#v1/head?m=text&i=30&h=1",
    async run(page) {
      await tinted(page);
      const shown = await compared(page, await weights(page, 30, "row"), "plum", "sqrt");
      same(
        shown.filter(({ kind }) => /masked/.test(kind)).map((one) => one.unit),
        [31, 32, 33, 34, 35, 36, 37, 38, 39],
        "masked tokens are hatched",
      );
      await set(page, { transfer: "linear", ramp: "cividis" });
      await compared(page, await weights(page, 30, "row"), "cividis", "linear");
      await set(page, { direction: "to", key: 5, transfer: "sqrt", ramp: "plum" });
      await compared(page, (await weights(page, 5, "column")).map(Math.fround), "plum", "sqrt");
    },
  },

  "in the dark too": {
    heads: { ...HEADS, Nq: 40 },
    hash: "#v1/head?m=text&i=30",
    scheme: "dark",
    async run(page) {
      await tinted(page);
      await compared(page, await weights(page, 30, "row"), "plum-dark", "sqrt");
    },
  },

  "hovering previews, a click pins, and then hovering reads": {
    heads: HEADS,
    hash: "#v1/head?m=text&i=2&j=1",
    async run(page) {
      await tinted(page);
      await page.locator(`attention-view ${unit(9)}`).hover();
      await settled(page);
      await compared(page, await weights(page, 9, "row"), "plum", "sqrt");
      same((await state(page)).query, 2, "the cursor stays");
      await page.locator(`attention-view ${unit(9)}`).click();
      same((await state(page)).rows, [9], "a click pins");
      await page.locator(`attention-view ${unit(4)}`).hover();
      await settled(page);
      const row = await weights(page, 9, "row");
      const { value, text } = await read(page);
      same(value, row[4], "the number of the token under the pointer");
      if (!/‹w9› to ‹w4›, rank \d+ of 10/.test(text)) throw new Error(text);
      await compared(page, row, "plum", "sqrt");
      await page.locator(`attention-view ${unit(11)}`).click({ modifiers: ["Control"] });
      await settled(page);
      same((await state(page)).rows, [9, 11], "with Control another");
      const other = await weights(page, 11, "row");
      await page.locator(`attention-view ${unit(4)}`).hover();
      await settled(page);
      const mean = await read(page);
      if (Math.abs(mean.value - (row[4] + other[4]) / 2) > 1e-12 || !/the mean of 2 queries/.test(mean.text))
        throw new Error(JSON.stringify(mean));
      await set(page, { aggregate: "max" });
      if (!/the largest of 2 queries/.test((await read(page)).text)) throw new Error((await read(page)).text);
      await page.locator(`attention-view ${unit(7)}`).click({ modifiers: ["Shift"] });
      same((await state(page)).rows, [7, 8, 9, 10, 11], "with Shift a range");
    },
  },

  "pieces become words: sums over keys, means over queries": {
    heads: { tokens: WORDS, heads: 1, layers: 1 },
    hash: "#v1/head?m=text&i=6&j=2",
    async run(page) {
      await set(page, { words: true, rows: [6, 7], query: 6, key: 2 });
      const rows = [await weights(page, 6, "row"), await weights(page, 7, "row")];
      const want = rows.reduce((sum, row) => sum + row[2] + row[3] + row[4], 0) / 2;
      const { value, text } = await read(page);
      if (Math.abs(value - want) > 1e-12) throw new Error(`${value}, want ${want}`);
      if (!/‹sats› to ‹unlikely›/.test(text)) throw new Error(text);
      same(
        (await units(page)).map((one) => one.text),
        ["[CLS]", "the", "unlikely", "cat", "sats", "[SEP]"],
        "words",
      );
      const says = await page.locator("attention-view .text .says").textContent();
      if (!/sum over their keys, the mean over their queries/.test(says ?? "")) throw new Error(says ?? "");
    },
  },

  "the keyboard reaches a named weight": {
    heads: HEADS,
    hash: "#v1/head?m=text",
    async run(page) {
      await set(page, { query: 0, key: 0, pinned: null });
      const focused = () =>
        page.evaluate(() => {
          const active = /** @type {any} */ (globalThis).view.shadowRoot.activeElement;
          return {
            role: active?.getAttribute("role"),
            label: active?.getAttribute("aria-label") ?? "",
            place: active?.getAttribute("aria-posinset"),
            of: active?.getAttribute("aria-setsize"),
          };
        });
      const press = async (/** @type {string[]} */ ...keys) => {
        for (const key of keys) await page.keyboard.press(key);
        await settled(page);
      };
      for (let n = 0; n < 40 && (await focused()).role !== "option"; n++) await page.keyboard.press("Tab");
      await press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight");
      same((await state(page)).query, 4, "arrows go along the text");
      await press("Enter");
      same((await state(page)).rows, [4], "Enter pins");
      await press("ArrowLeft", "ArrowLeft");
      const { label, place, of } = await focused();
      if (!/^w2: 0?\.?\d.* w4 to w2, rank \d+ of 5\. Layer 0 head 0\.$/.test(label)) throw new Error(label);
      same([place, of], ["3", "12"], "its place in the text");
      await press("End");
      same((await state(page)).key, 11, "End goes to the end of the line");
      await press("Home", "Escape");
      same((await state(page)).rows, [], "Escape releases");
      same((await focused()).role, "option", "the focus stays in the text");
      await press("Shift+ArrowRight", "Shift+ArrowRight");
      if ((await state(page)).rows.length !== 3) throw new Error("Shift does not choose as it goes");
    },
  },

  "two texts: one to choose from, one to read": {
    heads: { Nq: 5, Nk: 9, recipe: { queryOffset: 4 } },
    hash: "#v1/head?m=text&i=3&j=1",
    async run(page) {
      await tinted(page);
      const shown = await units(page);
      same(shown.filter(({ kind }) => /tinted/.test(kind)).length, 9, "the keys are tinted");
      same(shown.length, 14, "both texts are there");
      await page.locator(`attention-view .passage >> nth=1`).locator(`[data-unit="7"]`).hover();
      await settled(page);
      same((await read(page)).value, (await weights(page, 3, "row"))[7], "a key is read");
      await page.locator(`attention-view .passage >> nth=0`).locator(`[data-unit="0"]`).click();
      same((await state(page)).rows, [0], "a query is chosen");
    },
  },

  "white space is seen, directions are the tokens' own": {
    heads: { tokens: ["שלום", " ", "עולם", "\n", "a", "\u202eb", "\t", "אבג"], heads: 1, layers: 1 },
    hash: "#v1/head?m=text",
    async run(page) {
      await tinted(page);
      same(
        (await units(page)).map((one) => one.text),
        ["שלום", "␣", "עולם", "⏎", "a", "⟨U+202E⟩b", "⇥", "אבג"],
        "tokens",
      );
      const layout = await page.evaluate(() => {
        const inside = /** @type {any} */ (globalThis).view.shadowRoot;
        const all = [...inside.querySelectorAll(".text .unit")];
        return {
          dirs: new Set(all.map((one) => one.dir)).size === 1 && all[0].dir === "auto",
          rtl: inside.querySelector(".passage").dir,
          lines: new Set(all.map((one) => Math.round(one.getBoundingClientRect().top))).size,
          order: all[0].getBoundingClientRect().left > all[2].getBoundingClientRect().left,
        };
      });
      same(layout, { dirs: true, rtl: "rtl", lines: 2, order: true }, "laid out");
    },
  },

  "segments outside are not tinted": {
    heads: { ...HEADS, recipe: {} },
    hash: "#v1/head?m=text&ks=1&i=2&j=8",
    async run(page) {
      await tinted(page);
      const shown = await units(page);
      same(
        shown.filter(({ kind }) => /outside/.test(kind)).map((one) => one.unit),
        [0, 1, 2, 3, 4, 5],
        "outside",
      );
    },
  },

  "4,096 tokens are elements only where they are seen": {
    heads: { Nq: 4096, layers: 1, heads: 1, d: 4, recipe: { mask: { window: 64, causal: true } } },
    hash: "#v1/head?m=text&i=40",
    async run(page) {
      await tinted(page);
      const count = async () => (await units(page)).length;
      if ((await count()) > 900) throw new Error(`${await count()} elements`);
      // Elements that hovering would make, or give to another token.
      await page.evaluate(() => {
        const now = /** @type {any} */ (globalThis);
        now.mutations = 0;
        new MutationObserver((changes) => {
          for (const { type, addedNodes } of changes)
            if (type === "attributes") now.mutations++;
            else
              for (const one of addedNodes)
                if (one instanceof Element && (one.matches(".unit") || one.querySelector(".unit")))
                  now.mutations++;
        }).observe(now.view.shadowRoot.querySelector(".text"), {
          childList: true,
          subtree: true,
          attributes: true,
          attributeFilter: ["data-unit"],
        });
      });
      const mutations = () => page.evaluate(() => /** @type {any} */ (globalThis).mutations);
      const box = await page.evaluate(() => {
        const { x, y, width, height } = /** @type {any} */ (globalThis).view.shadowRoot
          .querySelector(".text .scroller")
          .getBoundingClientRect();
        return { x, y, width, height };
      });
      for (let n = 0; n < 100; n++)
        await page.mouse.move(
          box.x + 20 + ((n * 37) % (box.width - 60)),
          box.y + 10 + ((box.height - 30) * n) / 99,
        );
      await page.locator(`attention-view ${unit(45)}`).hover();
      await expect.poll(async () => (await read(page)).text).toMatch(/‹w45›/);
      same(await mutations(), 0, "elements made while the pointer moved");
      await page.evaluate(() => {
        const scroller = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".text .scroller");
        scroller.scrollTop = scroller.scrollHeight;
      });
      await page.waitForFunction(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector('.text [data-unit="4095"]') !== null,
      );
      if ((await count()) > 900) throw new Error(`${await count()} elements after scrolling`);
      if (!((await mutations()) > 0)) throw new Error("scrolling made elements, but none was counted");
    },
  },
};

for (const [name, { heads, hash, scheme, run }] of Object.entries(CASES))
  test(name, ({ visit }) => visit({ heads, hash, scheme }, run));
