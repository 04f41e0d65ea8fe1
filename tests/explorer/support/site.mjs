// @ts-check
/**
 * Pages with the built element for its tests, served from memory on loopback under a strict policy: no style in markup, no
 * script from elsewhere, no code from text. A page creates its heads from its address and opens them, and then the test runs.
 * Console output other than `console.log`, and violations of the policy, are failures.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(dirname(here)));

/** @typedef {import("@playwright/test").Page} Page */
/** @typedef {import("@playwright/test").Browser} Browser */

const STYLE =
  "html{color-scheme:light dark}body{margin:0;h1{position:absolute;clip-path:inset(50%);margin:0}font:13px/20px sans-serif}attention-view{--heed-height:100vh}";
/** Creates heads from ?o= and opens them in the first element. */
const START = `await import(new URLSearchParams(location.search).has("whole") ? "./attention-view.js" : "./attention-view/element.js");
import { makeInput } from "./heads.mjs";
globalThis.makeInput = makeInput;
const search = new URLSearchParams(location.search);
const view = document.querySelector("attention-view");
globalThis.view = view;
if (search.has("o")) await view.open(makeInput(JSON.parse(search.get("o"))));
globalThis.opened = true;`;
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>heed</title>
<link rel="stylesheet" href="style.css"><link rel="icon" href="data:,"><script type="module" src="start.mjs"></script></head>
<body><main><h1>heed</h1><attention-view address></attention-view></main></body></html>`;

/** Path to type and bytes. @type {Map<string, readonly [string, string | Buffer]>} */
export const files = new Map([
  ["/", ["text/html; charset=utf-8", PAGE]],
  ["/style.css", ["text/css", STYLE]],
  ["/start.mjs", ["text/javascript", START]],
  ["/heads.mjs", ["text/javascript", readFileSync(join(here, "heads.mjs"))]],
  ["/attention-view.js", ["text/javascript", readFileSync(join(root, "dist/attention-view.js"))]],
]);

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'";

for (const name of readdirSync(join(root, "dist/attention-view"), { recursive: true, encoding: "utf8" }))
  if (/\.js$/.test(name))
    files.set(`/attention-view/${name.replaceAll("\\", "/")}`, [
      "text/javascript",
      readFileSync(join(root, "dist/attention-view", name)),
    ]);

/** Starts the server; gives its address and a way to end it. @returns {Promise<{ base: string, close: () => void }>} */
export async function serve() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = files.get(pathname);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    response
      .writeHead(200, {
        "Content-Type": file[0],
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
      })
      .end(file[1]);
  });
  await /** @type {Promise<void>} */ (new Promise((resolve) => server.listen(0, "127.0.0.1", resolve)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    base: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * @typedef {object} PageOptions
 * @property {string} [path]
 * @property {boolean} [singleFile] the element in one file
 * @property {import("./heads.mjs").Wanted} [heads]
 * @property {string} [hash]
 * @property {number} [width]
 * @property {number} [height]
 * @property {"light" | "dark"} [scheme]
 * @property {boolean} [forced] forced colors
 * @property {boolean} [still] reduced motion
 * @property {number} [ratio] device pixels a pixel
 * @property {boolean} [touch] a touch screen
 */

/**
 * A page in a browser context of its own, and the list of what it reports that it should not: errors, warnings, requests elsewhere.
 * @param {Browser} browser @param {string} base @param {PageOptions} options
 */
export async function newPage(browser, base, options) {
  const { width = 1280, height = 800, scheme = "light", ratio = 1 } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    deviceScaleFactor: ratio,
    reducedMotion: options.still === false ? "no-preference" : "reduce",
    hasTouch: options.touch === true,
    ...(options.forced && { forcedColors: "active" }),
  });
  const page = await context.newPage();
  /** @type {string[]} */
  const reported = [];
  page.on("pageerror", (error) => reported.push(`${error.stack ?? error}`));
  page.on("console", (message) => {
    // Chromium's advice about reading pixels is for the tests themselves.
    const advice = /willReadFrequently/.test(message.text());
    if (message.type() !== "log" && message.type() !== "debug" && !advice) reported.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !/^(?:data|blob):/.test(request.url()))
      reported.push(`a request to ${request.url()}`);
  });
  return { context, page, reported };
}

/** Opens the address that was requested and waits for its picture. @param {Page} page @param {string} base @param {PageOptions} options */
export async function opened(page, base, options) {
  const search = new URLSearchParams();
  if (options.heads !== undefined) search.set("o", JSON.stringify(options.heads));
  if (options.singleFile) search.set("whole", "");
  await page.goto(`${base}${options.path ?? "/"}?${search}${options.hash ?? ""}`);
  await page.waitForFunction(() => /** @type {any} */ (globalThis).opened === true, undefined, {
    timeout: 60_000,
  });
  if (options.heads !== undefined) await settled(page);
}

/**
 * Opens a page, waits for its picture, hands it over, and gives what it reported that it should not have.
 * @param {Browser} browser @param {string} base @param {PageOptions} options
 * @param {(page: Page) => Promise<void>} drive
 * @returns {Promise<string>} "" where all is well
 */
export async function visit(browser, base, options, drive) {
  const { context, page, reported } = await newPage(browser, base, options);
  try {
    await opened(page, base, options);
    await drive(page);
  } catch (error) {
    reported.push(`${/** @type {Error} */ (error).stack ?? error}`);
  } finally {
    await context.close();
  }
  return reported.join("\n    ");
}

/** Waits until nothing is waited for, and for frames after that: no square of a matrix, no sentence. @param {Page} page */
export async function settled(page) {
  // A loop of the page's own: waitForFunction takes the promise of an asynchronous function for a yes.
  const done = await page.evaluate(async () => {
    const quiet = () => {
      const view = /** @type {any} */ (document.querySelector("attention-view"));
      const inside = view.shadowRoot;
      const canvas = inside.querySelector(".matrix canvas.cells");
      const photos = [...inside.querySelectorAll(".photos .passage")];
      return (
        !/Measuring|Drawing|Loading/.test(inside.querySelector(".root").textContent) &&
        inside.querySelector(".matrix.waiting") === null &&
        (view.state?.mode !== "photo" || photos.some((one) => one.checkVisibility())) &&
        (canvas === null || canvas.width > 300 || innerWidth < 300)
      );
    };
    const end = performance.now() + 60_000;
    // What has just been measured changes sentences, those move what is below them, and that is painted a frame later.
    for (let frames = 0; frames < 4 && performance.now() < end; ) {
      await /** @type {any} */ (document.querySelector("attention-view")).updateComplete;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames = quiet() ? frames + 1 : 0;
      if (frames === 4) return true;
    }
    return false;
  });
  if (!done) throw new Error("the element is still waiting for something after 60 s");
}

/** The text of a part of the element; "" if it does not exist. @param {Page} page @param {string} selector @returns {Promise<string>} */
export const textOf = (page, selector) =>
  page.evaluate(
    (wanted) =>
      /** @type {any} */ (globalThis).view.shadowRoot
        .querySelector(wanted)
        ?.textContent.replace(/\s+/g, " ")
        .trim() ?? "",
    selector,
  );

/**
 * The color in the middle of a cell, and the position of the cell.
 * @param {Page} page @param {number} query @param {number} key
 * @returns {Promise<{ color: number[], at: number[], x: number, y: number, width: number, height: number }>}
 */
export function cellAt(page, query, key) {
  return page.evaluate(
    async ([i, j]) => {
      const view = /** @type {any} */ (document.querySelector("attention-view"));
      view.setCursor({ query: i, key: j });
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      await view.updateComplete;
      await frame();
      await frame();
      const cell = view.shadowRoot.querySelector(".matrix [role=gridcell][tabindex='0']");
      const canvas = view.shadowRoot.querySelector(".matrix canvas.cells");
      const [a, b] = [cell.getBoundingClientRect(), canvas.getBoundingClientRect()];
      const ratio = canvas.width / b.width;
      const [x, y] = [a.left - b.left, a.top - b.top];
      const at = [(x + a.width / 2) * ratio, (y + a.height / 2) * ratio].map(Math.floor);
      const { data } = canvas.getContext("2d").getImageData(at[0], at[1], 1, 1);
      return { color: [...data], at, x: a.left, y: a.top, width: a.width, height: a.height };
    },
    [query, key],
  );
}
