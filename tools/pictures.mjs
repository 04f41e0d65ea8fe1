/**
 * `npm run pictures`: the pictures of README and docs, in docs/images/. `heed figure` draws the figures, which have the same
 * bytes on every machine (tests/docs.test.ts draws them again); Chromium takes the screenshots of the explorer.
 * `--check` writes nothing: it takes the screenshots again and fails where more than a tenth of the pixels of one differ (fonts do).
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launchChromium, NO_CHROMIUM } from "../tests/platforms/chromium.mjs";
import { Tally } from "./parts/tally.mjs";
import { PLOTS } from "./pictures/plots.mjs";
import { at, build, install, pinned, run, say } from "./setup.mjs";

const FLIES = "models/captures/time-flies.safetensors";
const BANK = "models/captures/bank-of-the-river.safetensors";
/** The head that ties "flies" to "time", and "bank" to "river"; docs/08-explorer.md has its controls. */
const HEAD = ["--layer", "0", "--head", "4", "--no-caption"];
const FLIES_TIME = [...HEAD, "--query", "2", "--key", "1"];

/** Figures by file name: the arguments of `heed figure`. */
export const FIGURES = new Map([
  ["flies-lines.svg", [FLIES, "--view", "lines", ...FLIES_TIME]],
  ["flies-matrix.svg", [FLIES, "--view", "matrix", ...FLIES_TIME]],
  ["bank-text.svg", [BANK, "--view", "text", ...HEAD, "--query", "5"]],
  ["bank-row.svg", [BANK, "--view", "row", ...HEAD, "--query", "5", "--key", "8"]],
  ["bank-heads.svg", [BANK, "--view", "atlas", "--width", "170", "--no-caption"]],
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

/** Screenshots of the explorer by file name: the file that is open, the state in the address, and the size of the window. */
export const SCREENSHOTS = new Map([
  ["explorer.webp", { file: FLIES, state: "head?l=0&h=4&i=2&j=1", width: 1280, height: 800 }],
  ["explorer-model.webp", { file: FLIES, state: "model?l=0&h=4&i=2&j=1", width: 1000, height: 560 }],
  ["explorer-lines.webp", { file: FLIES, state: "head?l=0&h=4&i=2&j=1&m=lines", width: 1280, height: 640 }],
  ["explorer-row.webp", { file: FLIES, state: "row?l=0&h=4&i=2&j=1", width: 1000, height: 640 }],
  ["explorer-flow.webp", { file: FLIES, state: "flow?i=2", width: 1280, height: 640 }],
]);

/**
 * The screenshots, light, as WebP files (a third of a PNG's bytes); undefined where there is no Chromium.
 * @returns {Promise<Map<string, Buffer> | undefined>}
 */
async function screenshots() {
  const browser = await launchChromium();
  if (browser === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "heed-pictures-"));
  const pictures = new Map();
  try {
    for (const [name, { file, state, width, height }] of SCREENSHOTS) {
      const html = join(folder, `${name}.html`);
      heed(["html", at(file), "-o", html]);
      const page = await browser.newPage({ viewport: { width, height }, colorScheme: "light" });
      await page.goto(`${pathToFileURL(html).href}#v1/${state}`);
      await page.waitForSelector("attention-view");
      await page.waitForTimeout(1500);
      const session = await page.context().newCDPSession(page);
      const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 72 });
      pictures.set(name, Buffer.from(data, "base64"));
      await page.close();
    }
    return pictures;
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

/** Whether the screenshots in docs/images are what the explorer shows now. */
async function check() {
  const tally = new Tally((line) => process.stdout.write(`${line}\n`));
  const pictures = await screenshots();
  if (pictures === undefined) tally.skip("the pictures of the explorer", NO_CHROMIUM);
  for (const [name, picture] of pictures ?? []) {
    const share = await difference(picture, readFileSync(at(`docs/images/${name}`)));
    tally.check(name, share < 0.1 ? "" : `${(100 * share).toFixed(1)} % of its pixels differ`);
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
  const pictures = await screenshots();
  for (const [name, picture] of pictures ?? []) writeFileSync(at(`docs/images/${name}`), picture);
  if (pictures === undefined) say(`the pictures of the explorer are left as they are: ${NO_CHROMIUM}`);
}
