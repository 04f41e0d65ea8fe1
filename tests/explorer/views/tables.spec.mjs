// @ts-check
/**
 * The numbers of every view as a table (T), and as CSV and JSON from the export sheet: each number is that of the library, axe
 * finds nothing in the table, and Escape shows the picture again.
 */
import { expect } from "@playwright/test";
import { rollout, storeFrom } from "heed/view";
import { ELEMENT, violations } from "../../support/axe.mjs";
import { test } from "../support/fixtures.ts";
import { makeInput } from "../support/heads.mjs";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const HEADS = { heads: 3, layers: 2, Nq: 9, recipe: { mask: "causal" } };
const N = 9;
const store = storeFrom(makeInput(HEADS));
/** A row of weights of the library. @param {number} query @param {number} layer @param {number} head */
const weights = (query, layer = 1, head = 2) => [...store.row({ block: 0, layer, head }, query, "weights")];
const names = Array.from({ length: N }, (_, i) => `w${i}`);
/** @param {readonly number[]} row */
const strongest = (row) =>
  row
    .map((weight, key) => ({ key, weight }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, 5)
    .flatMap(({ key, weight }) => [names[key], weight]);

test.beforeAll(async () => {
  for (const layer of [0, 1]) for (const head of [0, 1, 2]) await store.load({ block: 0, layer, head });
});

/** The cells of the table: texts and full numbers. @param {Page} page @returns {Promise<(string | number)[][]>} */
const cells = (page) =>
  page.evaluate(() =>
    [
      .../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".tablewrap tbody tr:not(.space)"),
    ].map((tr) =>
      [...tr.children].flatMap((cell) => [
        ...[...cell.querySelectorAll(".token")].map((one) => one.textContent),
        ...[...cell.querySelectorAll("data")].map((one) => Number(one.value)),
      ]),
    ),
  );

/** A file of the export sheet. @param {Page} page @param {"CSV" | "JSON"} kind @returns {Promise<string>} */
async function exported(page, kind) {
  await page.keyboard.press("e");
  const download = page.waitForEvent("download");
  await page.locator("attention-view dialog button", { hasText: kind }).click();
  const stream = await (await download).createReadStream();
  let text = "";
  for await (const piece of stream) text += piece;
  await page.keyboard.press("Escape");
  await page.waitForFunction(
    () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("dialog") === null,
  );
  return text;
}

/**
 * Numbers to 12 digits: exp of the browser and of this process differ in the last bit.
 * @param {any} value @returns {any}
 */
const rounded = (value) =>
  Array.isArray(value)
    ? value.map(rounded)
    : typeof value === "number"
      ? Number(value.toPrecision(12))
      : value;

/** The number of a CSV field, or its text. @param {string} field */
const parsed = (field) => (field === "" ? null : Number.isNaN(Number(field)) ? field : Number(field));

const headRows = () => names.map((name, i) => [i, name, expect.any(Number), ...strongest(weights(i))]);
const headCsv = () =>
  names.map((name, i) => [name, ...weights(i).map((weight, j) => (j > i ? "masked" : weight))]);

/**
 * A view: its address, the rows of its table, and the rows of its export.
 * @type {readonly { name: string, hash: string, rows: () => unknown[] | Promise<unknown[]>, csv: () => unknown[] | Promise<unknown[]> }[]}
 */
const VIEWS = [
  { name: "matrix", hash: "#v1/head?l=1&h=2&i=5&j=3", rows: headRows, csv: headCsv },
  {
    name: "lines",
    hash: "#v1/head?m=lines&l=1&h=2&i=5&j=3&k=1",
    rows: headRows,
    csv: () =>
      names.map((name, i) => {
        const row = weights(i);
        const key = row.indexOf(Math.max(...row));
        return [i, name, key, names[key], row[key]];
      }),
  },
  {
    name: "text",
    hash: "#v1/head?m=text&l=1&h=2&i=5&j=3",
    rows: headRows,
    csv: () => names.map((name, j) => [j, name, j > 5 ? "masked" : weights(5)[j]]),
  },
  {
    name: "row",
    hash: "#v1/row?l=1&h=2&i=5&j=3",
    rows: () =>
      names.map((name, j) => [
        j,
        name,
        ...(j > 5 ? ["masked"] : [store.row({ block: 0, layer: 1, head: 2 }, 5, "masked")[j]]),
        weights(5)[j],
      ]),
    csv: () =>
      store
        .ledger({ block: 0, layer: 1, head: 2 }, 5, 3)
        .lines.map(({ step, name, value }) => ["w5", "w3", step, name, expect.anything(), value.value]),
  },
  {
    name: "model",
    hash: "#v1/model?l=1&h=2",
    rows: async () => {
      const rows = [];
      for (const layer of [0, 1])
        for (const head of [0, 1, 2]) {
          const { entropy } = await store.measures({ block: 0, layer, head });
          rows.push(expect.arrayContaining(rounded([layer, head, entropy])));
        }
      return rows;
    },
    csv: async () => {
      const rows = [];
      for (const layer of [0, 1])
        for (const head of [0, 1, 2]) {
          const { entropy, maxWeight } = await store.measures({ block: 0, layer, head });
          rows.push(expect.arrayContaining(rounded([layer, head, entropy, maxWeight])));
        }
      return rows;
    },
  },
  {
    name: "compare",
    hash: "#v1/compare?l=1&h=2&c=0.0.1&i=5&j=3",
    rows: () => {
      const [a, b] = [weights(5), weights(5, 0, 1)];
      return names.map((name, j) => [name, a[j], b[j], a[j] - b[j]]);
    },
    csv: () =>
      names.flatMap((query, i) => {
        const [a, b] = [weights(i), weights(i, 0, 1)];
        return names.map((key, j) => [query, query, key, key, a[j], b[j], a[j] - b[j]]);
      }),
  },
  {
    name: "flow",
    hash: "#v1/flow?l=1&h=2&i=5&j=3",
    rows: async () => {
      const { products, rowSums } = await rollout(store);
      const product = /** @type {Float64Array} */ (products.at(-1));
      return names.map((name, i) => [
        i,
        name,
        rowSums[i],
        ...strongest([...product.subarray(i * N, (i + 1) * N)]),
      ]);
    },
    csv: async () => {
      const { products, rowSums } = await rollout(store);
      const product = /** @type {Float64Array} */ (products.at(-1));
      return names.map((name, i) => [name, ...product.subarray(i * N, (i + 1) * N), rowSums[i]]);
    },
  },
];

for (const { name, hash, rows, csv } of VIEWS)
  test(`${name}: T gives its numbers as a table, and CSV and JSON have the library's`, async ({ visit }) => {
    await visit({ heads: HEADS, hash }, async (page) => {
      await page.keyboard.press("t");
      await page.waitForFunction(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".tablewrap tbody tr.current") !==
          null,
      );
      const table = rounded(await rows());
      await expect.poll(async () => rounded(await cells(page)), { timeout: 60_000 }).toEqual(table);
      expect(await violations(page, ELEMENT)).toEqual([]);

      const [, ...lines] = (await exported(page, "CSV")).trim().split("\r\n");
      const want = rounded(await csv());
      // The formulas of a ledger have commas of their own.
      if (name !== "row") expect(rounded(lines.map((line) => line.split(",").map(parsed)))).toEqual(want);
      expect(rounded(JSON.parse(await exported(page, "JSON")).rows)).toEqual(want);

      // Arrows go on moving the cursor, and Escape gives the picture back.
      const before = await page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowUp");
      await settled(page);
      const after = await page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));
      if (name === "model") expect(after.head).toBeLessThanOrEqual(before.head);
      else expect([after.query, after.key]).toEqual([before.query - 1, 0]);
      await page.keyboard.press("Escape");
      await page.waitForFunction(
        () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".tablewrap") === null,
      );
      expect(await page.evaluate(() => /** @type {any} */ (globalThis).view.state.view)).toBe(before.view);
    });
  });

for (const hash of ["#v1/head?m=matrix&t=1", "#v1/model?t=1"])
  test(`the columns that name a row of ${hash} stay in place while the others scroll`, async ({ visit }) => {
    await visit({ heads: HEADS, hash, width: 420 }, async (page) => {
      await page.locator("attention-view .tablewrap tr.current").waitFor();
      const places = (/** @type {number} */ left) =>
        page.evaluate((scroll) => {
          const { shadowRoot } = /** @type {any} */ (globalThis).view;
          const wrap = shadowRoot.querySelector(".tablewrap");
          wrap.scrollLeft = scroll;
          const edge = wrap.getBoundingClientRect().left;
          return ["thead tr", "tr.current"].flatMap((row) =>
            [...wrap.querySelectorAll(`${row} > *`)].slice(0, 3).map((cell) => {
              const { left, right } = cell.getBoundingClientRect();
              const on = shadowRoot.elementFromPoint(
                left + 1,
                (cell.getBoundingClientRect().top + cell.getBoundingClientRect().bottom) / 2,
              );
              return { left: left - edge, right: right - edge, onTop: on !== null && cell.contains(on) };
            }),
          );
        }, left);
      const still = await places(0);
      const scrolled = await places(120);
      for (const row of [0, 3]) {
        // At most the pane's padding, and the second column follows the first.
        expect(scrolled[row].left).toBe(0);
        expect(scrolled[row + 1].left).toBeCloseTo(scrolled[row].right, 0);
        expect(scrolled[row].onTop && scrolled[row + 1].onTop).toBe(true);
        expect(still[row + 2].left - scrolled[row + 2].left).toBe(120);
      }
    });
  });
