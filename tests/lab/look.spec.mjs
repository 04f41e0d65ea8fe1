// @ts-check
/**
 * What a reader sees of the Lab, on a desk and on a phone: at every stop of every page no label is cut off or on top of another,
 * axe finds nothing at the first and the last (dark at one and light at the other, in turn), and a page that fails says why. Needs dist/.
 */
import { expect } from "@playwright/test";
import { turn } from "../../tools/parts/turn.mjs";
import { CONTRAST, violations } from "../support/axe.mjs";
import { countInTurn, isItsTurn, sweepSize } from "../support/cases/count.ts";
import { names, open, quiet, reach, test, write } from "./visit.mjs";

const WIDTHS = [1280, 375];
const isAll = sweepSize(1, 2) === 2;
/** Of four turns a page is seen on a desk in one, on a phone in another; both with HEED_ALL=1. @param {number} at */
const widthsOf = (at) => WIDTHS.filter((_, n) => isItsTurn(at + n, 4));
/** The color schemes in which axe looks at the first (0) or the last (1) state of a page. @param {number} at @param {number} state */
const schemesOf = (at, state) => {
  const schemes = /** @type {const} */ (["dark", "light"]);
  return isAll ? schemes : [schemes[(at + (turn >> 1) + state) % 2]];
};
/** Pages that show the reader's own sentence. */
const OWN = ["words", "arrows", "steps", "masks", "heads", "explanation"];

// What is seen at each stop of the text, on a desk and on a phone.
for (const [at, name] of names.entries())
  for (const width of widthsOf(at))
    test(`${name}: ${width}: axe content, each label readable at each stop, and the link leads back`, ({
      visit,
    }) =>
      visit(`${name}.html`, { viewport: { width, height: 812 } }, async (page) => {
        const stops = await page.locator(".step").count();
        /** @type {string[]} */
        const problems = [];
        const look = async (/** @type {string} */ where) => {
          for (const what of await page.evaluate(misplaced)) problems.push(`${where}: ${what}`);
        };
        const check = async (/** @type {string} */ state) => {
          for (const colorScheme of schemesOf(at, state === "first" ? 0 : 1)) {
            await page.emulateMedia({ colorScheme });
            await quiet(page);
            for (const one of await violations(page, colorScheme === "dark" ? CONTRAST : {}))
              problems.push(`${state}, ${colorScheme}: ${one}`);
          }
        };
        await look("first");
        await check("first");
        for (let i = 0; i < stops; i++) {
          await reach(page, i, width);
          await look(`stop ${i + 1}`);
          const show = page.locator(`[data-act="predict:${i}"]`);
          if ((await show.count()) === 0) continue;
          const largest = Number(await page.locator(`[data-guess="${i}"]`).getAttribute("max"));
          // A button that the controls cover is scrolled to and clicked before the event of that scroll.
          await show.click();
          await quiet(page);
          await look(`stop ${i + 1}, answered`);
          // The pressed button is gone: who uses the keyboard goes on at the one in its place.
          await expect(page.locator(`[data-act="forget:${i}"]`)).toBeFocused();
          await expect(page.locator('.picture svg:visible [data-name="guess"]')).toContainText("your guess");
          // The answer is in the text, even where the next stop is the active one.
          await expect(page.locator(".step").nth(i).locator(".said")).toContainText("You said");
          // Nothing of the guess is on a label, whatever was guessed: every fourth of 61 guesses.
          const guesses = countInTurn(61, 4).map((n) => Math.round((largest * n) / 60));
          for (const what of await page.evaluate(guessesOnLabels, { stop: i, guesses }))
            problems.push(`stop ${i + 1}, ${what}`);
          await quiet(page);
        }
        await check("last");
        expect(problems).toEqual([]);
        // The link at a heading takes no line of its own.
        expect(await page.evaluate(tallHeadings)).toEqual([]);
        // The end of the text is between picture and control, not above an empty screen.
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await quiet(page);
        const end = await page.evaluate(() => {
          const last = [...document.querySelectorAll(".text section:last-of-type > *")].at(-1);
          const stage = document.querySelector(".stage")?.getBoundingClientRect().bottom ?? 0;
          return { bottom: last?.getBoundingClientRect().bottom ?? 0, stage: innerWidth < 900 ? stage : 0 };
        });
        expect(end.bottom).toBeGreaterThan(end.stage + 40);
        // A task is one text: a formula in it is no column of its own.
        expect(await page.locator(".tasks li").first().locator("> *").count()).toBe(2);
        // The address of the last state opens it again; times are measured again.
        const hash = await page.evaluate(() => location.hash);
        const captionNow = async () =>
          (await page.locator(".stage figcaption").textContent())?.replaceAll(/[\d.]+ ms/g, "ms");
        const caption = await captionNow();
        const { origin } = new URL(page.url());
        await page.goto("about:blank");
        await open(page, `${origin}/${name}.html${hash}`);
        expect(await captionNow(), hash).toBe(caption);
        // What gets the focus is neither under the picture nor under the controls.
        expect(await page.evaluate(coveredFocus)).toEqual([]);
        // On paper nothing is wider than the sheet (A4), and no control is left.
        await page.emulateMedia({ media: "print" });
        await page.setViewportSize({ width: 794, height: 1123 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(794);
        for (const control of await page.locator(".stage, .top, .share, .text button, .predict input").all())
          await expect(control).toBeHidden();
        // In a short window the picture is beside the text, or scrolls with it: nothing covers the text.
        await page.emulateMedia({ media: "screen" });
        for (const width of [640, 375]) {
          await page.setViewportSize({ width, height: 400 });
          await page.evaluate(() => document.querySelectorAll(".step")[1].scrollIntoView());
          await quiet(page);
          expect(await page.evaluate(covered), `${width} × 400`).toEqual([]);
        }
      }));
test("a phone has the second controls once the first was used, and Reset, link and files at the end", ({
  visit,
}) =>
  visit("variants.html", { viewport: { width: 375, height: 812 }, hasTouch: true }, async (page) => {
    expect(await page.locator(".others").count()).toBe(0);
    await page.locator('.control [data-act="data:2"]').tap();
    await page.waitForSelector(".others");
    // The strip is under the thumb, and scrolls to its end.
    const strip =
      /** @type {NonNullable<Awaited<ReturnType<import("@playwright/test").Locator["boundingBox"]>>>} */ (
        await page.locator(".others").boundingBox()
      );
    expect(strip.y).toBeGreaterThan(812 * 0.8);
    await page.locator('.control [data-act="data:0"]').tap();
    await page.selectOption('.others [data-act="spread"]', "0.25");
    await page.waitForFunction(() => document.querySelectorAll(".tasks .done").length === 1);
    await page.locator('.others [data-act="reset"]').scrollIntoViewIfNeeded();
    await page.locator('.others [data-act="reset"]').tap();
    await page.waitForFunction(() => !/spread/.test(location.hash));
    for (const act of ["reset", "link", "svg", "csv"])
      await expect(page.locator(`.text .tools [data-act="${act}"]`)).toBeVisible();
  }));
test("scripts that cannot be loaded are said, and the page stays readable", async ({ browser, origin }) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.route("**/parts/saturation-page.js", (route) => route.abort());
  await page.goto(`${origin}/saturation.html`);
  await expect(page.locator(".problem")).toContainText("This page could not be started");
  await expect(page.locator(".stage figcaption")).toContainText("takes 100");
  await page.unroute("**/parts/saturation-page.js");
  await page.route("**/lab-worker.js", (route) => route.abort());
  await page.reload();
  await expect(page.locator(".problem")).toContainText("could not be loaded. Check the connection");
  // Nothing is being computed then, and nothing says so.
  await expect(page.locator(".lab")).toHaveAttribute("data-state", "failed");
  await expect(page.locator(".busy")).toBeHidden();
  await page.unroute("**/lab-worker.js");
  // A change starts it again.
  await page.locator('.control [data-act="times"]').fill("20");
  await expect(page.locator(".stage figcaption")).toContainText("takes 28");
  await expect(page.locator(".problem")).toBeHidden();
  await context.close();
});
test("a part of a page that cannot be loaded is said, and the next change loads it", async ({
  browser,
  origin,
}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const parts = ["**/parts/learned-compute.js", "**/parts/others*.js"];
  for (const part of parts) await page.route(part, (route) => route.abort());
  await page.goto(`${origin}/learned.html`);
  const problem = page.locator(".problem");
  await expect(problem).toContainText("could not be loaded. Check the connection");
  await page.unroute(parts[0]);
  await page.locator('.control [data-act="at"]').fill("4");
  await expect(page.locator(".stage figcaption")).toContainText("Step 300:");
  await expect(problem).toBeHidden();
  // The captures of the other runs are loaded when one is chosen.
  await page.click('.others [data-act="run:fast"]');
  await expect(problem).toContainText("could not be loaded. Check the connection");
  // Without a connection the next worker is not loaded, either.
  await page.route("**/lab-worker.js", (route) => route.abort());
  const lost = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/lab-worker.js"));
  await page.locator('.control [data-act="at"]').fill("2");
  await lost;
  await expect(page.locator("[data-state=computing]")).toHaveCount(0);
  await expect(problem).toContainText("could not be loaded. Check the connection");
  await page.unroute("**/lab-worker.js");
  await page.unroute(parts[1]);
  await page.locator('.control [data-act="at"]').fill("3");
  await expect(page.locator(".stage figcaption")).toContainText("to “it”");
  await expect(problem).toBeHidden();
  await context.close();
});
test("a page is computed where the browser is never idle", ({ visit }) =>
  visit("index.html", {}, async (page) => {
    await page.addInitScript(() => {
      globalThis.requestIdleCallback = (then, options) => {
        if (options?.timeout !== undefined) setTimeout(then, options.timeout);
        return 0;
      };
    });
    await Promise.all([
      page.waitForRequest("**/parts/learned-compute.js"),
      page.goto(new URL("learned.html", page.url()).href),
    ]);
  }));
test("a computation that ends is said, and the next change starts it again", async ({ browser, origin }) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  // The first worker answers once and fails at the second question.
  await page.route(
    "**/lab-worker.js",
    async (route) => {
      const response = await route.fetch();
      const fails =
        'let c = 0; addEventListener("message", () => { if (++c > 1) throw new Error("out of memory"); });';
      await route.fulfill({ response, body: `${fails}\n${await response.text()}` });
    },
    { times: 1 },
  );
  await page.goto(`${origin}/saturation.html`);
  await page.waitForSelector("[data-ready]");
  await quiet(page);
  await page.locator('.control [data-act="times"]').fill("20");
  await expect(page.locator(".problem")).toContainText(
    "The computation ended unexpectedly: Uncaught Error: out of memory. Change something to start it again.",
  );
  await page.locator('.control [data-act="times"]').fill("0");
  await expect(page.locator(".stage figcaption")).toContainText("× 0:");
  await expect(page.locator(".problem")).toBeHidden();
  await context.close();
});
for (const width of [1280, 375])
  test(`words: ${width}: a sentence of many pieces is large enough to read, and its percentages are apart`, ({
    visit,
  }) =>
    visit("words.html", { viewport: { width, height: 812 } }, async (page) => {
      await page.fill("#sentence", `@@@@ "<script> ${"a".repeat(60)} 1 2 3`);
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => /own/.test(document.querySelector(".control")?.textContent ?? ""));
      await quiet(page);
      expect(await page.evaluate(misplaced)).toEqual([]);
      const smallest = await page.evaluate(() => {
        const words = [...document.querySelectorAll(".picture svg .press text")];
        const sizes = words.map((word) => word.getBoundingClientRect().height).filter((height) => height > 0);
        return Math.min(...sizes);
      });
      expect(smallest).toBeGreaterThan(9);
    }));

// The reader's own sentence, as long as the model has space for it, at each stop of each page that shows one.
for (const [at, name] of OWN.entries())
  for (const width of widthsOf(at))
    test(`${name}: ${width}: the reader's own sentence is kept at every stop, and each label is readable`, ({
      visit,
    }) =>
      visit(`${name}.html`, { viewport: { width, height: 812 } }, async (page) => {
        await write(page, "Old kings love young queens, and nobody knows the reasons");
        /** @type {string[]} */
        const problems = [];
        for (const [i, step] of (await page.locator(".step").all()).entries()) {
          await reach(page, i, width);
          const look = async (/** @type {string} */ when) => {
            for (const what of await page.evaluate(misplaced)) problems.push(`stop ${i + 1}${when}: ${what}`);
            if (!(await page.evaluate(() => /own=/.test(location.hash))))
              problems.push(`stop ${i + 1}${when}: the sentence is gone`);
            // Other sentences are the subject of “Words”, and word2vec on “Arrows” has a text of its own.
            const text = (await step.locator("[data-part]").textContent()) ?? "";
            if (
              name !== "words" &&
              !text.includes("word2vec") &&
              /“(?:the|cat|sat|on|mat|it|tired)”|[Tt]welve/.test(text)
            )
              problems.push(`stop ${i + 1}${when}: ${text}`);
          };
          await look("");
          const show = page.locator(`[data-act="predict:${i}"]`);
          if ((await show.count()) === 0) continue;
          await show.click();
          await quiet(page);
          await look(", answered");
        }
        expect(problems).toEqual([]);
      }));
// What a reader may also type: too much, one word, no word, letters that the encoder does not know.
for (const [at, name] of OWN.entries())
  for (const width of widthsOf(at))
    test(`${name}: ${width}: any text in the field is shown, and each label is readable`, ({ visit }) =>
      visit(`${name}.html`, { viewport: { width, height: 812 } }, async (page) => {
        /** @type {string[]} */
        const problems = [];
        for (const text of [
          `@@@@ "<script> ${"a".repeat(60)} 1 2 3 4 5 6 7 8`,
          "Hi",
          ". , ! ?",
          "漢字 ☃ 😀 ёж",
        ]) {
          await page.fill("#sentence", text);
          const drawn = page.evaluate(
            () =>
              new Promise((resolve) => {
                const lab = /** @type {Element} */ (document.querySelector(".lab"));
                const problem = /** @type {HTMLElement} */ (document.querySelector(".problem"));
                lab.addEventListener("drawn", resolve, { once: true });
                new MutationObserver(resolve).observe(problem, { attributes: true });
              }),
          );
          await page.keyboard.press("Enter");
          await drawn;
          const problem = page.locator(".problem");
          if (await problem.isVisible()) problems.push(`${text}: ${await problem.textContent()}`);
          else await quiet(page);
          for (const what of await page.evaluate(misplaced)) problems.push(`${text}: ${what}`);
          const caption = (await page.locator(".stage figcaption").textContent()) ?? "";
          if (/“”/.test(caption)) problems.push(`${text}: ${caption}`);
          // Nothing but the last token is called the end mark.
          const tokens = await page.locator("table tbody th").allTextContents();
          if (tokens.filter((token) => token === "end").length > 1) problems.push(`${text}: ${tokens}`);
        }
        expect(problems).toEqual([]);
      }));
test("a text is about the state that it names: another state leaves it as it was", ({ visit }) =>
  visit("arrows.html", {}, async (page) => {
    const stop = page.locator('[data-part="step-2"]');
    await stop.evaluate((step) => scrollTo(0, step.getBoundingClientRect().top + scrollY - 80));
    await page.waitForFunction(() => /mode=same/.test(location.hash));
    const content = await stop.textContent();
    expect(content).toMatch(/“it” gives .* to itself/);
    await page.locator('.wide [data-act="word:1"]').press("Enter");
    await expect(stop).toContainText("“sat” gives");
    const before = await stop.textContent();
    await page.click('.control [data-act="mode:free"]');
    await page.waitForFunction(() => !/mode=same/.test(location.hash));
    expect(await stop.textContent()).toBe(before);
  }));

/** Marks of guesses at a stop that are on the letters of a label. In the page. @param {{ stop: number, guesses: number[] }} at */
async function guessesOnLabels({ stop, guesses }) {
  const problems = [];
  const first = location.hash;
  const state = new URLSearchParams(first.slice(4));
  const lab = /** @type {Element} */ (document.querySelector(".lab"));
  // Boxes are the same where nothing is painted, and painting the pictures takes as long as measuring them.
  document.documentElement.style.visibility = "hidden";
  for (const value of new Set(guesses)) {
    state.set(`guess${stop}`, String(value));
    const hash = `#v1?${state}`;
    // The same address again would draw nothing.
    if (hash !== location.hash) {
      const drawn = new Promise((resolve) => lab.addEventListener("drawn", resolve, { once: true }));
      location.hash = hash;
      await drawn;
    }
    const svg = /** @type {SVGElement} */ (
      [...document.querySelectorAll(".picture svg")].find((one) => one.getBoundingClientRect().width > 0)
    );
    const guess = /** @type {Element} */ (svg.querySelector('[data-name="guess"]'));
    const labels = [...svg.querySelectorAll("text")]
      .filter((text) => !guess.contains(text))
      .map((text) => ({ content: text.textContent, b: text.getBoundingClientRect() }));
    /** What is drawn of a mark, as boxes: a line is 2 wide, and of a rectangle there are four such sides. */
    const boxes = (/** @type {Element} */ mark) => {
      const { left, top, width, height } = mark.getBoundingClientRect();
      if (mark.tagName === "line") return [new DOMRect(left - 1, top - 1, width + 2, height + 2)];
      if (mark.tagName !== "rect") return [mark.getBoundingClientRect()];
      return [
        new DOMRect(left - 1, top - 1, width + 2, 2),
        new DOMRect(left - 1, top + height - 1, width + 2, 2),
        new DOMRect(left - 1, top - 1, 2, height + 2),
        new DOMRect(left + width - 1, top - 1, 2, height + 2),
      ];
    };
    for (const mark of guess.querySelectorAll("line, circle, text, rect"))
      for (const a of boxes(mark))
        for (const { content, b } of labels) {
          // Boxes of letters hold the space of lines above and below, too.
          const inset = 0.25 * b.height;
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const down = Math.min(a.bottom, b.bottom - inset) - Math.max(a.top, b.top + inset);
          if (across > 1 && down > (mark.tagName === "text" ? 2 : 0))
            problems.push(`guess ${value}: ${mark.tagName} on “${content}”`);
        }
  }
  location.hash = first;
  document.documentElement.style.visibility = "";
  return problems;
}

/** Links to the steps that something covers once they have the focus, from the last to the first. In the page. */
const coveredFocus = () =>
  [.../** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".anchor"))]
    .reverse()
    .filter((link) => {
      link.focus();
      const { left, top, width, height } = link.getBoundingClientRect();
      return !link.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    })
    .map(({ hash }) => hash);

/** What covers the text of a short window, from its top to its end, a page wider than it, and pictures that are not in use. In the page. */
function covered() {
  const text = /** @type {Element} */ (document.querySelector(".text"));
  const { left } = text.getBoundingClientRect();
  const problems = [10, 200, 390].flatMap((y) => {
    const top = document.elementFromPoint(left + 100, y);
    return text.contains(top) ? [] : [`${top?.outerHTML.slice(0, 60)} at ${y}`];
  });
  const pictures = document.querySelectorAll(".picture svg").length;
  if (pictures !== 1) problems.push(`${pictures} pictures are drawn`);
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) problems.push(`${wide} px`);
  const picture = /** @type {Element} */ (document.querySelector(".picture svg")).getBoundingClientRect();
  if (innerWidth > 559 && (picture.top < 0 || picture.bottom > innerHeight || picture.height < 150))
    problems.push(`a picture from ${picture.top} to ${picture.bottom}`);
  return problems;
}

/** Headings that are lower without the link at their end. In the page. */
function tallHeadings() {
  return [...document.querySelectorAll(".step h2")].flatMap((heading) => {
    const link = /** @type {HTMLElement} */ (heading.querySelector(".anchor"));
    const { height } = heading.getBoundingClientRect();
    link.style.display = "none";
    const alone = heading.getBoundingClientRect().height;
    link.style.display = "";
    return height > alone ? [heading.textContent] : [];
  });
}

/** Labels of the picture that leave it or cover another, and a page wider than the window. In the page. */
function misplaced() {
  const svg = /** @type {SVGElement} */ (
    [...document.querySelectorAll(".picture svg")].find((one) => one.getBoundingClientRect().width > 0)
  );
  const frame = svg.getBoundingClientRect();
  const labels = [...svg.querySelectorAll("text")]
    .filter((text) => (text.textContent ?? "").trim() !== "")
    .map((text) => ({ content: text.textContent, box: text.getBoundingClientRect() }));
  const overlaps = [];
  if (document.documentElement.scrollWidth > innerWidth + 1)
    overlaps.push("the page is wider than the window");
  for (const [i, { content, box }] of labels.entries()) {
    if (
      box.left < frame.left - 1 ||
      box.right > frame.right + 1 ||
      box.top < frame.top - 1 ||
      box.bottom > frame.bottom + 1
    )
      overlaps.push(`“${content}” is cut off`);
    for (const other of labels.slice(i + 1)) {
      const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
      // Boxes of letters hold the space of lines above and below, too.
      if (across > 2 && down > 0.35 * Math.min(box.height, other.box.height))
        overlaps.push(`“${content}” covers “${other.content}”`);
    }
  }
  return overlaps;
}

for (const width of [1280, 375])
  test(`the page for readers of a course: ${width}: axe finds nothing, and it is not wider than the window`, ({
    visit,
  }) =>
    visit("course/index.html", { viewport: { width, height: 812 } }, async (page) => {
      for (const colorScheme of /** @type {const} */ (["dark", "light"])) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(page, colorScheme === "dark" ? CONTRAST : {})).toEqual([]);
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }));

test("a wait of more than a moment is said beside the picture, and the text begins where the header does", ({
  visit,
}) =>
  visit("steps.html", {}, async (page) => {
    const busy = page.locator(".stage .busy");
    await expect(busy).toBeHidden();
    await page.evaluate(() => document.querySelector(".lab")?.setAttribute("data-state", "computing"));
    await expect(busy).toBeVisible();
    const [home, text] = await Promise.all(
      [".top .home", ".text h1"].map((name) =>
        page.locator(name).evaluate((one) => one.getBoundingClientRect().left),
      ),
    );
    expect(text).toBeGreaterThanOrEqual(home);
  }));
