// @ts-check
/** The explorer as people use it: regressions of defects that were found by using it. */
import { readFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { signedCodeOf } from "../../src/store/measures/transfer.ts";
import { colorTable } from "../../src/view/color.ts";
import { becomes, same, test } from "./support/fixtures.ts";
import { cellAt, files, settled, textOf } from "./support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** The state. @param {Page} page @returns {Promise<any>} */
const state = (page) => page.evaluate(() => ({ .../** @type {any} */ (globalThis).view.state }));

/** Drops files on the element. @param {Page} page @param {readonly (readonly [name: string, text: string])[]} files */
const drop = (page, files) =>
  page.evaluate((entries) => {
    const data = new DataTransfer();
    for (const [name, text] of entries) data.items.add(new File([text], name));
    /** @type {any} */ (globalThis).view.dispatchEvent(
      new DragEvent("drop", { dataTransfer: data, bubbles: true }),
    );
  }, files);

for (const name of ["tired-cat", "time-flies", "fruit-flies"])
  files.set(`/${name}.safetensors`, [
    "application/octet-stream",
    readFileSync(new URL(`../../models/captures/${name}.safetensors`, import.meta.url)),
  ]);

/** Where the focus is: the role of what has it. @param {Page} page @returns {Promise<string>} */
const focus = (page) =>
  page.evaluate(() => {
    const active = /** @type {any} */ (globalThis).view.shadowRoot.activeElement;
    return active === null
      ? "nothing"
      : active.closest(".pane")
        ? "the picture"
        : active.tagName.toLowerCase();
  });

/** Weights of n tokens, a head that looks at one of them. @param {number} n @param {number} at */
const weights = (n, at) =>
  JSON.stringify([
    Array.from({ length: n }, () =>
      Array.from({ length: n }, (_, j) => (j === at ? 1 - 0.01 * (n - 1) : 0.01)),
    ),
  ]);

const HEADS = { heads: 3, layers: 3, Nq: 12, recipe: { mask: "causal" } };

/** @type {Record<string, (page: Page, base: string) => Promise<void>>} */
const CASES = {
  async "the palette opens dialogs"(page) {
    await focusPicture(page);
    for (const [typed, title] of [
      ["what was loaded", "What was loaded"],
      ["find a token", "Find a token"],
      ["export a figure", "Export"],
      ["keyboard", "Keyboard"],
    ]) {
      await page.keyboard.press("Control+k");
      await page.waitForFunction(
        () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("dialog[open] .search") !== null,
      );
      await page.keyboard.type(typed);
      await page.keyboard.press("Enter");
      await becomes(() => textOf(page, "dialog[open] h2"), title, `the palette's "${typed}"`);
      await page.keyboard.press("Escape");
      await becomes(() => textOf(page, "dialog"), "", "Escape closes it");
      await becomes(() => focus(page), "the picture", "the focus goes back");
    }
  },

  async "keys work from the first moment, and after each other"(page) {
    await page.waitForTimeout(300);
    /** @type {readonly (readonly [string, (now: any) => boolean])[]} */
    const typed = [
      ["l", (now) => now.mode === "lines"],
      ["x", (now) => now.mode === "text"],
      ["m", (now) => now.mode === "matrix"],
      ["t", (now) => now.table],
      ["t", (now) => !now.table],
      ["w", (now) => now.view === "row"],
      ["Escape", (now) => now.view === "head"],
      ["2", (now) => now.stage === "scaled"],
      ["4", (now) => now.stage === "weights"],
    ];
    for (const [key, done] of typed) {
      await page.keyboard.press(key);
      await becomes(async () => done(await state(page)), true, `what "${key}" does`);
      await settled(page);
      await becomes(() => focus(page), "the picture", `the focus after "${key}"`);
    }
    const before = (await state(page)).key;
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    await becomes(async () => (await state(page)).key !== before, true, `"n" goes to another key`);
    await page.keyboard.press("?");
    await becomes(() => textOf(page, "dialog[open] h2"), "Keyboard", "? opens the sheet");
  },

  async "after a drag Escape clears the selection"(page) {
    const a = await cellAt(page, 5, 1);
    const b = await cellAt(page, 8, 4);
    await page.mouse.move(a.x + 3, a.y + 3);
    await page.mouse.down();
    await page.mouse.move(b.x + 3, b.y + 3, { steps: 5 });
    await page.mouse.up();
    await becomes(async () => (await state(page)).rows, [5, 6, 7, 8], "a drag selects");
    await page.keyboard.press("Escape");
    await becomes(async () => (await state(page)).rows, [], "Escape clears");
  },

  async "a file that cannot be opened is said, and stays said"(page) {
    for (const [name, text] of [
      ["garbage.bin", "\u0001\u0002garbage"],
      ["tokens.json", '["a", "b"]'],
      ["cut.json", "[[[0.5, 0.5], [0.1"],
    ]) {
      await drop(page, [[name, text]]);
      await becomes(
        async () => (await textOf(page, ".notices")).includes(name),
        true,
        `a message about ${name}`,
      );
      const box = await page.evaluate(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".notices").getBoundingClientRect()
            .height,
      );
      if (box < 20) throw new Error(`the message about ${name} is ${box} pixels high`);
    }
    same((await state(page)).head, 0, "the picture stays");
    await page.evaluate(() =>
      /** @type {any} */ (globalThis).view.shadowRoot
        .querySelector("[aria-label='Close this message']")
        .click(),
    );
    await becomes(async () => (await textOf(page, ".notices")).includes("cut.json"), false, "it is closed");
  },

  async "a file that cannot be opened does not hide those dropped with it, whichever is first"(page) {
    const good = (/** @type {string} */ name) => [name, weights(5, 1)];
    const bad = ["garbage.bin", "\u0001\u0002garbage"];
    for (const [name, files] of /** @type {const} */ ([
      ["one.json", [good("one.json"), bad]],
      ["two.json", [bad, good("two.json")]],
    ])) {
      await drop(page, /** @type {any} */ (files));
      await page.waitForFunction(
        (wanted) => /** @type {any} */ (globalThis).view.store.report.name === wanted,
        name,
      );
      await becomes(
        async () => (await textOf(page, ".notices")).includes("garbage.bin could not be opened"),
        true,
        `the message after ${name}`,
      );
      await page.locator("attention-view dialog[open]").waitFor();
      await page.keyboard.press("Escape");
      same((await textOf(page, ".sources")).includes("garbage"), false, "a file that is not open has no tab");
    }
  },

  async "a message keeps its lines and ends with one mark; names in it are set as code"(page) {
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array([0x80, 2, 0x7d, 0x71, 0, 0x2e])], "attn.pt"));
      /** @type {any} */ (globalThis).view.dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }),
      );
    });
    const notice = page.locator("attention-view .notices");
    await expect(notice).toContainText("import torch");
    // The two lines of Python are two lines.
    expect(await notice.locator("p").evaluate((one) => /** @type {any} */ (one).innerText)).toMatch(
      /with these two lines:\nimport torch.*\nsave_file/,
    );
    const negative = [0, 1].map(() => [0.5, -0.1, 0.6]);
    await drop(page, [["negative.json", JSON.stringify([[[...negative, [0.2, 0.2, 0.6]]]])]]);
    await expect(notice).toContainText("are negative");
    await expect(notice).not.toContainText("?.");
    const report = page.locator("attention-view dialog[open]");
    await expect(report.locator("code").first()).toHaveText("self");
    await expect(report).not.toContainText("`");
  },

  async "files dropped together are all there"(page) {
    await drop(page, [
      ["one.json", weights(5, 1)],
      ["two.json", weights(5, 3)],
    ]);
    await page.waitForFunction(() => /** @type {any} */ (globalThis).view.store.report.name === "one.json");
    // What was loaded is shown a moment later. Without a dialog, Escape leads to the page of all heads.
    await page.locator("attention-view dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    const names = () =>
      page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".sources button")].map(
          (one) => one.textContent,
        ),
      );
    same((await names()).slice(-2), ["one", "two"], "tabs");
    await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".sources button")].at(-1).click(),
    );
    await page.waitForFunction(() => /** @type {any} */ (globalThis).view.store.report.name === "two.json");
    await settled(page);
    const { color } = await cellAt(page, 0, 3);
    const { color: other } = await cellAt(page, 0, 1);
    if (color[0] > other[0])
      throw new Error(`the second file's picture is the first one's: ${color} ${other}`);
  },

  async "switching texts keeps head, mode and token, and is in the address"(page) {
    await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      // The chosen word is at another place in the second text.
      const texts = ["time flies like an arrow", "on sunday fruit flies like a banana"];
      view.sources = texts.map((name, n) => ({
        name,
        data: makeInput({
          seed: 40 + n,
          layers: 2,
          heads: 2,
          tokens: ["[CLS]", ...name.split(" "), "[SEP]"],
        }),
      }));
    });
    await page.waitForFunction(() =>
      /** @type {any} */ (globalThis).view.store?.report.name.startsWith("made"),
    );
    await settled(page);
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { layer: 1, head: 1, mode: "lines", query: 2, key: 5 };
    });
    await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".sources button")][1].click(),
    );
    await page.waitForFunction(() =>
      /** @type {any} */ (globalThis).view.store.blocks[0].queryTokens.includes("banana"),
    );
    await settled(page);
    const now = await state(page);
    same([now.text, now.layer, now.head, now.mode, now.query], [1, 1, 1, "lines", 4], "what is kept");
    await page.waitForFunction(() => /[?&]n=1(&|$)/.test(location.hash));
  },

  async "a changed number belongs to its row and goes with it"(page) {
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { view: "row", query: 8, key: 7, table: false };
    });
    await settled(page);
    await change(page, "query 0", "50");
    same(await textOf(page, ".readout .badge:not(.pin)"), "changed", "the change is marked");
    if ((await textOf(page, ".rowview")).indexOf("Restore") < 0) throw new Error("there is no Restore");
    // Another key of the same row keeps it.
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ key: 6 }));
    await settled(page);
    same(await textOf(page, ".readout .badge:not(.pin)"), "changed", "another key of the row");
    // Another row has its own numbers.
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 9 }));
    await settled(page);
    await unchanged(page, 9, 6, ".rowview .weight-line data");
    await change(page, "scale", "3");
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { view: "head" };
    });
    await settled(page);
    await unchanged(page, 9, 6, ".side .weight-line data");
    const at = await cellAt(page, 10, 2);
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 9, key: 6 }));
    await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
    await unchanged(page, 10, 2, ".side .weight-line data");
    // The temperature is tried on one row too.
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { view: "row", temperature: 4 };
    });
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { view: "head" };
    });
    await settled(page);
    same((await state(page)).temperature, 1, "the temperature ends with the row");
    // What was pointed at before the views changed no longer is.
    await page.mouse.move(at.x + at.width / 3, at.y + at.height / 3);
    await unchanged(page, 10, 2, ".side .weight-line data");
  },

  async "a check that failed is not called verified"(page) {
    const texts = await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const open = async (/** @type {number} */ off) => {
        const input = makeInput({ Nq: 6, layers: 1, heads: 1 });
        for (const block of input.blocks)
          for (const layer of block.layers) {
            const store = view.store;
            void store;
            layer.lse = { data: new Float32Array(6).fill(off), shape: [1, 6] };
          }
        await view.open(input);
        await view.updateComplete;
        const lse = await view.store.lse({ block: 0, layer: 0, head: 0 });
        for (const block of input.blocks)
          for (const layer of block.layers)
            layer.lse = { data: Float32Array.from(lse, (x) => x + off), shape: [1, 6] };
        await view.open(input);
        await view.updateComplete;
        return (
          view.shadowRoot.querySelector(".about").textContent +
          view.shadowRoot.querySelector(".notices")?.textContent
        );
      };
      /** The model's numbers are NaN in row 0, of which three rows are checked. */
      const nan = async () => {
        const input = makeInput({ Nq: 6, layers: 1, heads: 1 });
        const [layer] = input.blocks[0].layers;
        layer.lse = { data: new Float32Array(6), shape: [1, 6] };
        layer.query.data.fill(Number.NaN, 0, 8);
        await view.open(input);
        const lse = await view.store.lse({ block: 0, layer: 0, head: 0 });
        layer.lse = { data: Float32Array.from(lse), shape: [1, 6] };
        await view.open(input);
        await view.updateComplete;
        return view.shadowRoot.querySelector(".about").textContent;
      };
      return [await open(0), await open(0.5), await nan()];
    });
    if (!/· matches the model within 0\.1\s%/.test(texts[0]))
      throw new Error(`where it matches: ${texts[0]}`);
    if (
      !/not verified: differs by 0\.5/.test(texts[1]) ||
      !/recipe/.test(texts[1]) ||
      /matches the model/.test(texts[1])
    )
      throw new Error(`where it does not: ${texts[1]}`);
    if (!/· the model has NaN in 1 of 3 rows checked$/.test(texts[2]))
      throw new Error(`where only NaN is at fault: ${texts[2]}`);
  },

  async "the preview of a head that was not measured before gets its sentence"(page) {
    const atlas = await page.locator("attention-view .atlas").first().boundingBox();
    if (atlas === null) throw new Error("there are no thumbnails");
    // Not the head of the cursor, which the caption has measured.
    await page.mouse.move(atlas.x + 26 + 60, atlas.y + 40);
    await page.locator("attention-view .preview p", { hasText: "No single pattern" }).waitFor();
  },

  async "all heads are asked which of them link two words"(page) {
    await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
      view.src = "tired-cat.safetensors";
      await loaded;
      view.state = { query: 8, key: 2, ask: "off" };
    });
    await settled(page);
    await focusPicture(page);
    await page.keyboard.press("a");
    const list = () =>
      page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".answers li")].map((one) => [
          one.querySelector("button").textContent,
          Number(one.querySelector("data").value),
        ]),
      );
    await page.waitForFunction(
      () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".answers li") !== null,
    );
    // ‹it› to ‹cat›, as PyTorch has it: layer 3, head 1 gives 0.49, and the other tokens 0.11. Layer 5, head 11 gives 0.68, and the
    // others 0.64: by contrast it is not the first.
    const answers = await list();
    same(answers[0][0], "L3 H1", "the head that links it to cat");
    if (Math.abs(Number(answers[0][1]) - 0.487) > 0.005) throw new Error(`it gives ${answers[0][1]}`);
    const wrong = await page.evaluate(
      (entries) => {
        const { view } = /** @type {any} */ (globalThis);
        return entries.filter(([name, weight]) => {
          const [, layer, head] = /L(\d+) H(\d+)/.exec(name) ?? [];
          const ref = { block: 0, layer: Number(layer), head: Number(head) };
          return view.store.ready(ref) && Math.abs(view.store.cell(ref, 8, 2, "weights") - weight) > 1e-9;
        });
      },
      /** @type {[string, number][]} */ (answers),
    );
    same(wrong, [], "the list has the heads' own weights");
    await page.keyboard.press(".");
    const at = async () => [(await state(page)).layer, (await state(page)).head];
    await becomes(at, [3, 1], ". goes to the first of them");
    await page.keyboard.press(".");
    const current = () => textOf(page, ".answers li.current button");
    await becomes(current, String(answers[1][0]), ". goes on to the second");
    same([(await state(page)).query, (await state(page)).key], [8, 2], "the link stays");
    await page.keyboard.press("a");
    await becomes(() => textOf(page, ".answers"), "", "A again ends it");
  },

  async "two texts side by side, and their difference"(page) {
    await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
      view.sources = ["time-flies", "fruit-flies"].map((name) => ({ name, src: `${name}.safetensors` }));
      await loaded;
      view.state = { view: "compare", layer: 5, head: 11, query: 2, key: 5 };
    });
    const numbers = () =>
      page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".compared data")].map((one) =>
          Number(one.value),
        ),
      );
    await page.waitForFunction(
      () => /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".compared data").length === 3,
    );
    // flies → arrow 0.58, flies → banana 0.30, as PyTorch has them.
    const [a, b, difference] = await numbers();
    if (Math.abs(a - 0.58) > 0.005 || Math.abs(b - 0.298) > 0.005 || difference !== a - b)
      throw new Error(`it says ${a}, ${b}, ${difference}`);
    // Each cell of the third picture has the color of the difference that the sentence writes for it.
    const colors = () =>
      page.evaluate(() => {
        const { view } = /** @type {any} */ (globalThis);
        const [, , third] = view.shadowRoot.querySelectorAll(".comparison .matrix");
        const canvas = third.querySelector("canvas.cells");
        const [area, box] = [third.querySelector(".area"), canvas].map((one) => one.getBoundingClientRect());
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const ratio = canvas.width / box.width;
        return Array.from({ length: 7 }, (_, i) =>
          Array.from({ length: 7 }, (_, j) => {
            const x = Math.floor((area.left - box.left + ((j + 0.5) * area.width) / 7) * ratio);
            const y = Math.floor((area.top - box.top + ((i + 0.5) * area.height) / 7) * ratio);
            return [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)].join();
          }),
        );
      });
    /** @type {number[][]} */
    const differences = [];
    for (let i = 0; i < 7; i++) {
      differences.push([]);
      for (let j = 0; j < 7; j++) {
        await page.evaluate(
          async ([query, key]) => {
            const { view } = /** @type {any} */ (globalThis);
            view.setCursor({ query, key });
            await view.updateComplete;
            for (let n = 0; n < 3; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
          },
          [i, j],
        );
        differences[i].push((await numbers())[2]);
      }
    }
    const maximum = Math.max(...differences.flat().map(Math.abs));
    const table = colorTable("signed");
    const want = differences.map((row) => row.map((x) => table[signedCodeOf(x, maximum)].join()));
    await becomes(colors, want, "the colors of the differences");
    // The address holds the second head.
    await page.evaluate(() => {
      const select = [
        .../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".chooser select"),
      ].at(-1);
      select.value = "3";
      select.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await page.waitForFunction(() => /[?&]c=1\.5\.3(&|$)/.test(location.hash));
  },

  async "values printed in cells are the values shown"(page) {
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { hide: "first", renormalize: true, query: 4, key: 2 };
    });
    await settled(page);
    const numbers = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const row = view.store.row({ block: 0, layer: 0, head: 0 }, 4, "weights");
      return {
        want: row[2] / (1 - row[0]),
        big: Number(view.shadowRoot.querySelector(".readout .big data").value),
        last: Number([...view.shadowRoot.querySelectorAll(".side .ledger .weight-line data")].at(-1).value),
        list: [...view.shadowRoot.querySelectorAll(".side .keys tbody tr")].map(
          (tr) => tr.textContent.trim().split(/\s/)[0],
        ),
      };
    });
    const near = (/** @type {number} */ a) => Math.abs(a - numbers.want) < 1e-12;
    if (!near(numbers.big) || !near(numbers.last)) throw new Error(JSON.stringify(numbers));
    if (numbers.list.includes("w0"))
      throw new Error(`the row's list is led by the hidden key: ${numbers.list}`);
  },
};

/** @param {Page} page */
async function focusPicture(page) {
  await page.evaluate(() =>
    /** @type {any} */ (globalThis).view.shadowRoot
      .querySelector(".matrix [role=gridcell][tabindex='0']")
      .focus(),
  );
}

/** Types into a field of the row view. @param {Page} page @param {string} label @param {string} value */
async function change(page, label, value) {
  await page.evaluate(
    async ([name, text]) => {
      const { view } = /** @type {any} */ (globalThis);
      for (const fold of view.shadowRoot.querySelectorAll(".rowview details")) fold.open = true;
      const field = view.shadowRoot.querySelector(`[aria-label='${name}']`);
      field.value = text;
      field.dispatchEvent(new Event("change", { bubbles: true }));
      await view.updateComplete;
    },
    [label, value],
  );
}

/** A number on the page is the model's own. @param {Page} page @param {number} query @param {number} key @param {string} selector */
async function unchanged(page, query, key, selector) {
  const reading = () =>
    page.evaluate(
      ([i, j, where]) => {
        const { view } = /** @type {any} */ (globalThis);
        const { layer, head } = view.state;
        const shown = Number(view.shadowRoot.querySelector(where)?.value);
        const want = view.store.cell({ block: 0, layer, head }, i, j, "weights");
        const badge = view.shadowRoot.querySelector(".readout .badge:not(.pin)")?.textContent ?? "";
        return [shown === want ? "the same" : `${shown}, want ${want}`, badge];
      },
      /** @type {[number, number, string]} */ ([query, key, selector]),
    );
  await becomes(reading, ["the same", ""], `${selector} of ${query} and ${key}`);
}

for (const [name, drive] of Object.entries(CASES))
  test(name, ({ visit, site }) => visit({ heads: HEADS }, (page) => drive(page, site)));
