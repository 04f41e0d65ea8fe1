// @ts-check
/** Keyboard only: in each view one named weight is reached and read, and every step can be undone. */
import { same, test } from "./support/fixtures.ts";
import { settled, textOf } from "./support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** The state, as the element tells it. @param {Page} page @returns {Promise<any>} */
const state = (page) => page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));

/** What has the focus: its role, name or text. @param {Page} page @returns {Promise<{ role: string, text: string }>} */
const focused = (page) =>
  page.evaluate(() => {
    const active = /** @type {any} */ (globalThis).view.shadowRoot.activeElement;
    return {
      role: active?.getAttribute("role") ?? active?.tagName.toLowerCase() ?? "nothing",
      text: active?.getAttribute("aria-label") ?? active?.textContent?.trim() ?? "",
    };
  });

/** Presses Tab until something fits. @param {Page} page @param {(at: { role: string, text: string }) => boolean} fits @param {number} [limit] */
async function tabTo(page, fits, limit = 40) {
  for (let n = 0; n < limit; n++) {
    await page.keyboard.press("Tab");
    if (fits(await focused(page))) return;
  }
  throw new Error(`Tab never reached it; the focus is on ${JSON.stringify(await focused(page))}`);
}

/** @param {Page} page @param {...string} keys */
async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
}

/** The value of a weight as the page writes it. @param {Page} page */
const weight = (page) =>
  page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const { layer, head, query, key } = view.state;
    return view.store.cell({ block: 0, layer, head }, query, key, "weights");
  });

/**
 * Tab from the start of the page to its end: what is wrong with the way. Each control that can have the focus gets it once, in the order of
 * the page, and shows it.
 * @param {Page} page @returns {Promise<string[]>}
 */
async function walked(page) {
  await page.evaluate(() => {
    const inside = /** @type {any} */ (globalThis).view.shadowRoot;
    const named = (/** @type {any} */ one) =>
      `${one.localName} ${one.getAttribute("aria-label") ?? one.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}`;
    const all = [...inside.querySelectorAll("a[href], button, input, select, summary, [tabindex]")];
    const stops = all.filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
    const start = document.createElement("button");
    document.body.prepend(start);
    start.focus();
    Object.assign(globalThis, { named, stops });
  });
  const [order, wrong] = [/** @type {number[]} */ ([]), /** @type {string[]} */ ([])];
  for (let n = 0; n < 150; n++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const { view, named, stops } = /** @type {any} */ (globalThis);
      const one = view.shadowRoot.activeElement;
      if (one === null) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      return {
        place: stops.indexOf(one),
        name: named(one),
        isShown: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2,
      };
    });
    if (at === null) break;
    order.push(at.place);
    if (!at.isShown) wrong.push(`no visible focus: ${at.name}`);
    if (at.place < 0) wrong.push(`no stop of the page at rest: ${at.name}`);
  }
  const missed = await page.evaluate((reached) => {
    const { named, stops } = /** @type {any} */ (globalThis);
    document.querySelector("body > button")?.remove();
    return stops.flatMap((/** @type {any} */ one, /** @type {number} */ place) =>
      reached.includes(place) ? [] : [named(one)],
    );
  }, order);
  const isSorted = order.every((place, n) => n === 0 || place > order[n - 1]);
  return [
    ...wrong,
    ...missed.map((/** @type {string} */ name) => `not reached: ${name}`),
    ...(isSorted ? [] : [`the order is ${order}`]),
  ];
}

const HEADS = { heads: 3, layers: 3, Nq: 12, recipe: { mask: "causal" }, segments: true };

/** @type {Record<string, (page: Page) => Promise<void>>} */
const CASES = {
  async matrix(page) {
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 0, key: 0 }));
    await tabTo(page, ({ role }) => role === "gridcell");
    // The atlas's cell comes first, then the matrix's.
    if (/layer/i.test((await focused(page)).text) && !/ to /.test((await focused(page)).text))
      await tabTo(page, ({ role, text }) => role === "gridcell" && / to /.test(text));
    await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight");
    let now = await state(page);
    same([now.query, now.key], [3, 1], "arrows move the cell");
    const { text } = await focused(page);
    same(/ of 4 tokens/.test(await textOf(page, ".side")), true, "a row counts the keys that it may see");
    const value = await weight(page);
    if (!/^0?\.?\d.*w3 to w1, rank \d+ of 4\. Layer 0 head 0\.$/.test(text))
      throw new Error(`the cell says: ${text}`);
    if (Math.abs(Number(text.split(",")[0]) - value) > 0.0005 + value / 100)
      throw new Error(`the cell says ${text}, the weight is ${value}`);
    await press(page, "Enter");
    same((await state(page)).pinned, [3, 1], "Enter pins");
    await press(page, "ArrowRight");
    now = await state(page);
    same([now.key, now.pinned], [2, [3, 1]], "arrows move while the pin stays");
    await press(page, "ArrowRight", "ArrowRight");
    same((await focused(page)).text, "masked, w3 to w4", "a masked cell says so");
    await press(page, "Escape");
    same((await state(page)).pinned, null, "Escape releases");
    await press(page, "Control+End");
    now = await state(page);
    same([now.query, now.key], [11, 11], "Control and End: the corner");
    await press(page, "Home", "PageUp");
    now = await state(page);
    same([now.query, now.key], [0, 0], "Home and Page up");
    await press(page, "]", "}", "2");
    now = await state(page);
    same([now.head, now.layer, now.stage], [1, 1, "scaled"], "brackets and digits");
    await press(page, "[", "{", "4", "ArrowDown", "ArrowDown", "n");
    const row = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      return [...view.store.row({ block: 0, layer: 0, head: 0 }, 2, "weights")];
    });
    // Keys 0 to 2 are seen by query 2; from the weakest there is no further.
    const order = [0, 1, 2].sort((a, b) => row[b] - row[a]);
    same((await state(page)).key, order[Math.min(2, order.indexOf(0) + 1)], "N goes to the next strongest");
    await press(page, "+");
    if ((await state(page)).camera === null) throw new Error("+ does not zoom");
    await press(page, "0");
    same((await state(page)).camera, null, "0 shows everything");
    same((await focused(page)).role, "gridcell", "the focus stays in the matrix");
  },

  async atlas(page) {
    await tabTo(page, ({ role, text }) => role === "gridcell" && /^Layer/.test(text));
    await press(page, "ArrowRight", "ArrowDown");
    let now = await state(page);
    same([now.layer, now.head], [1, 1], "arrows move the head");
    if (!/^Layer 1 · Head 1\. /.test((await focused(page)).text))
      throw new Error(`the head says: ${(await focused(page)).text}`);
    await press(page, "p");
    now = await state(page);
    same(now.pins, [{ block: "self", layer: 1, head: 1 }], "P pins the head");
  },

  async model(page) {
    await press(page, "Tab");
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { view: "model" };
    });
    await settled(page);
    await tabTo(page, ({ role }) => role === "gridcell");
    await press(page, "ArrowDown", "ArrowRight", "Enter");
    const now = await state(page);
    same([now.view, now.layer, now.head], ["head", 1, 1], "Enter opens the head");
    await tabTo(page, ({ role, text }) => role === "gridcell" && / to /.test(text));
    await press(page, "Escape");
    same((await state(page)).view, "model", "Escape goes up");
  },

  async row(page) {
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 5, key: 2 }));
    await tabTo(page, ({ role, text }) => role === "gridcell" && / to /.test(text));
    await press(page, "w");
    same((await state(page)).view, "row", "W opens the row");
    const cell = await page.evaluate(() => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      const line = inside.querySelector(".rowview .weight-line data");
      return { value: Number(line.value), source: line.dataset.source };
    });
    same(cell, { value: await weight(page), source: "softmax" }, "the ledger ends in the weight");
    await tabTo(page, ({ text }) => /arrow keys move/.test(text));
    await press(page, "ArrowRight");
    same((await state(page)).key, 3, "arrows move the key");
    await tabTo(page, ({ text }) => text === "scale");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("1");
    await press(page, "Tab");
    const changed = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const inside = view.shadowRoot;
      const value = Number(inside.querySelector(".rowview .weight-line data").value);
      const want = view.store.row({ block: 0, layer: 0, head: 0 }, 5, "weights", { scale: 1 })[3];
      return { value, want, badge: inside.querySelector(".rowview .badge")?.textContent };
    });
    same([changed.value, changed.badge], [changed.want, "changed"], "a typed scale changes the ledger");
    await press(page, "Escape");
    const restored = await page.evaluate(() =>
      Number(
        /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".rowview .weight-line data").value,
      ),
    );
    same(restored, await weight(page), "Escape restores");
  },

  async table(page) {
    await tabTo(page, ({ role, text }) => role === "gridcell" && / to /.test(text));
    await press(page, "t");
    await tabTo(page, ({ role }) => role === "region");
    const before = (await state(page)).query;
    await press(page, "ArrowUp");
    same((await state(page)).query, before - 1, "arrows move the row");
    const value = await page.evaluate(() => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      const [cell] = [...inside.querySelectorAll(".tablewrap tr.current td data")].slice(1);
      return Number(cell.value);
    });
    const best = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      return Math.max(...view.store.row({ block: 0, layer: 0, head: 0 }, view.state.query, "weights"));
    });
    same(value, best, "the table has the row's strongest weight");
    await press(page, "Escape");
    same((await state(page)).table, false, "Escape leaves the table");
  },

  async palette(page) {
    await tabTo(page, ({ role }) => role === "gridcell");
    await press(page, "Control+k");
    await page.keyboard.type("stage scores");
    await press(page, "Enter");
    same((await state(page)).stage, "scores", "a command is found and run");
    await press(page, "/");
    await page.keyboard.type("w7");
    await press(page, "Enter");
    same((await state(page)).query, 7, "a token is found");
    await press(page, "?");
    if (
      !(await page.evaluate(
        () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("dialog[open] .keylist") !== null,
      ))
    )
      throw new Error("? shows no keys");
    // Tab leaves the dialog for the browser, and no control has the focus.
    await press(page, "Tab", "2");
    same((await state(page)).stage, "scores", "keys do nothing to the picture behind a dialog");
    await press(page, "Escape");
    if (
      await page.evaluate(
        () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("dialog") !== null,
      )
    )
      throw new Error("Escape does not close the dialog");
    // Nor does the page show it again, if it changes before the event says that the dialog was closed. requestClose is what Escape does.
    await press(page, "?");
    const open = await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      view.shadowRoot.querySelector("dialog").requestClose();
      view.requestUpdate();
      await view.updateComplete;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return view.shadowRoot.querySelector("dialog") !== null;
    });
    same(open, false, "a closed dialog is not shown again");
  },

  async toolbar(page) {
    await tabTo(page, ({ text }) => text === "Matrix");
    await press(page, "ArrowRight", "ArrowRight", "ArrowRight");
    same((await focused(page)).text, "q·k", "arrows go along the toolbar");
    await press(page, "Enter");
    same((await state(page)).stage, "scores", "Enter presses");
    await press(page, "Tab");
    same((await focused(page)).role, "gridcell", "a toolbar is one stop");
  },

  async "every control, in order"(page) {
    // The panels that are loaded later.
    await page.waitForFunction(() => /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".ask"));
    for (const change of [
      { view: "head" },
      { mode: "lines" },
      { view: "model" },
      { view: "row" },
      { view: "compare" },
      { view: "flow" },
    ]) {
      await page.evaluate(
        (patch) => Object.assign(/** @type {any} */ (globalThis).view, { state: patch }),
        change,
      );
      await settled(page);
      same(await walked(page), [], JSON.stringify(change));
    }
    await page.evaluate(() =>
      Object.assign(/** @type {any} */ (globalThis).view, { state: { view: "head", mode: "matrix" } }),
    );
    await settled(page);
    await tabTo(page, ({ text }) => text === "Matrix");
    for (let n = 0; n < 20 && (await focused(page)).text !== "more"; n++) await press(page, "ArrowRight");
    await press(page, "Enter", "ArrowRight", "ArrowRight");
    same((await focused(page)).role, "select", "arrows go into the menu");
    await press(page, "Escape");
    same((await focused(page)).text, "more", "Escape leaves the menu");
    same((await state(page)).view, "head", "and not the page");
    await press(page, "Tab", "Shift+Tab");
    same((await focused(page)).text, "more", "the toolbar is still a stop");
  },

  async "letters off"(page) {
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.keys = "off";
    });
    await tabTo(page, ({ role, text }) => role === "gridcell" && / to /.test(text));
    await press(page, "w", "1", "t", "m");
    const now = await state(page);
    same([now.view, now.stage, now.table], ["head", "weights", false], "single letters do nothing");
    await press(page, "Enter");
    if ((await state(page)).pinned === null) throw new Error("Enter no longer pins");
  },

  async history(page) {
    await tabTo(page, ({ role, text }) => role === "gridcell" && / to /.test(text));
    // Each key is in the address before the next: what is typed faster than that is one step back.
    await press(page, "]");
    await page.waitForFunction(() => /[?&]h=1/.test(location.hash));
    const before = new URL(page.url()).hash;
    await press(page, "3");
    await page.waitForFunction((was) => location.hash !== was, before);
    await page.evaluate(() => history.back());
    await page.waitForFunction(() => /** @type {any} */ (globalThis).view.state.stage === "weights");
    await page.evaluate(() => history.back());
    await page.waitForFunction(() => /** @type {any} */ (globalThis).view.state.head === 0);
    await page.evaluate(() => history.forward());
    await page.waitForFunction(() => /** @type {any} */ (globalThis).view.state.head === 1);
    const { hash } = new URL(page.url());
    if (!/^#v1\/head\?.*h=1/.test(hash)) throw new Error(`the address is ${hash}`);
  },
};

for (const [name, run] of Object.entries(CASES))
  test(`only the keyboard: ${name}`, ({ visit }) => visit({ heads: HEADS }, run));
