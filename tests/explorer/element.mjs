// @ts-check
/**
 * <attention-view>, the built module, in headless Chromium under a strict policy: what it draws, the keyboard alone, axe in every
 * theme and width, hostile tokens, several on a page, coming and going. `node tests/explorer/element.mjs keyboard values` runs
 * some. Needs dist/ (npm run build); ends with a closing line (tools/tally.mjs).
 */
import { Tally } from "../../tools/tally.mjs";
import { launchChromium, NO_CHROMIUM } from "../platforms/chromium.mjs";
import { accessibility } from "./accessibility.mjs";
import { embedding } from "./embedding.mjs";
import { hostile } from "./hostile.mjs";
import { keyboard } from "./keyboard.mjs";
import { language } from "./language.mjs";
import { pictures } from "./pictures.mjs";
import { print } from "./print.mjs";
import { row } from "./row.mjs";
import { serve } from "./site.mjs";
import { text } from "./text.mjs";
import { use } from "./use.mjs";
import { values } from "./values.mjs";

const tally = new Tally((line) => process.stdout.write(`${line}\n`));
const all = {
  values,
  pictures,
  use,
  text,
  keyboard,
  accessibility,
  hostile,
  embedding,
  language,
  print,
  row,
};
const wanted = process.argv.slice(2);

const browser = await launchChromium(["--enable-precise-memory-info", "--js-flags=--expose-gc"]);
if (browser === undefined) tally.skip("the element in a browser", NO_CHROMIUM);
else {
  const { base, close } = await serve();
  try {
    for (const [name, run] of Object.entries(all))
      if (wanted.length === 0 || wanted.includes(name)) {
        const began = performance.now();
        await run(browser, base, tally);
        process.stderr.write(`  ${name}: ${((performance.now() - began) / 1000).toFixed(1)} s\n`);
      }
  } finally {
    await browser.close();
    close();
  }
}
process.stdout.write(`${tally}\n`);
process.exitCode = tally.failed > 0 ? 1 : 0;
