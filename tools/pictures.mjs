/**
 * `npm run pictures`: the pictures of README and docs, in docs/images/. Figures are made by `heed figure` and have the same
 * bytes on every machine (tests/docs.test.ts makes them again); the screenshot of the explorer is made by Chromium
 * (tests/explorer/pictures.mjs makes it again and compares the pixels).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launchChromium, NO_CHROMIUM } from "../tests/platforms/chromium.mjs";
import { at, build, install, pinned, run, say } from "./setup.mjs";

const CAT = "models/captures/tired-cat.safetensors";
/** The head in which "it" attends to "cat", and that cell. */
const IT_CAT = ["--layer", "5", "--head", "11", "--query", "8", "--key", "2", "--no-caption"];

/** Figures by file name: the arguments of `heed figure`. */
export const FIGURES = new Map([
  ["cat-lines.svg", [CAT, "--view", "lines", ...IT_CAT]],
  ["cat-matrix.svg", [CAT, "--view", "matrix", ...IT_CAT]],
]);

/** Documents of 1,024 tokens, of lengths from 20 to 180. */
const DOCUMENTS = (() => {
  const ids = [];
  for (let id = 0; ids.length < 1024; id++) for (let n = 20 + ((id * 67) % 161); n > 0; n--) ids.push(id);
  return ids.slice(0, 1024).join();
})();

/** Plans over several ranks by file name: the arguments of `heed explain`. */
export const PLANS = new Map([
  ["cluster-zigzag.svg", ["--shape", "1,1,8192,64", "--causal", "--ranks", "8"]],
  ["cluster-equal.svg", ["--shape", "1,1,8192,64", "--causal", "--ranks", "8", "--cost", "tokens"]],
  ["cluster-documents.svg", ["--shape", "1,1,1024,64", "--causal", "--documents", DOCUMENTS, "--ranks", "4"]],
]);

/** @param {string[]} args */
function heed(args) {
  if (run(pinned(), [at("dist/cli/main.js"), ...args], { quiet: true }) !== 0)
    throw new Error(`heed ${args[0]} failed (see above)`);
}

/**
 * The explorer on the same head, 1280 × 800, light, as a PNG; undefined where there is no Chromium.
 * @returns {Promise<Buffer | undefined>}
 */
export async function screenshot() {
  const browser = await launchChromium();
  if (browser === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "heed-pictures-"));
  try {
    const file = join(folder, "explorer.html");
    heed(["html", at(CAT), "-o", file]);
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
    await page.goto(`${pathToFileURL(file).href}#v1/head?l=5&h=11&q=9&k=2`);
    await page.waitForSelector("attention-view");
    await page.waitForTimeout(1500);
    return await page.screenshot();
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  install();
  build();
  mkdirSync(at("docs/images"), { recursive: true });
  for (const [name, args] of FIGURES) heed(["figure", ...args, "-o", at(`docs/images/${name}`)]);
  for (const [name, args] of PLANS) heed(["explain", ...args, "-o", at(`docs/images/${name}`)]);
  say(`${FIGURES.size + PLANS.size} figures`);
  const picture = await screenshot();
  if (picture) writeFileSync(at("docs/images/explorer.png"), picture);
  else say(`explorer.png is left as it is: ${NO_CHROMIUM}`);
}
