// @ts-check
/**
 * What each page of the Lab loads until it is drawn, that it shows the same without cross-origin isolation and without
 * WebAssembly, and the reader's own sentence on every page that shows one. Needs dist/.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { expect } from "@playwright/test";
import { LAB_WITH_WORKER } from "../../tools/size.mjs";
import { isItsTurn } from "../support/cases/count.ts";
import { must, names, pages, quiet, row, test } from "./visit.mjs";

/** Any folder of a host: every address of a page is relative. */
const PREFIX = "/some/prefix";

for (const [number, name] of names.entries())
  test(`${name}: at most ${LAB_WITH_WORKER / 1000} kB after gzip until it is drawn; the same without isolation and without WebAssembly`, async ({
    browser,
    visit,
  }) => {
    // A static host that sends no header beside the type.
    const host = createServer((request, response) => {
      const [before, path] = new URL(request.url ?? "/", "http://lab").pathname.split(PREFIX);
      const file = before === "" ? pages.get(path) : undefined;
      response.writeHead(file === undefined ? 404 : 200, { "content-type": file?.type ?? "text/plain" });
      response.end(file?.body);
    }).listen(0, "127.0.0.1");
    await once(host, "listening");
    const at = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (host.address()).port}`;
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    try {
      /** @type {Set<string>} */
      const requested = new Set();
      context.on("request", (request) => requested.add(new URL(request.url()).pathname));
      /** @type {string[]} */
      const failed = [];
      context.on("response", (response) => response.ok() || failed.push(response.url()));
      const page = await context.newPage();
      await page.goto(`${at}${PREFIX}/${name}.html`);
      await quiet(page);
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
      expect(failed.filter((url) => !url.endsWith("/favicon.ico"))).toEqual([]);
      const files = [...requested]
        .map((path) => path.replace(PREFIX, ""))
        .filter((path) => path !== "/favicon.ico");
      must(files.includes("/lab-worker.js"), `no worker among ${files}`);
      const bytes = files.map((path) => gzipSync(pages.get(path)?.body ?? "", { level: 9 }).length);
      const sum = bytes.reduce((a, b) => a + b, 0);
      process.stdout.write(`  ${name}: ${(sum / 1000).toFixed(1)} kB\n`);
      expect(sum, files.join(" ")).toBeLessThanOrEqual(LAB_WITH_WORKER);
      const caption = await page.locator(".stage figcaption").textContent();
      // One of them for each page, the other one in the next turn.
      for (const wasm of [true, false].filter((_, n) => isItsTurn(number + n, 2)))
        await visit(`${name}.html`, { wasm }, async (isolated) => {
          expect(await isolated.evaluate(() => crossOriginIsolated)).toBe(true);
          expect(await isolated.locator(".stage figcaption").textContent()).toBe(caption);
        });
    } finally {
      await context.close();
      host.close();
    }
  });

test("masks: the reader's own sentence is read by the model, padded and masked, and stays from stop to stop", ({
  visit,
}) =>
  visit("masks.html", {}, async (page) => {
    await page.fill("#sentence", "old kings love young queens");
    await page.keyboard.press("Enter");
    await page.waitForFunction(
      () => /“love”|“young”/.test(document.querySelector(".stage figcaption")?.textContent ?? ""),
      undefined,
      { timeout: 60_000 },
    );
    await quiet(page);
    // As many pieces as words (the last word is cut into two), two marks, three pads.
    const words = await page.locator("table tbody th").allTextContents();
    expect(words).toEqual(["start", "old", "kings", "love", "young", "queen", "end", "pad", "pad", "pad"]);
    await page.click('.control [data-act="preset:causal + padding"]');
    await page.waitForFunction(() =>
      /and\(causal\(\), keyLengths\(7\)\)/.test(document.querySelector(".control")?.textContent ?? ""),
    );
    await page.waitForFunction(() => document.querySelectorAll(".tasks .done").length === 1);
    await page.click('.wide [data-act="row:9"]');
    await quiet(page);
    const shares = await page
      .locator("table tbody tr")
      .evaluateAll((rows) => rows.map((one) => Number(one.lastElementChild?.textContent)));
    expect(shares.slice(7)).toEqual([0, 0, 0]);
    expect(shares.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 3);
    await page
      .locator(".step")
      .nth(1)
      .evaluate((step) => scrollTo(0, step.getBoundingClientRect().top + scrollY - 80));
    await page.waitForFunction(() => /own=/.test(location.hash) && /hide=1/.test(location.hash));
    await expect(page.locator(".step").nth(1)).toContainText("should ignore the three pads");
    const caption = await page.locator(".stage figcaption").textContent();
    await visit(`masks.html${await page.evaluate(() => location.hash)}`, {}, async (other) => {
      expect(await other.locator(".stage figcaption").textContent()).toBe(caption);
    });
    // An empty field brings the common sentence back.
    await page.fill("#sentence", "");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() =>
      /“on” gives/.test(document.querySelector(".stage figcaption")?.textContent ?? ""),
    );
  }));
test("heads: the four heads of the small encoder on the reader's own sentence, muted, alone and sharing keys", ({
  visit,
}) =>
  visit("heads.html", {}, async (page) => {
    await page.fill("#sentence", "old kings love young queens");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll("table tbody tr").length === 6, undefined, {
      timeout: 60_000,
    });
    const words = await page.locator("table thead th").allTextContents();
    expect(words.slice(1, -1)).toEqual(["start", "old", "kings", "love", "young", "queen", "·s", "end"]);
    await page.click('.control [data-act="solo"]');
    await page.waitForFunction(() =>
      /^Head [0-3] alone/.test(document.querySelector(".stage figcaption")?.textContent ?? ""),
    );
    // Two presses before the picture of the first one is drawn: the second starts from the first one's state.
    await page.evaluate(() => {
      for (const act of [".control [data-act='all']", ".wide [data-act='head:0']"])
        document.querySelector(act)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
    await page.waitForFunction(() =>
      /^3 heads on average/.test(document.querySelector(".stage figcaption")?.textContent ?? ""),
    );
    await page.click('.control [data-act="groups:4"]');
    await page.waitForFunction(() =>
      /2 key heads/.test(document.querySelector("table caption")?.textContent ?? ""),
    );
    // Heads of a group read the same keys: each row still adds up to 1.
    const sums = await page
      .locator("table tbody tr")
      .evaluateAll((rows) =>
        rows
          .slice(0, -1)
          .map((one) =>
            [...one.children].slice(1, -1).reduce((sum, cell) => sum + Number(cell.textContent), 0),
          ),
      );
    for (const sum of sums) expect(sum).toBeCloseTo(1, 1);
    await expect(page.locator(".step").first()).toContainText("This is your sentence");
  }));
test("heads: a head is muted in the picture of W^O, and the sum is that of the others", ({ visit }) =>
  visit("heads.html#v1?shown=mixed&hide=0", {}, async (page) => {
    await expect(page.locator(".stage figcaption")).toContainText(
      "12 heads add a vector of length 3.22 to “flies”",
    );
    await page.click('.wide [data-act="head:4"]');
    await expect(page.locator(".stage figcaption")).toContainText("11 heads add a vector");
    await quiet(page);
    expect((await row(page, "4 (muted)"))[1]).toBe(0);
    const parts = await page
      .locator("table tbody tr")
      .evaluateAll((rows) => rows.reduce((sum, one) => sum + Number(one.lastElementChild?.textContent), 0));
    expect(parts).toBeCloseTo(1, 1);
    // Shared keys have no outputs of the trained layer: the picture is that of the weights again.
    await page.click('.control [data-act="groups:4"]');
    await expect(page.locator('.control [data-act="shown:weights"]')).toHaveAttribute("aria-pressed", "true");
  }));

test("words: two presses before the first one's picture go two words on", ({ visit }) =>
  visit("words.html#v1?query=1", {}, async (page) => {
    await quiet(page);
    await page.locator('.control [data-act="step:1"]').evaluate((button) => {
      for (let i = 0; i < 2; i++) /** @type {HTMLElement} */ (button).click();
    });
    await expect(page).toHaveURL(/query=3/);
  }));
test("arrows: two keys before the first one's picture move the query twice", ({ visit }) =>
  visit("arrows.html#v1?x=1&y=1", {}, async (page) => {
    await quiet(page);
    await page.locator('.wide [data-drag="query:"]').evaluate((mark) => {
      for (let i = 0; i < 2; i++)
        mark.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    });
    await expect(page).toHaveURL(/x=1\.1/);
  }));
