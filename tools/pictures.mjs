/**
 * `npm run pictures`: the pictures of README and docs, in docs/images/. `heed figure` draws the figures, which have the same
 * bytes on every machine (tests/docs.test.ts draws them again); Chromium takes the screenshot of the explorer.
 * `--check` writes nothing: it takes the screenshot again and fails where more than a tenth of its pixels differ (fonts do).
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launchChromium, NO_CHROMIUM } from "../tests/platforms/chromium.mjs";
import { PLOTS } from "./pictures/plots.mjs";
import { at, build, install, pinned, run, say } from "./setup.mjs";
import { Tally } from "./tally.mjs";

const CAT = "models/captures/tired-cat.safetensors";
const BANK = "models/captures/river-bank.safetensors";
/** The head in which "it" attends to "cat", and that cell. */
const IT_CAT = ["--layer", "5", "--head", "11", "--query", "8", "--key", "2", "--no-caption"];

/** Figures by file name: the arguments of `heed figure`. */
export const FIGURES = new Map([
  ["cat-lines.svg", [CAT, "--view", "lines", ...IT_CAT]],
  ["cat-text.svg", [CAT, "--view", "text", "--layer", "5", "--head", "11", "--query", "8", "--no-caption"]],
  [
    "bank-row.svg",
    [BANK, "--view", "row", "--layer", "1", "--head", "8", "--query", "5", "--key", "6", "--no-caption"],
  ],
  ["bank-heads.svg", [BANK, "--view", "atlas", "--width", "170", "--no-caption"]],
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
 * The explorer on the same head, 1280 × 800, light, as a WebP (a third of a PNG's bytes); undefined where there is no Chromium.
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
    await page.goto(`${pathToFileURL(file).href}#v1/head?l=5&h=11&i=8&j=2`);
    await page.waitForSelector("attention-view");
    await page.waitForTimeout(1500);
    const session = await page.context().newCDPSession(page);
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 84 });
    return Buffer.from(data, "base64");
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
}

/**
 * The share of pixels that differ between two PNG files of one size, computed by Chromium.
 * @param {Buffer} one
 * @param {Buffer} other
 */
async function difference(one, other) {
  const browser = await launchChromium();
  if (browser === undefined) return 0;
  try {
    const page = await browser.newPage();
    return await page.evaluate(
      async (sources) => {
        const pixels = [];
        for (const source of sources) {
          const image = new Image();
          image.src = `data:image/webp;base64,${source}`;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
          context.drawImage(image, 0, 0);
          pixels.push(context.getImageData(0, 0, image.width, image.height).data);
        }
        const [a, b] = pixels;
        if (a.length !== b.length) return 1;
        let count = 0;
        for (let i = 0; i < a.length; i += 4)
          if ([0, 1, 2].some((c) => Math.abs(a[i + c] - b[i + c]) > 32)) count++;
        return count / (a.length / 4);
      },
      [one.toString("base64"), other.toString("base64")],
    );
  } finally {
    await browser.close();
  }
}

/** Whether the screenshot in docs/images is what the explorer shows now. */
async function check() {
  const tally = new Tally((line) => process.stdout.write(`${line}\n`));
  const picture = await screenshot();
  if (picture === undefined) tally.skip("the README's picture", NO_CHROMIUM);
  else {
    const share = await difference(picture, readFileSync(at("docs/images/explorer.webp")));
    tally.check(
      "the README's picture",
      share < 0.1 ? "" : `${(100 * share).toFixed(1)} % of its pixels differ`,
    );
  }
  process.stdout.write(`${tally}\n`);
  process.exitCode = tally.failed > 0 ? 1 : 0;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  install();
  build();
  if (process.argv.includes("--check")) {
    await check();
    process.exit();
  }
  mkdirSync(at("docs/images"), { recursive: true });
  for (const [name, args] of FIGURES) heed(["figure", ...args, "-o", at(`docs/images/${name}`)]);
  for (const [name, args] of PLANS) heed(["explain", ...args, "-o", at(`docs/images/${name}`)]);
  const load = (/** @type {string} */ path) => import(pathToFileURL(at(`dist/${path}index.js`)).href);
  const modules = {
    heed: await load(""),
    reference: await load("reference/"),
    nn: await load("nn/"),
    train: await load("train/"),
    view: await load("view/"),
  };
  for (const [name, plot] of PLOTS) writeFileSync(at(`docs/images/${name}`), await plot(modules));
  say(`${FIGURES.size + PLANS.size + PLOTS.size} figures`);
  const picture = await screenshot();
  if (picture) writeFileSync(at("docs/images/explorer.webp"), picture);
  else say(`explorer.webp is left as it is: ${NO_CHROMIUM}`);
}
