// @ts-check
/** <attention-row>, the ledger alone, several on a page with a strict policy: attributes, events, keys, axe, narrow and dark. */

import { expect } from "@playwright/test";
import { CONTRAST, ELEMENT, violations } from "../../support/axe.mjs";
import { test } from "../support/fixtures.ts";
import { files } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

files.set("/rows.html", [
  "text/html; charset=utf-8",
  '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>rows</title><link rel="stylesheet" href="style.css"><link rel="icon" href="data:,"><script type="module" src="start.mjs"></script><body><main><h1>rows</h1><attention-row layer="1" head="1" query="5" key="3"></attention-row><p>Between two.</p><attention-row query="0" key="0"></attention-row><attention-row></attention-row></main></body></html>',
]);

const at = { path: "/rows.html" };

test("three <attention-row> in an article show each their own cell, no higher than their ledger", ({
  visit,
}) => visit({ ...at, width: 700 }, several));
test("attributes, properties and events of <attention-row> work", ({ visit }) => visit(at, words));
test("the keyboard alone drives <attention-row>", ({ visit }) => visit(at, keyboard));
for (const scheme of /** @type {const} */ (["light", "dark"]))
  for (const width of [1280, 360])
    test(`axe finds nothing in <attention-row>, ${scheme}, ${width} px wide`, ({ visit }) =>
      visit({ ...at, scheme, width }, async (page) => {
        const rules = scheme === "light" ? ELEMENT : CONTRAST;
        const before = await violations(page, rules);
        await opened(page);
        const failures = [...before, ...(await violations(page, rules))];
        if (failures.length > 0) throw new Error(failures.slice(0, 8).join("\n    "));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) throw new Error(`the page is ${wide} px wider than the window`);
      }));

/** Opens heads in all three; gives what each shows. @param {Page} page */
function opened(page) {
  return page.evaluate(async () => {
    const { makeInput } = /** @type {any} */ (globalThis);
    const rows = /** @type {any[]} */ ([...document.querySelectorAll("attention-row")]);
    // What the reader sees of the third, from the first frame on.
    const cells = /** @type {Set<string>} */ (new Set());
    const look = () => {
      const { query, key } = rows[2].state;
      if (rows[2].shadowRoot.querySelector(".readout")) cells.add(`${query},${key}`);
      requestAnimationFrame(look);
    };
    look();
    const isNamed = rows.map((one) => one.hasAttribute("query"));
    for (const [n, one] of rows.entries())
      await one.open(makeInput({ seed: n + 1, Nq: 8 + n, recipe: { mask: "causal" } }));
    const right = (/** @type {any} */ one) => {
      const { layer, head, query, key } = one.state;
      const shown = Number(one.shadowRoot.querySelector(".readout .num")?.value);
      return shown === one.store.cell({ block: 0, layer, head }, query, key, "weights");
    };
    // Where no cell was named, one is chosen once the head was looked through, and written a frame later.
    const isChosen = (/** @type {any} */ { state }) => state.query + state.key > 0;
    const drawn = (/** @type {any} */ one, /** @type {number} */ n) =>
      (isNamed[n] || isChosen(one)) && one.shadowRoot.querySelector(".rowview") && right(one);
    for (let n = 0; n < 600 && !rows.every(drawn); n++)
      await new Promise((resolve) => requestAnimationFrame(resolve));
    return rows.map((one) => {
      const { view, layer, head, query, key } = one.state;
      return {
        cell: [view, layer, head, query, key].join(),
        right: right(one),
        cells: [...cells],
        attributes: ["layer", "head", "query", "key"].map((name) => one.getAttribute(name)).join(),
        apart: one.shadowRoot.querySelectorAll(".top, .toolbar, .atlas, .matrix, .side, .status").length,
        high: one.clientHeight > 400 && one.clientHeight < 850 && one.scrollHeight <= one.clientHeight + 1,
      };
    });
  });
}

/** @param {Page} page */
async function several(page) {
  const [first, second, third] = await opened(page);
  for (const one of [first, second, third])
    if (!one.right || one.apart > 0 || !one.high) throw new Error(JSON.stringify(one));
  if (first.cell !== "row,1,1,5,3" || first.attributes !== "1,1,5,3") throw new Error(JSON.stringify(first));
  // A cell that was named is shown, even the first; where none is named, one worth looking at.
  if (second.cell !== "row,0,0,0,0" || second.attributes !== "0,0,0,0")
    throw new Error(JSON.stringify(second));
  // It is shown once it has been chosen, and the picture does not jump.
  if (third.cell === "row,0,0,0,0" || third.cells.length !== 1) throw new Error(JSON.stringify(third));
}

/** @param {Page} page */
async function words(page) {
  await opened(page);
  const report = await page.evaluate(async () => {
    const one = /** @type {any} */ (document.querySelector("attention-row"));
    /** @type {string[]} */
    const reported = [];
    for (const name of ["cursorchange", "pin", "viewchange", "load"])
      one.addEventListener(name, (/** @type {CustomEvent} */ event) =>
        reported.push(`${name} ${JSON.stringify(event.detail)}`.slice(0, 80)),
      );
    one.setAttribute("query", "7");
    one.setCursor({ key: 2, head: 0 });
    one.state = { view: "head", table: true };
    await one.updateComplete;
    const svg = await one.toSVG();
    return {
      reported,
      shown: [
        one.state.view,
        one.state.table,
        one.getAttribute("query"),
        one.getAttribute("key"),
        one.getAttribute("head"),
      ].join(),
      text: one.shadowRoot.querySelector(".readout").textContent.replace(/\s+/g, " "),
      svg: /^<svg/.test(svg) && /Step by step|q·k/.test(svg),
      html: /<attention-view address data-hash="#v1\/row/.test(await one.toHTML()),
    };
  });
  if (report.shown !== "row,false,7,2,0" || !report.svg || !report.html)
    throw new Error(JSON.stringify(report));
  if (!/‹w7›.*‹w2›/.test(report.text)) throw new Error(report.text);
  const moved = report.reported.filter((one) => one.startsWith("cursorchange")).at(-1);
  if (
    !moved?.includes('"head":0,"query":7,"key":2') ||
    report.reported.some((one) => one.startsWith("viewchange"))
  )
    throw new Error(report.reported.join("; "));
}

/** @param {Page} page */
async function keyboard(page) {
  await opened(page);
  const state = () =>
    page.evaluate(() => ({ .../** @type {any} */ (document.querySelector("attention-row")).state }));
  await page.keyboard.press("Tab");
  const label = await page.evaluate(() =>
    document.querySelector("attention-row")?.shadowRoot?.activeElement?.getAttribute("aria-label"),
  );
  if (!/arrow keys/.test(label ?? "")) throw new Error(`the first stop is ${label}`);
  for (const key of ["ArrowLeft", "ArrowDown", "["]) await page.keyboard.press(key);
  let now = await state();
  if ([now.query, now.key, now.head].join() !== "6,2,0") throw new Error(JSON.stringify(now));
  // Keys of the explorer that a ledger has no use for are the page's.
  const free = await page.evaluate(() => {
    /** @type {string[]} */
    const keyEvents = [];
    globalThis.addEventListener("keydown", (event) =>
      keyEvents.push(`${event.key} ${event.defaultPrevented}`),
    );
    /** @type {any} */ (globalThis).keyEvents = keyEvents;
    return keyEvents;
  });
  for (const key of ["t", "?", "e", "m"]) await page.keyboard.press(key);
  const keyEvents = await page.evaluate(() => /** @type {any} */ (globalThis).keyEvents.join());
  now = await state();
  if (free.length > 0 || keyEvents !== "t false,? false,e false,m false" || now.view !== "row" || now.table)
    throw new Error(keyEvents);
  // A number changed by hand changes the rest; Escape puts it back.
  const weight = () =>
    page.evaluate(() =>
      document
        .querySelector("attention-row")
        ?.shadowRoot?.querySelector(".readout .num")
        ?.getAttribute("value"),
    );
  const before = await weight();
  await page.locator("attention-row details summary").first().click();
  await page.locator("attention-row .terms input.query").first().fill("9");
  await page.keyboard.press("Enter");
  await expect.poll(weight).not.toBe(before);
  await page.keyboard.press("Escape");
  await expect.poll(weight).toBe(before);
}
