// @ts-check
/**
 * The explorer as people get it, in headless Chromium, from the built package: what `heed view` serves (isolated, every
 * answer with the exact headers, no violation of its policy, no request elsewhere, data by byte range), what it says
 * when something is missing, the one-file page of `heed html` from disk with the network off, and figures, whose bytes
 * are those of Node. Needs dist/ (npm run build).
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "@playwright/test";
import { openStore, renderFigure, writeBundle } from "heed/view";
import { CONTRAST, violations } from "../support/axe.mjs";
import { figures, inputs } from "./support/inputs.mjs";

/** @typedef {import("@playwright/test").Browser} Browser */
/** @typedef {import("@playwright/test").Page} Page */

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const built = (/** @type {string} */ name) => import(pathToFileURL(join(root, "dist", name)).href);
/** Made in `beforeAll`: a worker runs it, and `afterAll`, for each group of these tests, but loads this module once. */
let folder = "";

/** The `heed` processes of this file. @type {import("node:child_process").ChildProcess[]} */
const children = [];

/**
 * Runs `heed`; returns its first line of output, and a function that ends it as Ctrl-C does.
 * @param {string[]} args
 * @returns {Promise<{ line: string, end: () => Promise<number | null> }>}
 */
function heed(...args) {
  const child = spawn(process.execPath, [join(root, "dist/cli/main.js"), ...args], { cwd: folder });
  children.push(child);
  let [out, err] = ["", ""];
  const closed = new Promise((resolve) => child.on("close", resolve));
  child.stderr.on("data", (text) => (err += text));
  return new Promise((resolve, reject) => {
    const end = () => {
      child.kill("SIGINT");
      return /** @type {Promise<number | null>} */ (closed);
    };
    child.stdout.on("data", (text) => {
      out += text;
      if (out.includes("\n")) resolve({ line: out.trim(), end });
    });
    void closed.then((code) => reject(new Error(`heed ${args.join(" ")} ended with ${code}: ${err}`)));
  });
}

/**
 * A page that records errors, violations of the policy, and requests to other origins than `origin`.
 * @param {Browser} browser
 * @param {string} origin
 * @param {object} [options]
 */
async function watched(browser, origin, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const reported = [];
  page.on("console", (message) => message.type() !== "log" && reported.push(message.text()));
  page.on("pageerror", (error) => reported.push(`${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(?:data|blob):/.test(request.url()))
      reported.push(`a request to ${request.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`violates ${event.violatedDirective}: ${event.blockedURI || event.sample}`),
    );
  });
  return { page, reported, close: () => context.close() };
}

/** Waits until the element has a head in memory and its pictures stay as they are. @param {Page} page */
async function settled(page) {
  await page.waitForFunction(
    () => {
      const view = /** @type {any} */ (document.querySelector("attention-view"));
      const store = view?.store;
      if (store === undefined) return false;
      const { block, layer, head } = view.state;
      return store.ready({
        block: store.blocks.findIndex((/** @type {any} */ b) => b.name === block),
        layer,
        head,
      });
    },
    undefined,
    { timeout: 60_000 },
  );
  let before = "";
  for (let n = 0; n < 50; n++) {
    const now = (await picture(page)).join();
    if (now === before) return;
    before = now;
    await page.waitForTimeout(200);
  }
}

/** Every visible canvas of the element, as data. @param {Page} page @returns {Promise<string[]>} */
function picture(page) {
  return page.evaluate(() => {
    const inside = document.querySelector("attention-view")?.shadowRoot;
    const canvases = [...(inside?.querySelectorAll("canvas") ?? [])].filter(
      // A layer that has faded out keeps its old pixels.
      (canvas) => getComputedStyle(canvas).opacity !== "0",
    );
    return canvases.map((canvas) => `${canvas.width}×${canvas.height} ${canvas.toDataURL()}`);
  });
}

/** The weight of the cursor's cell in the page's store. @param {Page} page @returns {Promise<any>} */
function cursorCell(page) {
  return page.evaluate(() => {
    const view = /** @type {any} */ (document.querySelector("attention-view"));
    const { block, layer, head, query, key, pinned: pinnedCell } = view.state;
    const index = view.store.blocks.findIndex((/** @type {any} */ b) => b.name === block);
    const ref = { block: index, layer, head };
    return {
      ref,
      cell: [query, key],
      pinned: pinnedCell,
      weight: view.store.cell(ref, query, key, "weights"),
    };
  });
}

/** Checks a page with axe, in both color schemes. @param {string} name @param {Page} page */
async function accessible(name, page) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    await page.emulateMedia({ colorScheme });
    const failures = await violations(page, colorScheme === "dark" ? CONTRAST : {});
    expect.soft(failures, `${name}, ${colorScheme}: axe finds nothing`).toEqual([]);
  }
}

/** @param {Browser} browser */
async function served(browser) {
  const { HEADERS } = await built("server/policy.js");
  const { line, end } = await heed("view", "run.safetensors", "pair.npz", "--no-open");
  const url = new URL(line);
  expect
    .soft(line, "heed view prints an address of the loopback with a token")
    .toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}#v1\/head\?/);
  const { page, reported, close } = await watched(browser, url.origin);
  /** @type {string[]} */
  const wrong = [];
  /** @type {Set<number>} */
  const statuses = new Set();
  let ranges = 0;
  page.on("response", (response) => {
    const got = response.headers();
    statuses.add(response.status());
    if (response.status() === 206) ranges++;
    for (const [name, value] of Object.entries(HEADERS))
      if (got[name.toLowerCase()] !== value)
        wrong.push(`${response.url()}: ${name}: ${got[name.toLowerCase()]}`);
  });
  await page.goto(line);
  await settled(page);
  expect.soft(await page.evaluate(() => crossOriginIsolated), "the page is cross-origin isolated").toBe(true);
  expect.soft(wrong, "every answer has the exact headers").toEqual([]);
  expect.soft([...statuses], "data comes by byte range").toContain(206);
  expect.soft(ranges, "a small file is read with one request, for all its heads").toBe(1);
  expect.soft(await page.title(), "its title names the file").toBe("run.safetensors · heed");
  const store = await openStore(join(folder, "run.safetensors"));
  const { ref, cell, pinned: pinnedCell, weight } = await cursorCell(page);
  await store.load(ref);
  const here = store.cell(ref, cell[0], cell[1], "weights");
  expect.soft(pinnedCell, "it opens at a link that follows the pointer").toBeNull();
  expect.soft(weight, "its weight is Node's").toBe(here);
  expect.soft(weight, "the link is a strong one").toBeGreaterThan(0.05);
  store.dispose();
  const tabs = page.locator("attention-view .sources button");
  expect.soft(await tabs.allTextContents(), "a tab for each file").toEqual(["run", "pair"]);
  await tabs.nth(1).click();
  await page.waitForFunction(() => document.title.startsWith("pair.npz"));
  await settled(page);
  expect.soft(await tabs.nth(1).getAttribute("aria-current"), "the second file opens").toBe("page");
  await accessible("the served page", page);
  expect.soft(reported, "no violation, no error, no request elsewhere").toEqual([]);

  /** @param {string} name @param {string} address @param {RegExp} wanted */
  const notice = async (name, address, wanted) => {
    const one = await watched(browser, url.origin);
    await one.page.goto(address);
    const message = one.page.locator("#notice:not([hidden])");
    await message.waitFor({ timeout: 60_000 }).catch(() => {});
    expect.soft((await message.count()) > 0 ? await message.textContent() : "nothing", name).toMatch(wanted);
    await one.close();
  };
  await notice("without its token the page says so", `${url.origin}/`, /lacks its token/);
  await notice("with a wrong token too", `${url.origin}/?token=guess`, /lacks its token/);

  // A page of another origin, which can reach loopback but gets nothing.
  const stranger = await watched(browser, "http://stranger.invalid");
  await stranger.page.route("http://stranger.invalid/", (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html>a stranger" }),
  );
  await stranger.page.goto("http://stranger.invalid/");
  const stolen = await stranger.page.evaluate(async (origin) => {
    const token = new URLSearchParams(location.search).get("token");
    const ask = (/** @type {string} */ path, /** @type {RequestInit} */ init) =>
      fetch(origin + path, init).then(
        (answer) => answer.text(),
        () => "",
      );
    const script = (/** @type {string} */ path) =>
      new Promise((resolve) => {
        const element = Object.assign(document.createElement("script"), {
          src: origin + path,
          type: "module",
        });
        element.onload = () => resolve("ran");
        element.onerror = () => resolve("");
        document.head.append(element);
      });
    return [
      await ask("/", {}),
      await ask("/data/session", {}),
      await ask(`/data/session?token=${token}`, { mode: "no-cors" }),
      await script("/attention-view.js"),
    ].filter((text) => text !== "");
  }, url.origin);
  expect.soft(stolen, "a page of another site gets nothing").toEqual([]);
  await stranger.close();

  expect.soft(await end(), "Ctrl-C ends heed view with 0").toBe(0);
  await close();
}

/** @param {Browser} browser */
async function oneFile(browser) {
  await (await heed("html", "run.safetensors", "-o", "run.html")).end();
  const address = pathToFileURL(join(folder, "run.html")).href;
  const file = await watched(browser, address, { offline: true });
  await file.page.goto(address);
  await settled(file.page);
  expect.soft(file.reported, "the file makes no request and breaks no rule").toEqual([]);
  await accessible("the one-file page", file.page);
  await file.page.emulateMedia({ colorScheme: "light" });
  const hit = await file.page.evaluate(() => /** @type {any} */ (globalThis).hit);
  expect.soft(hit, "tokens with markup are text").toBeUndefined();
  const cell = await cursorCell(file.page);
  expect.soft(cell.weight, "it opens at a cell").toBeGreaterThan(0.05);

  const server = await heed("view", "run.safetensors", "--no-open");
  const page = await watched(browser, new URL(server.line).origin);
  await page.page.goto(server.line);
  // The field for the user's text takes space that the one-file page has for its picture.
  await page.page.locator("#close").click();
  await settled(page.page);
  const short = (/** @type {string[]} */ list) => list.map((one) => one.slice(0, 24)).join(", ");
  // Results of background work may appear later in one of them.
  let differ = "";
  for (let n = 0; n < 240; n++) {
    const [a, b] = [await picture(file.page), await picture(page.page)];
    const at = a.findIndex((one, n) => one !== b[n]);
    if (a.length === 0 || a.length !== b.length) differ = `${short(a)} and ${short(b)}`;
    else differ = at < 0 ? "" : `picture ${at}: ${short([a[at], b[at]])}`;
    if (differ === "") break;
    await page.page.waitForTimeout(250);
  }
  expect.soft(differ, "its pictures have the pixels of the served page's").toBe("");
  await file.close();
  await page.close();
  await server.end();
}

/** @param {Browser} browser */
async function figuresInPages(browser) {
  const { startServer } = await built("server/server.js");
  const type = "text/javascript; charset=utf-8";
  const pages = new Map([
    [
      "/",
      {
        type: "text/html; charset=utf-8",
        body: Buffer.from("<!doctype html><link rel='icon' href='data:,'><title>figures</title>"),
      },
    ],
  ]);
  for (const name of readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".js"))
      pages.set(`/dist/${name.split(sep).join("/")}`, { type, body: readFileSync(join(root, "dist", name)) });
  for (const name of ["inputs.mjs"])
    pages.set(`/${name}`, { type, body: readFileSync(join(root, "tests/explorer/support", name)) });
  const server = await startServer({ pages });
  const { page, reported, close } = await watched(browser, new URL(server.url).origin);
  await page.goto(server.url);
  const drawn = await page.evaluate(async () => {
    const { renderFigure, storeFrom } = await import(/** @type {string} */ ("/dist/view/index.js"));
    const { figures, inputs } = await import(/** @type {string} */ ("/inputs.mjs"));
    const drawings = [];
    for (const { name, input, options } of figures)
      drawings.push([name, (await renderFigure(storeFrom(inputs[input]()), options)).svg]);
    return drawings;
  });
  const { storeFrom } = await import("heed/view");
  for (const { name, input, options } of figures) {
    const { svg } = await renderFigure(storeFrom(inputs[input]()), options);
    const other = drawn.find(([which]) => which === name)?.[1];
    expect.soft(other === svg, `figure ${name}: the page draws Node's bytes`).toBe(true);
    const parsed = await page.evaluate((text) => {
      const document = new DOMParser().parseFromString(text, "image/svg+xml");
      return document.querySelector("parsererror")?.textContent ?? "";
    }, svg);
    expect.soft(parsed, `figure ${name} is well-formed`).toBe("");
  }
  expect.soft(reported, "figures in a page: nothing on the console").toEqual([]);
  await close();
  await server.close();
}

test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "heed-page-"));
  writeFileSync(join(folder, "run.safetensors"), await writeBundle(inputs.hostile()));
  const { writeNpz } = await import("heed/io");
  const { query, key } = inputs.small().blocks[0].layers[0];
  writeFileSync(join(folder, "pair.npz"), await writeNpz({ q: query, k: key }));
});
test.afterAll(() => {
  // A folder that a failed test left.
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

test("heed view serves the explorer: isolated, exact headers, byte ranges, a token, nothing for other origins", ({
  browser,
}) => served(browser));
test("the served page says that it is loading before it has more than the element", async ({ browser }) => {
  const { line, end } = await heed("view", "run.safetensors", "--no-open");
  const { page, reported, close } = await watched(browser, new URL(line).origin);
  /** @type {(() => void)[]} */
  const waiting = [];
  await page.route("**/parts/app.js", async (route) => {
    await new Promise((resolve) => waiting.push(() => resolve(undefined)));
    await route.continue();
  });
  await page.goto(line, { waitUntil: "domcontentloaded" });
  await expect(page.locator("attention-view .starting")).toHaveText("Loading the explorer …");
  for (const go of waiting) go();
  await settled(page);
  await expect(page.locator("attention-view .starting")).toHaveCount(0);
  expect(reported).toEqual([]);
  await close();
  await end();
});
test("heed html writes one file that shows the same pictures from disk", ({ browser }) => oneFile(browser));
test("figures drawn in a page have the bytes of figures drawn in Node", ({ browser }) =>
  figuresInPages(browser));
