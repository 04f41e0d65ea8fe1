// @ts-check
/** Attributes of <attention-lab> that are wrong. */
import { expect } from "@playwright/test";
import { test } from "./visit.mjs";

/** Attributes of <attention-lab> with a wrong value, and the sentence about each. @type {readonly (readonly [string, string])[]} */
const WRONG = [
  ["", "The Lab has no page “”. Its pages are "],
  ['page="Saturation"', "The Lab has no page “Saturation”. Its pages are "],
  ['page="saturation" stop="0"', "stop must be a number from 1 to "],
  ['page="saturation" stop="two"', "got “two”"],
  ['page="saturation" stop="1.5"', "got “1.5”"],
  ['page="saturation" state="scale=3"', "has no “scale”; it has numbers, times, "],
  ['page="saturation" state="times=many"', "times of the state of “"],
  ['page="saturation" state="times=1e9"', "cannot be “1e9”; the nearest value is "],
  ['page="saturation" picture-only="false"', "picture-only is an attribute without a value, got “false”"],
  ['page="saturation" explorer=""', "explorer must be the address of a folder, got “”"],
];
test("each wrong value of an attribute of <attention-lab> is an error in the element, in the console and in its event", ({
  visit,
}) =>
  visit("", {}, async (page) => {
    await page.evaluate(async () => {
      const errors = /** @type {string[]} */ ([]);
      console.error = (text) => errors.push(text);
      document.addEventListener("error", (event) => errors.push(/** @type {any} */ (event).detail.message));
      Object.assign(globalThis, { errors });
      await import(/** @type {any} */ ("/attention-lab.js"));
    });
    for (const [attributes, sentence] of WRONG) {
      await page.evaluate((markup) => {
        /** @type {any} */ (globalThis).errors.length = 0;
        document.body.innerHTML = markup;
      }, `<attention-lab ${attributes}></attention-lab>`);
      await expect(page.locator("attention-lab .problem"), attributes).toContainText(sentence, {
        timeout: 60_000,
      });
      const [logged, sent] = await page.evaluate(() => /** @type {any} */ (globalThis).errors);
      expect(logged, attributes).toContain(sentence);
      expect(sent, attributes).toContain(sentence);
    }
  }));
