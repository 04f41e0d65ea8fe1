// @ts-check
/**
 * A translation is one file: with a catalog whose letters all have marks (á for a), no visible text of a page has an English word, at any
 * stop, after each answer and each button: wide, and in turn narrow. Numbers, units, code, formulas, tokens of sentences and heed's own errors are not translated.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { expect, test } from "@playwright/test";
import { labStrings } from "../../tools/build/lab-strings.mjs";
import { at } from "../../tools/setup.mjs";
import { inTurn } from "../support/cases/count.ts";
import { names, quiet, reach } from "./visit.mjs";

// One worker reads the whole file: it builds the translated pages once.
test.describe.configure({ mode: "default" });

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const MARKED = [..."áƀçđéƒǧħíĵķłɱñóþɋřšŧúṽŵẋýžÁƁÇĐÉƑǦĦÍĴĶŁⱮÑÓÞɊŘŠŦÚṼŴẊÝŽ"];
/** @param {string} text */
const mark = (text) => text.replace(/[A-Za-z]/g, (letter) => MARKED[LETTERS.indexOf(letter)]);
/** A text with a mark on each letter, but not in tags, code and values. @param {string} text */
const marked = (text) =>
  text
    .split(/(<code>[^<]*<\/code>|<[^<>]*>|<[a-z][^<>]*$|\{\d+\}|&#?\w+;)/)
    .map((part, i) =>
      i % 2 === 0
        ? mark(part)
        : part.replace(
            /((?:aria-label|aria-valuetext|title|placeholder)=")([^"{]*)/g,
            (_, before, value) => before + mark(value),
          ),
    )
    .join("");

/** Words that stay: tokens, names in formulas and programs, units, names of models and libraries. */
const STAY = new Set(
  "pad heed MiniLM PyTorch NumPy Keras TypeScript NaN KiB MiB GiB TiB MIT tanh softmax exp wq wk wv Wq Wk Wv WO Uk dk dv keep http localhost".split(
    " ",
  ),
);
for (const name of readdirSync(at("lab"), { recursive: true, encoding: "utf8" }))
  if (/(?:captures|sentences|layer|layer-steps|others)\.ts$/.test(name))
    for (const [token] of readFileSync(at(join("lab", name)), "utf8").matchAll(
      /(?<=["\s])[A-Za-z]{2,12}(?=["\s])/g,
    ))
      STAY.add(token);

let folder = "";
/** @type {import("node:http").Server} */
let server;
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "heed-translated-"));
  writeFileSync(
    join(folder, "catalog.json"),
    JSON.stringify(Object.fromEntries(labStrings().map((text) => [text, marked(text)]))),
  );
  execFileSync(process.execPath, [
    at("tools/build/lab.mjs"),
    join(folder, "lab"),
    join(folder, "catalog.json"),
  ]);
  server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://lab").pathname;
    try {
      const body = readFileSync(join(folder, "lab", path));
      response.writeHead(200, {
        "content-type": TYPES[/** @type {".js"} */ (extname(path))] ?? "application/octet-stream",
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
test.afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const origin = () =>
  `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}`;

/** Visible texts that have an unmarked word. @param {import("@playwright/test").Page} page */
async function english(page) {
  const texts = await page.evaluate(() => {
    /** @type {string[]} */
    const all = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (!parent?.closest("code, pre, textarea, script, math, .cite, [data-name=error]"))
        all.push(walker.currentNode.textContent ?? "");
    }
    for (const element of document.querySelectorAll("[aria-label], [aria-valuetext], [title]"))
      for (const name of ["aria-label", "aria-valuetext", "title"])
        all.push(element.getAttribute(name) ?? "");
    return all;
  });
  const isEnglish = (/** @type {string} */ text) =>
    // What heed says of shapes that do not fit is the library's.
    [
      ...text
        .replace(/(?:scaledDotProductAttention|MultiheadAttention): .*/, "")
        .matchAll(/(?<![\p{L}\p{M}_])[A-Za-z]{2,}(?![\p{L}\p{M}_…])/gu),
    ].some(
      // The words that a network reads and writes are of eight letters.
      ([word]) => !STAY.has(word) && !/^[a-h]{2,6}$/.test(word),
    );
  return [...new Set(texts.filter(isEnglish))];
}

/** The pages that are read on a phone too. */
const narrow = inTurn(names, 6);

for (const name of inTurn(names, 3))
  test(`${name}: no English word is left`, async ({ page }) => {
    /** @type {Set<string>} */
    const left = new Set();
    page.on("pageerror", (error) => left.add(String(error)));
    /** @type {Set<string>} */
    const pressed = new Set();
    const look = async () => {
      for (const text of await english(page)) left.add(text);
    };
    for (const width of narrow.includes(name) ? [1280, 375] : [1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${origin()}/${name}.html`);
      await page.waitForSelector("[data-ready]");
      await quiet(page);
      const steps = await page.locator(".step").count();
      for (let step = 0; step < steps; step++) {
        await reach(page, step, width);
        await look();
        const buttons = page.locator(".step").nth(step).locator("button");
        if ((await buttons.count()) > 0) {
          await buttons.first().click();
          await quiet(page);
          await look();
        }
        // Each control of the picture once.
        for (let n = 0; width === 1280 && n < 12; n++) {
          const control = page.locator(".control button:visible").nth(n);
          if (!(await control.isVisible()) || (await control.isDisabled())) break;
          const action = String(await control.getAttribute("data-act"));
          if (pressed.has(action)) continue;
          pressed.add(action);
          await control.click();
          await quiet(page);
          await look();
        }
      }
      const check = page.locator('[data-act="check"]');
      await check.click();
      await look();
    }
    expect([...left]).toEqual([]);
  });
