// @ts-check
/** Other people's pages with the element: what readers see, and what the console tells authors. */
import { expect, test as plain } from "@playwright/test";
import { test } from "./support/fixtures.ts";
import { files, serve } from "./support/site.mjs";

files.set("/guest.html", [
  "text/html; charset=utf-8",
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>guest</title><link rel="stylesheet" href="guest.css"><link rel="icon" href="data:,"><script type="module" src="guest.mjs"></script><body><main><h1>guest</h1><attention-view id="missing" src="nowhere.safetensors"></attention-view><attention-view id="small" controls="none"></attention-view><attention-view id="parts" parts="toolbar caption legend"></attention-view><attention-row id="row"></attention-row></main></body></html>',
]);
files.set("/guest.css", ["text/css", "body{font:16px/24px serif}"]);
files.set("/guest.mjs", [
  "text/javascript",
  `await import("./attention-view/element.js");
import { makeInput } from "./heads.mjs";
for (const id of ["small", "parts", "row"]) await document.getElementById(id).open(makeInput({ Nq: 10, heads: 2, layers: 2 }));
globalThis.opened = true;`,
]);

plain("readers see one sentence, the author reads what to do on the console", async ({ page }) => {
  const { base, close } = await serve();
  try {
    /** @type {string[]} */
    const errors = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(`${base}/guest.html`);
    await page.waitForFunction(() => /** @type {any} */ (globalThis).opened === true);
    const missing = page.locator("#missing");
    await expect(missing.locator("[role=alert]")).toHaveText(
      "The attention that belongs here could not be shown.",
    );
    await expect(missing).not.toContainText("Choose a file");
    expect(errors.join("\n")).toMatch(/with src nowhere\.safetensors.*404.*check that the address is right/s);
    // As high as its picture, and no higher; only what was asked for around it; a row leaves room for the page.
    const sizes = await page.evaluate(() =>
      ["small", "row"].map((id) => document.getElementById(id)?.getBoundingClientRect().height ?? 0),
    );
    expect(sizes[0]).toBeGreaterThan(250);
    expect(sizes[0]).toBeLessThan(450);
    expect(sizes[1]).toBeGreaterThan(300);
    expect(sizes[1]).toBeLessThan(900);
    const parts = page.locator("#parts");
    await expect(parts.locator(".toolbar")).toBeVisible();
    await expect(parts.locator(".foot p")).toBeVisible();
    for (const hidden of [".masthead", ".left", ".side", ".status"])
      await expect(parts.locator(hidden)).toBeHidden();
    const inside = await parts.evaluate((view) => {
      const area = view.shadowRoot?.querySelector(".matrix")?.getBoundingClientRect();
      return [area?.width ?? 0, view.getBoundingClientRect().width];
    });
    expect(inside[0]).toBeGreaterThan(0.9 * inside[1]);
  } finally {
    close();
  }
});

test("numbers changed by hand are in the link, and exports say so", async ({ visit }) => {
  const heads = { heads: 2, layers: 2, Nq: 8, d: 8 };
  await visit({ heads, hash: "#v1/row?l=1&h=1&i=5&j=3&e=q.0:5,s:0.5" }, async (page) => {
    const { shown, want, plainly } = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const ref = { block: 0, layer: 1, head: 1 };
      const query = view.store.vector(ref, "query", 5);
      const plainly = view.store.cell(ref, 5, 3, "weights");
      query[0] = 5;
      return {
        shown: Number(view.shadowRoot.querySelector(".readout .big data").value),
        want: view.store.row(ref, 5, "weights", { query, scale: 0.5 })[3],
        plainly,
      };
    });
    expect(shown).toBe(want);
    expect(shown).not.toBe(plainly);
    // Nothing on the page shows the number as it was.
    expect(await page.locator("attention-view .status .where").textContent()).toContain("changed");
    const svg = await page.evaluate(() => /** @type {any} */ (globalThis).view.toSVG());
    expect(svg).toMatch(/changed by hand: q\[0\] .* → 5, scale .* → 0\.5/);
    // One more change is one more step in the address; Escape takes all back.
    await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      view.shadowRoot.querySelector(".rowview details").open = true;
    });
    const field = page.locator("attention-view .terms input.key").first();
    await field.fill("7");
    await field.press("Enter");
    await page.waitForFunction(() => /k\.3\.0:7/.test(decodeURIComponent(location.hash)));
    await page.locator("attention-view .rowview section.cursor-keys").focus();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !/[?&]e=/.test(location.hash));
    await expect
      .poll(() =>
        page.evaluate(() =>
          Number(/** @type {any} */ (globalThis).view.shadowRoot.querySelector(".readout .big data").value),
        ),
      )
      .toBe(plainly);
    await page.goBack();
    await page.waitForFunction(() => /k\.3\.0:7/.test(decodeURIComponent(location.hash)));
  });
});
