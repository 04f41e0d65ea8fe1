// @ts-check
/**
 * What a reader meets on the first seven pages of the Lab: marks that say what they mean, questions that the picture does not answer
 * before they are asked, sentences of one word, and pages without scripts. Needs dist/.
 */
import { expect } from "@playwright/test";
import { inTurn } from "../support/cases/count.ts";
import { names, quiet, reach, test, write } from "./visit.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const SIZES = [1280, 375];

const caption = (/** @type {Page} */ page) => page.locator(".stage figcaption");
/** The picture that is shown. */
const picture = ".picture svg:visible";

for (const width of SIZES)
  test(`words: ${width}: arcs lead to the largest shares or are left out, and beads are clear of the words`, ({
    visit,
  }) =>
    visit("words.html", { viewport: { width, height: 812 } }, async (page) => {
      await expect(page.locator(".step").first()).toContainText(
        "“start” and “end” are marks that the model puts around every sentence",
      );
      await expect(page.locator(".step").first()).toContainText("each dot below a word is one of 100");
      // One row of words has an arc for each share from 2 % on but the word's own; more rows have none.
      await expect(page.locator(`${picture} path.arc`)).toHaveCount(4);
      for (const address of [
        "",
        "#v1?line=rates&query=12",
        "#v1?line=rates&query=4",
        "#v1?line=green&query=6",
      ]) {
        await page.goto(`${page.url().replace(/#.*/, "")}${address}`);
        await page.waitForSelector("[data-ready]");
        await quiet(page);
        expect(await page.evaluate(beadsElsewhere), address).toEqual([]);
      }
    }));

/** Beads outside the picture or on a word. In the page. */
function beadsElsewhere() {
  const svg = /** @type {SVGElement} */ (
    [...document.querySelectorAll(".picture svg")].find((one) => one.getBoundingClientRect().width > 0)
  );
  const frame = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll(".press")].map((word) => ({
    text: word.textContent,
    box: word.getBoundingClientRect(),
  }));
  const names = new Set();
  for (const bead of svg.querySelectorAll('[data-name="shares"] circle')) {
    const { left, right, top, bottom } = bead.getBoundingClientRect();
    if (left < frame.left - 0.5 || right > frame.right + 0.5) names.add("a bead is cut off");
    for (const { text, box } of words)
      if (
        Math.min(right, box.right) - Math.max(left, box.left) > 0.5 &&
        Math.min(bottom, box.bottom) - Math.max(top, box.top) > 0.5
      )
        names.add(`a bead is on “${text}”`);
  }
  return [...names];
}

test("pages without scripts answer their predictions, and show the answer", ({ visit }) =>
  visit("arrows.html", { script: false }, async (page) => {
    const still = page.locator(".step").nth(1).locator(".still");
    await expect(still).toContainText("It is 84");
    await expect(still.locator("figcaption")).toContainText("The query gives 84");
    await expect(still.locator("svg")).toBeVisible();
    // A button that does nothing is not shown.
    await expect(page.locator(".predict button").first()).toBeHidden();
    await visit("words.html", { script: false }, async (words) => {
      const stop = words.locator(".step").nth(3);
      await expect(stop).toContainText("The head gives “green”");
      await expect(stop).toContainText("We say that the head rests");
      await expect(stop.locator("figcaption")).not.toContainText("press Show");
      await expect(stop.locator("button").first()).toBeHidden();
    });
    await visit("masks.html", { script: false }, async (masks) => {
      const stop = masks.locator(".step").nth(2);
      await expect(stop).toContainText("Visible scores of −1e30 are still finite");
      await expect(stop.locator("figcaption")).toContainText("with −1e9 the hidden ones get 100");
      await expect(stop.locator("button").first()).toBeHidden();
    });
  }));

for (const width of SIZES)
  test(`arrows: ${width}: the name of a key is beside the query on top of it, and shares are beside short bars`, ({
    visit,
  }) =>
    visit("arrows.html#v1?x=2.4&y=3.2", { viewport: { width, height: 812 } }, async (page) => {
      const crossed = await page.evaluate(() => {
        const svg = /** @type {SVGElement} */ (
          [...document.querySelectorAll(".picture svg")].find((one) => one.getBoundingClientRect().width > 0)
        );
        const query = /** @type {SVGLineElement} */ (svg.querySelector('[data-name="query"] line'));
        const matrix = /** @type {DOMMatrix} */ (query.getScreenCTM());
        const [a, b] = [
          new DOMPoint(query.x1.baseVal.value, query.y1.baseVal.value).matrixTransform(matrix),
          new DOMPoint(query.x2.baseVal.value, query.y2.baseVal.value).matrixTransform(matrix),
        ];
        return [...svg.querySelectorAll('[data-name="keys"] text')]
          .filter((text) => {
            const box = text.getBoundingClientRect();
            const inset = 0.2 * box.height;
            return Array.from({ length: 101 }, (_, i) => [
              a.x + ((b.x - a.x) * i) / 100,
              a.y + ((b.y - a.y) * i) / 100,
            ]).some(
              ([x, y]) => x > box.left && x < box.right && y > box.top + inset && y < box.bottom - inset,
            );
          })
          .map((text) => text.textContent);
      });
      expect(crossed).toEqual([]);
      // The percentage of a short bar is after it, not on its end.
      expect(
        await page.evaluate(() => {
          const svg = /** @type {SVGElement} */ (
            [...document.querySelectorAll(".picture svg")].find(
              (one) => one.getBoundingClientRect().width > 0,
            )
          );
          const group = /** @type {Element} */ (svg.querySelector('[data-name="shares"]'));
          const bars = [...group.querySelectorAll("rect:not(.fhover)")].map((bar) =>
            bar.getBoundingClientRect(),
          );
          return [...group.querySelectorAll("text")].filter((text, i) => {
            const box = text.getBoundingClientRect();
            return box.left < bars[i].right - 1 && box.right > bars[i].right + 1;
          }).length;
        }),
      ).toBe(0);
    }));

for (const name of ["arrows", "steps"])
  for (const width of SIZES)
    test(`${name}: ${width}: a sentence of one word is filled up with words, and every mark has a name`, ({
      visit,
    }) =>
      visit(`${name}.html`, { viewport: { width, height: 812 } }, async (page) => {
        await write(page, "hi");
        for (let i = 0; i < (await page.locator(".step").count()); i++) {
          await reach(page, i, width);
          // word2vec has a text of its own.
          if (name === "arrows" && i === 5) {
            await expect(page.locator(picture)).toContainText("queen");
            continue;
          }
          await expect(page.locator(picture)).toContainText("hi");
          await expect(page.locator(picture)).toContainText("sat");
          await expect(page.locator(".step").nth(i)).not.toContainText("“…”");
          await expect(caption(page)).not.toContainText("“…”");
        }
      }));

test("words: beads of neighbors are apart in a sentence of many short pieces", ({ visit }) =>
  visit("words.html", {}, async (page) => {
    await write(page, "Die Äpfel schmecken größer als ёж und 漢字 ☃");
    await expect(caption(page)).toContainText("A dot marks a piece that continues a word.");
    const apart = await page.evaluate(() => {
      const beads = [...document.querySelectorAll('.picture svg.wide [data-name="shares"] circle')].map(
        (bead) => bead.getBoundingClientRect(),
      );
      return beads.every((a, i) =>
        beads.slice(i + 1).every((b) => Math.hypot(a.x - b.x, a.y - b.y) > 0.9 * a.width),
      );
    });
    expect(apart).toBe(true);
  }));

test("steps: the picture beside the question has the scores, not what follows from them", ({ visit }) =>
  visit("steps.html", {}, async (page) => {
    await reach(page, 1, 1280);
    await expect(page.locator(".step").nth(1)).toContainText("has the scores 10, 1, 5 and 3");
    const cells = page.locator('.picture svg.wide [data-name="scores"] .press');
    expect((await cells.allTextContents()).slice(12)).toEqual(["10", "1", "5", "3"]);
    await page.click('[data-act="predict:1"]');
    await expect(caption(page)).toContainText("gives 96");
  }));

test("scale: a phone has the plot that the text and the task speak of", ({ visit }) =>
  visit("scale.html", { viewport: { width: 375, height: 812 } }, async (page) => {
    await reach(page, 1, 375);
    await page.click('[data-act="predict:1"]');
    const plot = page.locator('.picture svg.narrow [data-name="variance"]');
    await expect(plot.locator("circle")).toHaveCount(5);
    await expect(page.locator(".picture svg.narrow")).toContainText("variance = dₖ");
    await expect(page.locator('.picture svg.narrow [data-name="guess"]')).toContainText("your guess");
    await page.click('[data-act="show:products"]');
    await expect(page.locator('.picture svg.narrow [data-name="products"] rect').first()).toBeVisible();
    await expect(plot).toHaveCount(0);
  }));

for (const width of SIZES)
  test(`saturation: ${width}: the labels of the 2,000 rows are beside the dots`, ({ visit }) =>
    visit("saturation.html#v1?show=rows", { viewport: { width, height: 812 } }, async (page) => {
      for (const times of [1, 8, 14, 20, 100]) {
        await page.goto(`${page.url().replace(/#.*/, "")}#v1?show=rows&times=${times}&half=1`);
        await expect(caption(page)).toContainText(`× ${times}:`);
        await quiet(page);
        const dots = /** @type {{ x: number, y: number, width: number }} */ (
          await page.locator(`${picture} [data-name="rows"] path`).boundingBox()
        );
        const entropy = await page.locator(`${picture} text`, { hasText: "mean entropy" }).boundingBox();
        expect(entropy && entropy.y + entropy.height - 3, `× ${times}`).toBeLessThan(dots.y);
        const labels = page.locator(`${picture} text`, {
          hasText: /half of the rows|are below|below the line|0 in float16/,
        });
        await expect(labels).toHaveCount(4);
        for (const box of await labels.evaluateAll((texts) =>
          texts.map((text) => text.getBoundingClientRect().toJSON()),
        )) {
          expect(box.left, `× ${times}`).toBeGreaterThan(dots.x + dots.width);
          expect(box.right, `× ${times}`).toBeLessThanOrEqual(width);
        }
        const tops = await labels.evaluateAll((texts) =>
          texts.map((text) => text.getBoundingClientRect().top).sort((a, b) => a - b),
        );
        for (let i = 1; i < tops.length; i++) expect(tops[i] - tops[i - 1]).toBeGreaterThan(8);
      }
    }));

for (const width of SIZES)
  test(`masks: ${width}: of a sentence of one word, the page speaks of that word and not of a pad`, ({
    visit,
  }) =>
    visit("masks.html", { viewport: { width, height: 812 } }, async (page) => {
      await write(page, "hi");
      for (let i = 0; i < (await page.locator(".step").count()); i++) {
        await reach(page, i, width);
        const show = page.locator(`[data-act="predict:${i}"]`);
        if ((await show.count()) > 0) await show.click();
        await quiet(page);
        await expect(page.locator(".step").nth(i)).not.toContainText("“pad”");
        await expect(caption(page), `stop ${i + 1}`).toContainText(/^“h/);
      }
    }));

test("masks: the menus name the mask that is shown, and the picture does not answer the question", ({
  visit,
}) =>
  visit("masks.html", {}, async (page) => {
    await reach(page, 1, 1280);
    // The row of “sat” has no colors before its shares are predicted.
    const row = page.locator('.picture svg.wide [data-name="weights"] rect').nth(38);
    await expect(row).toHaveClass("fhover");
    await page.click('[data-act="predict:1"]');
    await expect(row).toHaveClass(/^w\d+$/);
    await expect(page.locator(".recipe")).toContainText("no mask");
    await expect(page.locator(".recipe code")).toHaveText("no mask");
    await expect(page.locator('[data-act="first"]')).toHaveValue("none");
    await expect(caption(page)).toContainText("The mask changes the output of no row.");
    await page.click('[data-act="preset:causal + padding"]');
    await expect(page.locator(".recipe code")).toHaveText("and(causal(), keyLengths(8))");
  }));

test("heads: one head alone is described once, and its averages are its own", ({ visit }) =>
  visit("heads.html", {}, async (page) => {
    await page.click('[data-act="solo"]');
    await expect(caption(page)).toHaveText(
      /^Head 4 alone: 80.% to “time”\. Averages of one head are that head’s own\. MiniLM, layer 0\.$/,
    );
    await page.click('[data-act="all"]');
    await expect(caption(page)).toContainText(
      /The average of the outputs and average weights × average values are \d+.% apart\./,
    );
  }));

test("a link to a step opens with the picture of that step", ({ visit }) =>
  visit("steps.html#stop6", {}, (page) =>
    expect(page.locator(".picture svg.wide")).toContainText("output = softmax · V"),
  ));

for (const name of inTurn(names, 3))
  test(`${name}: every part of a formula is MathML after the page has drawn it`, ({ visit }) =>
    visit(`${name}.html`, {}, async (page) => {
      // A part that a template of its own has drawn would be HTML, which formulas do not show. The text is drawn again at each stop.
      for (let at = 0; at < (await page.locator(".step").count()); at++) await reach(page, at, 1280);
      const others = await page.evaluate(() =>
        [...document.querySelectorAll("math *")]
          .filter(({ namespaceURI }) => !namespaceURI?.endsWith("MathML"))
          .map(({ outerHTML }) => outerHTML),
      );
      expect(others).toEqual([]);
    }));
