// @ts-check
/**
 * axe finds nothing in any view and dialog: in light, and each in some of the looks dark, forced colors and narrow, in others for each commit;
 * the accessible text of a cell.
 */
import { expect } from "@playwright/test";
import { CONTRAST, ELEMENT, violations } from "../support/axe.mjs";
import { isItsTurn } from "../support/cases/count.ts";
import { test } from "./support/fixtures.ts";
import { settled } from "./support/site.mjs";

const HEADS = {
  heads: 4,
  keyHeads: 2,
  layers: 3,
  Nq: 12,
  recipe: { mask: "causal" },
  segments: true,
  blocks: ["enc", "dec"],
};

/** What is looked at: a state, and a dialog over it. @type {readonly { name: string, hash: string, act?: string }[]} */
const STATES = [
  { name: "matrix", hash: "#v1/head?i=5&j=3&at=5.3&hide=1st&pin=1.1,dec:2.2&rq=2-4&rk=1" },
  { name: "lines", hash: "#v1/head?m=lines&i=5&j=3" },
  { name: "text", hash: "#v1/head?m=text&i=5&j=3" },
  { name: "model", hash: "#v1/model?o=entropy&f=entropy:0.5:2" },
  { name: "row", hash: "#v1/row?i=5&j=3" },
  { name: "lines of several heads", hash: "#v1/head?m=lines&i=5&j=3&tg=1&pin=0.1,1.1" },
  { name: "flow", hash: "#v1/flow?i=5&j=3" },
  { name: "compare", hash: "#v1/compare?i=5&j=3" },
  { name: "heads asked", hash: "#v1/head?i=5&j=3&a=pair" },
  { name: "table", hash: "#v1/head?t=1" },
  { name: "table of all heads", hash: "#v1/model?t=1" },
  { name: "table of a row", hash: "#v1/row?i=5&j=3&t=1" },
  { name: "table of a comparison", hash: "#v1/compare?i=5&j=3&t=1" },
  { name: "table of the flow", hash: "#v1/flow?i=5&j=3&t=1" },
  { name: "palette", hash: "#v1/head", act: "Control+k" },
  { name: "keys", hash: "#v1/head", act: "?" },
  { name: "find", hash: "#v1/head", act: "/" },
  { name: "export", hash: "#v1/head", act: "e" },
  { name: "export of a comparison", hash: "#v1/compare?i=5&j=3", act: "e" },
];

/**
 * Error states, each on the page in the state of the previous one: a file that cannot be opened, numbers that are not weights, a
 * failed check, a rollout that does not exist.
 * @type {readonly { name: string, make: (page: import("@playwright/test").Page) => Promise<unknown> }[]}
 */
const FAULTS = [
  {
    name: "a file that cannot be opened",
    make: (page) =>
      page.evaluate(() => {
        const data = new DataTransfer();
        data.items.add(new File(["\u0001garbage"], "garbage.bin"));
        /** @type {any} */ (globalThis).view.dispatchEvent(
          new DragEvent("drop", { dataTransfer: data, bubbles: true }),
        );
      }),
  },
  {
    name: "numbers that are not weights",
    make: (page) =>
      page.evaluate(() => {
        const weights = { data: Float32Array.of(1.4, -0.4, Number.NaN, 1), shape: [1, 2, 2] };
        return /** @type {any} */ (globalThis).view.open({
          blocks: [{ tokens: ["a", "b"], layers: [{ weights }] }],
        });
      }),
  },
  {
    name: "a failed check",
    make: (page) =>
      page.evaluate(() => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        const input = makeInput({ Nq: 6, layers: 1, heads: 1 });
        input.blocks[0].layers[0].lse = { data: new Float32Array(6).fill(9), shape: [1, 6] };
        return view.open(input);
      }),
  },
  {
    name: "a rollout that does not exist",
    make: (page) =>
      page.evaluate(async () => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        await view.open(makeInput({ Nq: 6, Nk: 9 }));
        view.state = { view: "flow" };
      }),
  },
];

/** The light look of each width is checked by every rule; the others differ only in colors. */
const LOOKS = /** @type {const} */ ([
  { look: "light", scheme: "light", forced: false, width: 1280 },
  { look: "dark", scheme: "dark", forced: false, width: 1280 },
  // Forced colors are the same in each width.
  { look: "forced colors", scheme: "light", forced: true, width: 1280 },
  { look: "light, narrow", scheme: "light", forced: false, width: 360 },
  { look: "dark, narrow", scheme: "dark", forced: false, width: 360 },
]);

for (const [at, { look, ...options }] of LOOKS.entries())
  test(`axe finds nothing in any view or dialog, ${look}`, async ({ visit }) => {
    await visit({ ...options, height: 800, heads: HEADS, hash: STATES[0].hash }, async (page) => {
      /** @type {string[]} */
      const failures = [];
      /** Adds new violations, each with the first state that has it. @param {string} name */
      const collect = async (name) => {
        for (const one of await violations(page, look.startsWith("light") ? ELEMENT : CONTRAST))
          if (!failures.some((failure) => failure.endsWith(one))) failures.push(`${name}: ${one}`);
      };
      /** Each state in at least one of the other looks. @param {number} state */
      const has = (state) => at === 0 || isItsTurn(state + at, 3);
      for (const { name, hash, act } of STATES.filter((_, state) => has(state))) {
        await page.evaluate((to) => {
          location.hash = to;
        }, hash);
        await page.waitForTimeout(50);
        await settled(page);
        if (act) {
          await page.evaluate(() =>
            /** @type {any} */ (globalThis).view.shadowRoot.querySelector("button").focus(),
          );
          await page.keyboard.press(act);
          await expect(page.locator("attention-view dialog[open]")).toHaveCount(1);
          await settled(page);
        }
        await collect(name);
        if (act) {
          await page.keyboard.press("Escape");
          await expect(page.locator("attention-view dialog[open]")).toHaveCount(0);
        }
      }
      for (const [state, { name, make }] of FAULTS.entries()) {
        await make(page);
        await page.waitForTimeout(300);
        await settled(page);
        if (has(state)) await collect(name);
      }
      expect(failures).toEqual([]);
    });
  });

test("axe finds nothing with no file open, nor with one that cannot be opened", ({ visit }) =>
  visit({}, async (page) => {
    expect(await violations(page, ELEMENT)).toEqual([]);
    await FAULTS[0].make(page);
    await page.waitForFunction(() =>
      /Could not open/.test(/** @type {any} */ (globalThis).view.shadowRoot.textContent),
    );
    expect(await violations(page, ELEMENT)).toEqual([]);
  }));

test("the accessibility tree names a cell's tokens, weight and rank", ({ visit }) =>
  visit({ heads: HEADS, hash: "#v1/head?b=enc&i=5&j=3" }, tree));

/** The grid and its cell, as assistive technology reads them. @param {import("@playwright/test").Page} page */
async function tree(page) {
  await page.evaluate(() =>
    /** @type {any} */ (globalThis).view.shadowRoot
      .querySelector(".matrix [role=gridcell][tabindex='0']")
      .focus(),
  );
  await settled(page);
  const snapshot = await page.locator("attention-view .matrix [role=grid]").ariaSnapshot();
  const grid = await page.locator("attention-view .matrix [role=grid]").evaluate((one) => ({
    rows: one.getAttribute("aria-rowcount"),
    columns: one.getAttribute("aria-colcount"),
    row: one.querySelector("[tabindex='0']")?.parentElement?.getAttribute("aria-rowindex"),
    column: one.querySelector("[tabindex='0']")?.getAttribute("aria-colindex"),
  }));
  const want = { rows: "13", columns: "13", row: "7", column: "5" };
  if (JSON.stringify(grid) !== JSON.stringify(want)) throw new Error(`the grid says ${JSON.stringify(grid)}`);
  if (!/gridcell "0\.\d+, w5 to w3, rank \d+ of 6\. Layer 0 head 0\."/.test(snapshot))
    throw new Error(snapshot);
  if (!/rowheader "w5"/.test(snapshot) || !/columnheader "w3"/.test(snapshot)) throw new Error(snapshot);
}
