// @ts-check
/**
 * The lines of a head: the drawing agrees with the caption, pointer and keyboard reach every number, and long texts scroll. Times
 * are measured in bench/explorer.mjs.
 */
import { expect } from "@playwright/test";
import { same, test } from "../support/fixtures.ts";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** @param {Page} page @param {object} patch */
async function set(page, patch) {
  await page.evaluate((to) => {
    /** @type {any} */ (globalThis).view.state = to;
  }, patch);
  await settled(page);
}

/** The numbers of the line under the lines, once all rows are read. @param {Page} page @returns {Promise<number[]>} */
async function lineCounts(page) {
  await page.waitForFunction(() => {
    const text = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".lines .kept").textContent;
    return /drawn/.test(text) && !/so far/.test(text);
  });
  return page.evaluate(() =>
    [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".lines .kept data")].map((data) =>
      Number(data.value),
    ),
  );
}

/** A token's middle in one of the columns. @param {Page} page @param {"queries" | "keys"} columnName @param {string} name */
async function over(page, columnName, name) {
  const box = await page.evaluate(
    ([which, text]) => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      const labels = [...inside.querySelectorAll(`.lines .column.${which} .labels span:not([hidden])`)];
      const column = inside.querySelector(`.lines .column.${which}`).getBoundingClientRect();
      const label = labels.find((one) => one.textContent === text)?.getBoundingClientRect();
      return label && { x: column.x + column.width / 2, y: label.y + label.height / 2 };
    },
    [columnName, name],
  );
  if (box === undefined) throw new Error(`no ${name} among the ${columnName}`);
  return /** @type {const} */ ([box.x, box.y]);
}

/** @param {Page} page */
const frames = (page) =>
  page.evaluate(async () => {
    for (let n = 0; n < 3; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });

/** What has the focus. @param {Page} page @returns {Promise<{ role: string | null, text: string }>} */
const focused = (page) =>
  page.evaluate(() => {
    const active = /** @type {any} */ (globalThis).view.shadowRoot.activeElement;
    return { role: active?.getAttribute("role") ?? null, text: active?.textContent ?? "" };
  });

/** The state. @param {Page} page @returns {Promise<any>} */
const state = (page) => page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));

/** The links each row keeps, by the store's own rows. @param {Page} page @param {{ top?: number, mass?: number }} keep */
const links = (page, keep) =>
  page.evaluate(
    ({ top, mass }) => {
      const { view } = /** @type {any} */ (globalThis);
      const { Nq } = view.store.blocks[0];
      const { layer, head } = view.state;
      let [shown, all, edges, of] = [0, 0, 0, 0];
      for (let i = 0; i < Nq; i++) {
        const row = [...view.store.row({ block: 0, layer, head }, i, "weights")];
        const order = row.filter((weight) => weight > 0).sort((a, b) => b - a);
        const sum = order.reduce((a, b) => a + b, 0);
        let [count, total] = [0, 0];
        while (count < order.length && (top === undefined ? total < mass * sum * (1 - 1e-12) : count < top))
          total += order[count++];
        edges += count;
        of += order.length;
        shown += total;
        all += sum;
      }
      return { share: shown / all, edges, of };
    },
    /** @type {any} */ (keep),
  );

const HEADS = { heads: 4, keyHeads: 2, layers: 2, Nq: 12, recipe: { mask: "causal" }, segments: true };

/** @type {Record<string, { heads: import("../support/heads.mjs").Wanted, hash: string, run: (page: Page) => Promise<void> }>} */
const CASES = {
  "the caption says what is omitted": {
    heads: { ...HEADS, Nq: 24 },
    hash: "#v1/head?m=lines&h=3",
    async run(page) {
      for (const keep of [{ top: 1 }, { top: 3 }, { top: 16 }, { mass: 0.5 }, { mass: 0.9 }]) {
        await set(page, "top" in keep ? { keep: "top", ...keep } : { keep: "mass", ...keep });
        await frames(page);
        const [edges, of, share] = await lineCounts(page);
        const want = await links(page, keep);
        if (Math.abs(share - want.share) > 1e-9 || edges !== want.edges || of !== want.of)
          throw new Error(`${JSON.stringify(keep)}: ${share}, ${edges} of ${of}; ${JSON.stringify(want)}`);
      }
    },
  },

  "lines run from query to key, and nowhere else": {
    heads: { Nq: 20, layers: 1, heads: 1, d: 16, plant: "previous" },
    hash: "#v1/head?m=lines",
    async run(page) {
      for (const arcs of [false, true]) {
        await set(page, { top: 1, arcs, query: 19, key: 18, pinned: null });
        await frames(page);
        const ink = await page.evaluate((bent) => {
          const canvas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".lines canvas.cells");
          const [w, h] = [canvas.width, canvas.height];
          const { data } = canvas.getContext("2d").getImageData(0, 0, w, h);
          const at = (/** @type {number} */ x, /** @type {number} */ y) =>
            data[4 * (Math.round(y) * w + Math.round(x)) + 3];
          const column = canvas.parentElement.querySelector(".column.queries").getBoundingClientRect();
          const area = canvas.getBoundingClientRect();
          const pitch = column.height / 20;
          const top = column.top - area.top;
          const other = canvas.parentElement.querySelector(".column.keys").getBoundingClientRect();
          const alphas = [];
          // Half way a line from i to i − 1 is half a token above i; an arc bulges there at the column's side.
          for (let i = 2; i < 19; i++) {
            const y = top + i * Math.min(40, pitch);
            const x = (column.right + other.left) / 2 - area.left;
            if (bent) {
              let alpha = 0;
              for (let dx = 4; dx < 60; dx++)
                alpha = Math.max(alpha, at(column.right - area.left + 6 + dx, y));
              alphas.push(alpha);
            } else alphas.push(at(x, y));
          }
          return alphas;
        }, arcs);
        if (!ink.every((alpha) => alpha > 100)) throw new Error(`${arcs ? "arcs" : "lines"}: ${ink}`);
      }
      await set(page, { arcs: false, mass: 0.5, keep: "mass" });
    },
  },

  "pointing at a token shows its lines and their weights": {
    heads: { ...HEADS, recipe: {} },
    hash: "#v1/head?m=lines&n=5",
    async run(page) {
      await lineCounts(page);
      const caption = page.locator("attention-view .lines .said");
      await page.mouse.move(...(await over(page, "queries", "w3")));
      await expect(caption).toContainText("‹w3› gives");
      const report = await page.evaluate(() => {
        const { view } = /** @type {any} */ (globalThis);
        const inside = view.shadowRoot;
        const { layer, head } = view.state;
        const shown = [...inside.querySelectorAll(".lines .value:not([hidden]) data")].map((data) =>
          Number(data.value),
        );
        const row = [...view.store.row({ block: 0, layer, head }, 3, "weights")].sort((a, b) => b - a);
        return {
          shown,
          row: row.slice(0, 3),
          stepsBack: inside.querySelector(".lines canvas").classList.contains("behind"),
          big: Number(inside.querySelector(".readout .big data").value),
        };
      });
      same(
        report.shown,
        report.row.filter((weight) => weight >= 0.02 * report.row[0]),
        "the weights at the ends",
      );
      same(
        [report.stepsBack, report.big],
        [true, report.row[0]],
        "the others step back; the inspector has the strongest",
      );
      await page.mouse.move(...(await over(page, "keys", "w6")));
      await expect(caption).toContainText("‹w6› gets");
      await page.mouse.move(10, 10);
      // Without a pointer the lines of the token with the focus are shown.
      await page.evaluate(() => /** @type {any} */ (globalThis).view.shadowRoot.activeElement?.blur());
      // Nothing is pointed at.
      await expect(caption).toHaveText("");
    },
  },

  "every line can be asked": {
    heads: { Nq: 12, layers: 1, heads: 1, d: 16, plant: "previous" },
    hash: "#v1/head?m=lines",
    async run(page) {
      await set(page, { top: 1, query: 0, key: 0 });
      await lineCounts(page);
      const a = await over(page, "queries", "w7");
      const b = await over(page, "keys", "w6");
      await page.mouse.move((a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      await expect(page.locator("attention-view .lines .said")).toContainText("‹w7› to ‹w6›");
      await page.mouse.down();
      await page.mouse.up();
      same((await state(page)).pinned, [7, 6], "a click on a line pins its cell");
    },
  },

  "clicks choose one token, several, a range": {
    heads: HEADS,
    hash: "#v1/head?m=lines",
    async run(page) {
      await lineCounts(page);
      const at = (/** @type {number} */ n) => over(page, "queries", `w${n}`);
      const chosen = async () => (await state(page)).rows;
      await page.mouse.click(...(await at(4)));
      same(await chosen(), [4], "a click");
      await page.keyboard.down("Control");
      await page.mouse.click(...(await at(7)));
      await page.keyboard.up("Control");
      same(await chosen(), [4, 7], "with Control");
      await page.keyboard.down("Shift");
      await page.mouse.click(...(await at(9)));
      await page.keyboard.up("Shift");
      same(await chosen(), [7, 8, 9], "with Shift");
      const keys = await over(page, "keys", "w2");
      await page.mouse.click(...keys);
      same((await state(page)).columns, [2], "a key");
      await page.keyboard.press("Escape");
      const now = await state(page);
      same([now.rows, now.columns], [[], []], "Escape takes it back");
    },
  },

  "the keyboard reaches a named weight": {
    heads: HEADS,
    hash: "#v1/head?m=lines",
    async run(page) {
      await set(page, { query: 0, key: 0, pinned: null });
      for (let n = 0; n < 40 && (await focused(page)).role !== "option"; n++)
        await page.keyboard.press("Tab");
      const press = async (/** @type {string[]} */ ...keys) => {
        for (const key of keys) await page.keyboard.press(key);
        await settled(page);
      };
      await press("ArrowDown", "ArrowDown", "ArrowDown");
      let { text } = await focused(page);
      if (!/^0?\.?\d.* w3 to w\d, rank 1 of 4\. Layer 0 head 0\.$/.test(text))
        throw new Error(`a query says: ${text}`);
      await press("ArrowRight");
      while ((await state(page)).key > 1) await press("ArrowUp");
      while ((await state(page)).key < 1) await press("ArrowDown");
      text = (await focused(page)).text;
      const value = await page.evaluate(() =>
        /** @type {any} */ (globalThis).view.store.cell({ block: 0, layer: 0, head: 0 }, 3, 1, "weights"),
      );
      if (!/ w3 to w1, rank \d+ of 4\. Layer 0 head 0\.$/.test(text)) throw new Error(`a key says: ${text}`);
      if (Math.abs(Number.parseFloat(text) - value) > 0.0005 + value / 100)
        throw new Error(`it says ${text}, the weight is ${value}`);
      await press("Enter");
      same((await state(page)).pinned, [3, 1], "Enter pins");
      await press("Escape", "ArrowLeft", "End");
      same((await state(page)).query, 11, "Left goes back to the queries, End to the last");
      await press("Shift+ArrowUp", "Shift+ArrowUp");
      same((await state(page)).rows, [9, 10, 11], "Shift chooses as it goes");
      await press("Control+Enter");
      same((await state(page)).rows, [10, 11], "Control and Enter: one less");
      const list = await page.evaluate(() => {
        const inside = /** @type {any} */ (globalThis).view.shadowRoot;
        const option = inside.activeElement;
        return [option.getAttribute("aria-posinset"), option.getAttribute("aria-setsize")];
      });
      same(list, ["10", "12"], "its place in the list");
    },
  },

  "segments and hidden keys apply": {
    heads: { ...HEADS, Nq: 20, recipe: {} },
    hash: "#v1/head?m=lines&qs=1&ks=0",
    async run(page) {
      await lineCounts(page);
      const names = () =>
        page.evaluate(() =>
          ["queries", "keys"].map(
            (column) =>
              /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(
                `.lines .column.${column} .labels span:not([hidden])`,
              ).length,
          ),
        );
      same(await names(), [10, 10], "half of the queries, half of the keys");
      const [, , share] = await lineCounts(page);
      if (share > 0.9) throw new Error(`one segment of two has ${share} of the mass`);
      await set(page, { querySegments: [], keySegments: [], top: 16, hide: "first" });
      await frames(page);
      const gap = (await lineCounts(page))[2];
      await set(page, { renormalize: true });
      await frames(page);
      const shared = (await lineCounts(page))[2];
      if (!(shared > gap)) throw new Error(`renormalized ${shared}, with a gap ${gap}`);
      same(
        await page.evaluate(
          () =>
            /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".lines .column.keys .faded")
              ?.textContent,
        ),
        "w0",
        "the hidden key is struck out",
      );
    },
  },

  "two texts of different lengths": {
    heads: { Nq: 3, Nk: 29, recipe: { mask: "causal", queryOffset: 26 } },
    hash: "#v1/head?m=lines",
    async run(page) {
      const [edges] = await lineCounts(page);
      same(edges, 9, "three lines of each query");
      same(await page.locator("attention-view").getByLabel("arcs").count(), 0, "no arcs across two texts");
    },
  },

  "512 tokens scroll, and follow the cursor": {
    heads: { Nq: 512, layers: 1, heads: 1, recipe: { mask: "causal" } },
    hash: "#v1/head?m=lines&i=3&j=2",
    async run(page) {
      await set(page, { query: 3, key: 2, pinned: null });
      await lineCounts(page);
      const at = () =>
        page.evaluate(() => {
          const inside = /** @type {any} */ (globalThis).view.shadowRoot;
          return {
            tops: [...inside.querySelectorAll(".lines .column")].map((column) =>
              Math.round(column.scrollTop),
            ),
            labels: inside.querySelectorAll(".lines .labels span").length,
            first: inside.querySelector(".lines .column.queries .labels span").textContent,
          };
        });
      same((await at()).tops, [0, 0], "at the beginning");
      await page.mouse.move(...(await over(page, "keys", "w12")));
      await page.mouse.wheel(0, 900);
      await page.waitForFunction(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".lines .column.keys").scrollTop >
          800,
      );
      await frames(page);
      same((await at()).tops[0], 0, "a column scrolls by itself");
      const middle = await over(page, "queries", "w12");
      await page.mouse.move(middle[0] + 200, middle[1]);
      await page.mouse.wheel(0, 360);
      const both = async () => {
        const { tops } = await at();
        return tops[0] >= 340 && tops[1] > 1100;
      };
      await expect.poll(both, { message: "between the columns both scroll" }).toBe(true);
      const { labels } = await at();
      if (labels > 150) throw new Error(`${labels} labels for 512 tokens`);
      await page.evaluate(() =>
        /** @type {any} */ (globalThis).view.shadowRoot
          .querySelector(".lines [role=option][tabindex='0']")
          .focus(),
      );
      await page.keyboard.press("End");
      await settled(page);
      same((await state(page)).query, 511, "End goes to the last query");
      if ((await at()).tops[0] < 8000) throw new Error("the column does not follow the cursor");
      await page.keyboard.press("0");
      await settled(page);
    },
  },
};

for (const [name, { heads, hash, run }] of Object.entries(CASES))
  test(name, ({ visit }) => visit({ heads, hash }, run));

test("hovering over 512 tokens draws no line again", async ({ visit }) => {
  const heads = { Nq: 512, layers: 1, heads: 1, d: 32, recipe: { mask: "causal" } };
  await visit({ heads, hash: "#v1/head?m=lines&i=1&j=1" }, async (page) => {
    await lineCounts(page);
    await settled(page);
    const caption = page.locator("attention-view .lines .said");
    await page.evaluate(() => {
      const now = /** @type {any} */ (globalThis);
      now.painted = 0;
      now.view.shadowRoot.querySelector(".lines").addEventListener("painted", () => now.painted++);
    });
    const painted = () => page.evaluate(() => /** @type {any} */ (globalThis).painted);
    const [x, first] = await over(page, "queries", "w1");
    const [, last] = await over(page, "queries", "w18");
    for (let n = 0; n < 120; n++) await page.mouse.move(x, first + ((last - first) * n) / 119);
    await expect(caption).toContainText("‹w18› gives");
    same(await painted(), 0, "the lines are on a canvas of their own, under those of the pointer");
    await set(page, { top: 2 });
    if (!((await painted()) > 0)) throw new Error("other lines were drawn, but no painting was counted");
  });
});

test("thousands of lines are drawn at once, and no more", async ({ visit }) => {
  const heads = { Nq: 200, layers: 1, heads: 1 };
  await visit({ heads, hash: "#v1/head?m=lines" }, async (page) => {
    await lineCounts(page);
    // From afar all tokens are on screen; close up each has its name, and the columns scroll.
    const fits = () =>
      page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".lines .column")].every(
          (column) => column.scrollHeight <= column.clientHeight + 1,
        ),
      );
    for (let n = 0; n < 10 || (n < 30 && !(await fits())); n++) {
      await page.keyboard.press("-");
      await settled(page);
    }
    const count = await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      return await new Promise((resolve) => {
        // Rows are read in slices; a busy machine paints some of the lines before all.
        const all = 200 * 16;
        const late = setTimeout(() => resolve(-1), 60_000);
        view.shadowRoot.querySelector(".lines").addEventListener("painted", (/** @type {any} */ event) => {
          if (event.detail.lines < all) return;
          clearTimeout(late);
          resolve(event.detail.lines);
        });
        view.state = { top: 16 };
      });
    });
    same(count, 200 * 16, "all are drawn");
    await set(page, { keep: "mass", mass: 0.99 });
    // The longer caption takes a line of the picture's height.
    await page.keyboard.press("-");
    await settled(page);
    const [edges, of, share, limit] = await lineCounts(page);
    same(
      [edges, of, limit],
      [4000, 200 * 200, 4000],
      "of too many the strongest are drawn, and the caption says so",
    );
    if (!(share < 0.99)) throw new Error(`${edges} lines are said to show ${share}`);
  });
});
