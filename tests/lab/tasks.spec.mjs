// @ts-check
/**
 * What a learner does with the keyboard alone: the tasks of the pages, each ticked by its state. Tasks that a clock decides are
 * in lab.spec.mjs, without the clock. Needs dist/.
 */
import { expect } from "@playwright/test";
import { open, quiet, reach, test, write } from "./visit.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** Focuses a mark or a control and presses keys on it. @param {Page} page @param {string} selector @param {string[]} keys */
async function press(page, selector, ...keys) {
  for (const key of keys) {
    // A picture that is drawn again keeps the focus, a control that appears has none.
    await page.locator(selector).first().focus();
    await page.keyboard.press(key);
    await quiet(page);
  }
}
/** Presses a key until a task is ticked. @param {Page} page @param {number} count @param {string} selector @param {string} key @param {number} limit */
async function until(page, count, selector, key, limit) {
  for (let i = 0; i < limit && (await ticked(page)) < count; i++) await press(page, selector, key);
  expect(await ticked(page)).toBeGreaterThanOrEqual(count);
}
/** Scrolls through the text to the tasks, as a reader does who changes nothing on the way. @param {Page} page */
async function readToTheTasks(page) {
  for (const part of [...(await page.locator(".step").all()), page.locator(".tasks")]) {
    await part.evaluate((one) => scrollTo(0, one.getBoundingClientRect().top + scrollY - 80));
    await quiet(page);
  }
}
/** @param {Page} page */
const ticked = (page) => page.locator(".tasks .done").count();
/** @param {string} key @param {number} count */
const times = (key, count) => Array.from({ length: count }, () => key);

test("words: what “green” looks at, and a head in which “bank” looks at another word, by keys", ({ visit }) =>
  visit("words.html", {}, async (page) => {
    await press(page, '.control [data-act="step:1"]', "Enter");
    await press(page, '.control [data-act="line:green"]', "Enter");
    await until(page, 1, '.control [data-act="step:-1"]', "Enter", 8);
    await page.fill("#sentence", "the bank by the river is green");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /own=/.test(location.hash), undefined, { timeout: 60_000 });
    await quiet(page);
    for (let head = 0; head < 16 && (await ticked(page)) < 2; head++) {
      await page.selectOption('.control [data-act="head"]', String(head));
      await quiet(page);
      // The word that looks is where the link of the head begins; “bank” is the third token.
      await press(page, '.wide [data-act="press:2"]', "Enter");
    }
    expect(await ticked(page)).toBe(2);
  }));
test("arrows: a query between two keys, and a matrix that turns, by keys", ({ visit }) =>
  visit("arrows.html", {}, async (page) => {
    const query = '.wide [data-drag="query:"]';
    await press(page, query, ...times("Shift+ArrowRight", 2), ...times("ArrowRight", 4));
    expect(await ticked(page)).toBe(1);
    await press(page, '.control [data-act="mode:turned"]', "Enter");
    await until(page, 2, query, "Shift+ArrowLeft", 36);
  }));
test("becomes: shares by keys, mouse and touch; what is missing is said; the least of the head, by keys", ({
  visit,
}) =>
  visit("becomes.html", { hasTouch: true }, async (page) => {
    const near = page.locator(".tasks .near");
    await expect(near).toHaveCount(0);
    const fruit = page.locator('.wide [data-drag="share:7"]');
    await press(page, '.wide [data-drag="share:7"]', ...times("Shift+ArrowRight", 4));
    await expect(near).toHaveText("It is still nearer to that of “time flies”.");
    await expect(fruit).toBeFocused();
    await expect(fruit).toHaveAttribute("aria-valuetext", "40.0 %");
    await until(page, 1, '.wide [data-drag="share:7"]', "ArrowRight", 20);
    /** Shares, and context vector against Σ share · value of the table. */
    const sums = async () => {
      const numbers = await page
        .locator("table tbody tr")
        .evaluateAll((rows) =>
          rows.map((row) => [...row.children].slice(1).map((c) => Number(c.textContent))),
        );
      const tokens = numbers.slice(0, 8);
      for (const axis of [1, 2])
        expect(numbers[8][axis]).toBeCloseTo(
          tokens.reduce((sum, row) => sum + row[0] * row[axis], 0),
          3,
        );
      expect(tokens.reduce((sum, [share]) => sum + share, 0)).toBeCloseTo(1, 3);
      return tokens.map(([share]) => share);
    };
    const byKeys = await sums();
    // A drag from any place of a bar; the others follow it there and back.
    const track = async (/** @type {string} */ picture) =>
      /** @type {NonNullable<Awaited<ReturnType<import("@playwright/test").Locator["boundingBox"]>>>} */ (
        await page.locator(`${picture} [data-drag="share:1"] .fhover`).boundingBox()
      );
    const bar = await track(".stage .wide");
    await page.mouse.move(bar.x + 0.9 * bar.width, bar.y + 5);
    await page.mouse.down();
    await page.mouse.move(bar.x + bar.width, bar.y + 5, { steps: 2 });
    await quiet(page);
    expect((await sums())[1]).toBe(0.999);
    await page.mouse.move(bar.x + byKeys[1] * bar.width, bar.y + 5);
    await page.mouse.up();
    await quiet(page);
    for (const [i, share] of (await sums()).entries())
      expect(Math.abs(share - byKeys[i])).toBeLessThan(0.005);
    await page.click('.stage [data-act="undo"]');
    await press(page, '.control [data-act="shown:path"]', "Enter");
    await press(page, '.control [data-act="layer"]', "End");
    await press(page, '.control [data-act="quarters"]', ...times("ArrowLeft", 3));
    expect(await ticked(page)).toBe(2);
    await page.setViewportSize({ width: 375, height: 812 });
    await page.locator('.control [data-act="shown:shares"]').tap();
    await quiet(page);
    const small = await track(".stage .narrow");
    await page.touchscreen.tap(small.x + small.width / 2, small.y + small.height / 2);
    await quiet(page);
    expect((await sums())[1]).toBeCloseTo(0.5, 1);
  }));
test("steps: one number changes where a word looks, and a query of zeros looks everywhere, by keys", ({
  visit,
}) =>
  visit("steps.html", {}, async (page) => {
    await press(page, '.wide [data-drag="q:3"]', ...times("ArrowDown", 2));
    expect(await ticked(page)).toBe(1);
    await press(page, '.wide [data-drag="q:3"]', "ArrowDown");
    expect(await ticked(page)).toBe(2);
  }));
test("scale: a throw whose variance is below 0.985, and a variance of 1 without √dₖ, by keys", ({ visit }) =>
  visit("scale.html", {}, async (page) => {
    const slider = '.control [data-act="power"]';
    // From dₖ = 64 of the first stop: each throw draws all sizes that were seen, and a later stop has seen 1,024.
    await press(page, slider, ...times("ArrowLeft", 2));
    await press(page, '.control [data-act="root"]', "Enter");
    expect(await ticked(page)).toBe(0);
    await until(page, 1, '.control [data-act="throw"]', "Enter", 8);
    await press(page, '.control [data-act="divisor:1"]', "Enter");
    await press(page, slider, "Home");
    expect(await ticked(page)).toBe(2);
  }));
test("masks: a row is wiped out and one cell painted, and a preset chosen, by keys", ({ visit }) =>
  visit("masks.html", {}, async (page) => {
    await press(page, '.wide [data-drag="paint:"]', "ArrowDown");
    await press(page, '.control [data-act="wipe"]', "Enter");
    await press(page, '.wide [data-drag="paint:"]', "Enter");
    expect(await ticked(page)).toBe(1);
    await press(page, '.control [data-act="preset:causal + padding"]', "Enter");
    expect(await ticked(page)).toBe(2);
  }));
test("heads: heads are muted until “time” leads, and a pair whose averages differ, by keys", ({ visit }) =>
  visit("heads.html", {}, async (page) => {
    for (const head of [6, 7, 8, 9, 11]) await press(page, `.wide [data-act="head:${head}"]`, "Enter");
    expect(await ticked(page)).toBe(1);
    // Each other head beside head 3.
    for (const head of [0, 1, 2, 4, 5, 10]) await press(page, `.wide [data-act="head:${head}"]`, "Enter");
    for (let head = 4; head < 12 && (await ticked(page)) < 2; head++)
      await press(
        page,
        `.wide [data-act="head:${head}"]`,
        ...((await ticked(page)) < 2 ? ["Enter", "Enter"] : []),
      );
    expect(await ticked(page)).toBe(2);
  }));
test("cost: half of the frame by the slider's keys", ({ visit }) =>
  visit("cost.html", {}, async (page) => {
    await until(page, 1, '.control [data-act="power"]', "ArrowLeft", 60);
  }));
test("scorers: additive's hidden layer beyond 500 MiB, by keys", ({ visit }) =>
  visit("scorers.html", {}, async (page) => {
    await press(page, '.control [data-act="power"]', "End");
    await press(page, '.others [data-act="show:cost"]', "Enter");
    await press(page, '.control [data-act="n:512"]', "Enter");
    expect(await ticked(page)).toBe(1);
  }));
test("before transformers: the first right step, and a doubled letter, by keys", ({ visit }) =>
  visit("before.html", {}, async (page) => {
    await press(page, '.control [data-act="train"]', "Enter");
    await page.waitForFunction(
      () => /which is right/.test(document.querySelector(".stage figcaption")?.textContent ?? ""),
      undefined,
      { timeout: 120_000 },
    );
    await quiet(page);
    await until(page, 1, '.control [data-act="at"]', "ArrowLeft", 16);
    await press(page, '.control [data-act="at"]', "End");
    for (const word of ["abbcde", "hggfed", "cddeaf"]) {
      if ((await ticked(page)) === 2) break;
      await page.locator('.control [data-act="word"]').focus();
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.type(word);
      await page.waitForFunction(
        (word) => document.querySelector(".stage figcaption")?.textContent?.includes(`reads “${word}”`),
        word,
        { timeout: 60_000 },
      );
      await quiet(page);
    }
    expect(await ticked(page)).toBe(2);
  }));
test("explanation: a large weight without effect, and the head whose link to another word matters most, by keys", ({
  visit,
}) =>
  visit("explanation.html", {}, async (page) => {
    const choose = async (/** @type {string} */ layer, /** @type {string} */ head) => {
      await page.selectOption('.control [data-act="layer"]', layer);
      await page.selectOption('.control [data-act="head"]', head);
      await quiet(page);
    };
    await choose("2", "4");
    expect(await ticked(page)).toBe(1);
    await press(page, '.control [data-act="data:fruit"]', "Enter");
    await choose("5", "3");
    expect(await ticked(page)).toBe(2);
  }));
// The picture at the tasks is that of the last stop. What is there must lead to every state that a task needs.
test("shapes: both tasks from the end of the text, by keys", ({ visit }) =>
  visit("shapes.html", {}, async (page) => {
    await readToTheTasks(page);
    expect(page.url()).toContain("view=layer");
    await press(page, '.control [data-act="n"]', "ArrowRight");
    await press(page, '.others [data-act="view:call"]', "Enter");
    await press(page, '.others [data-act="self"]', " ");
    await page.locator('.control [data-act="n"]').fill("3");
    await until(page, 1, '.wide [data-drag="m:s"][tabindex]', "ArrowLeft", 12);
    await press(page, '.others [data-act="wrong:value"]', "Enter");
    await press(page, '.wide [data-drag="dv:t"]', ...times("Shift+ArrowDown", 5));
    await until(page, 2, '.wide [data-drag="dv:t"]', "ArrowDown", 12);
  }));
test("variants: from the costs at the end of the text back to the errors, by keys", ({ visit }) =>
  visit("variants.html", {}, async (page) => {
    await readToTheTasks(page);
    expect(page.url()).toContain("show=cost");
    await press(page, '.control [data-act="n:512"]', "Enter");
    await press(page, '.others [data-act="show:errors"]', "Enter");
    await press(page, '.control [data-act="data:0"]', "Enter");
    await page.selectOption('.others [data-act="spread"]', "0.25");
    await expect(page.locator(".tasks .done")).toHaveCount(1);
  }));
test("cost: half of the frame from the end of the text, where one word is added at a time, by keys", ({
  visit,
}) =>
  visit("cost.html", {}, async (page) => {
    await readToTheTasks(page);
    await press(page, '.control [data-act="show:memory"]', "Enter");
    await expect(page.locator(".wide")).toContainText("S of the new word");
    await press(page, '.control [data-act="power"]', "ArrowLeft");
    await press(page, '.others [data-act="one:all"]', "Enter");
    await until(page, 1, '.control [data-act="power"]', "ArrowLeft", 60);
  }));
test("the open task of each page: a mistake is named, the answer is right, by keys, and the page around it is told", ({
  visit,
}) =>
  visit("scale.html", { viewport: { width: 375, height: 812 } }, async (page) => {
    await page.evaluate(() => {
      addEventListener("done", (event) => {
        document.title = JSON.stringify(/** @type {CustomEvent} */ (event).detail);
      });
    });
    const lines = page.locator(".open textarea");
    const run = async (/** @type {string} */ text) => {
      await lines.fill(text);
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
    };
    await run("softmax(Q @ K.T / dk) @ V");
    await expect(page.locator(".verdict")).toContainText("too small");
    await run("softmax(Q @ K / sqrt(dk)) @ V");
    await expect(page.locator(".verdict")).toContainText("the inner sizes, 16 and 5, must be equal");
    await run("softmax(Q @ K.T / sqrt(dk)) @ V");
    await expect(page.locator(".verdict.right")).toContainText("Right");
    expect(JSON.parse(await page.title())).toMatchObject({ page: "scale", task: 3, done: 1 });
    await page.click('[data-act="answer"]');
    await expect(page.locator(".verdict")).toHaveText("softmax(Q @ K.T / sqrt(dk)) @ V");
    const map = page.url().replace(/scale\.html.*/, "index.html");
    await page.goto(map);
    await expect(page.locator('[data-page="scale"] [data-done]')).toHaveText("1 of 3 tasks done");
  }));
test("a teacher's link carries page, own sentence, state and task; the answer is folded until it is asked for", ({
  visit,
}) =>
  visit("steps.html", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await write(page, "old kings love young queens");
    await page.locator(".share summary").click();
    await page.locator('[data-act="share"]').click();
    await expect(page.locator(".share .saying")).toHaveText("Write a task first.");
    await expect(page.locator(".stage .saying")).toHaveText("");
    await page.fill(".share [name=task]", "Whom does “young” look at?\nSay why.");
    await page.fill(".share [name=answer]", "It looks at “old”: 96 %.");
    await page.locator('[data-act="share"]').click();
    await expect(page.locator(".share .saying")).toHaveText("Link copied.");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(link).toContain("own=old+kings+love+young+queens");
    expect(decodeURIComponent(link)).not.toContain("96 %");
    await page.evaluate(() => localStorage.clear());
    await open(page, link);
    const task = page.locator(".assigned");
    await expect(task).toContainText("Whom does “young” look at?");
    await expect(task.getByText("It looks at")).toBeHidden();
    await task.locator("summary").click();
    await expect(task.getByText("It looks at “old”: 96 %.")).toBeVisible();
    await expect(page.locator(".stage .picture svg:visible")).toContainText("young");
    // The task stays in the address when the state changes.
    await page.locator('[data-act="stage"]').fill("6");
    await page.waitForFunction(() => /stage=6/.test(location.hash) && /class=/.test(location.search));
  }));

test("a link whose task was cut says so", ({ visit }) =>
  visit("steps.html?class=abc", {}, async (page) => {
    await expect(page.locator(".assigned")).toContainText("cannot be read");
  }));

for (const width of [1280, 375])
  test(`steps: X is changed by keys in the flow, and the output is softmax(QKᵀ/√d)·V of it, ${width} wide`, ({
    visit,
  }) =>
    visit("steps.html", { viewport: { width, height: 812 } }, async (page) => {
      await reach(page, 5, width);
      await page.locator(`.stage .${width < 900 ? "narrow" : "wide"} [data-drag="x:6"]`).focus();
      await page.keyboard.press("ArrowUp");
      await page.waitForFunction(() => /x=2%2C0%2C0%2C1%2C1%2C1%2C1%2C2/.test(location.hash));
      await quiet(page);
      // X·W of each matrix, row after row.
      const product = (/** @type {number[]} */ [a, b, c, d]) =>
        ["20", "01", "11", "12"].map((row) =>
          [0, 1].map((at) => +row[0] * [a, b][at] + +row[1] * [c, d][at]),
        );
      const [q, k, v] = [
        [1, 0, 1, 1],
        [-1, 2, -1, 1],
        [1, 2, 2, -1],
      ].map(product);
      const e = k.map((key) => Math.exp((q[3][0] * key[0] + q[3][1] * key[1]) / Math.SQRT2));
      const sum = e.reduce((a, b) => a + b, 0);
      const output = [0, 1]
        .map((d) => e.reduce((all, one, j) => all + (one / sum) * v[j][d], 0))
        .map((value) => value.toFixed(2).replace("-", "−"));
      const text = await page.locator(".stage .picture svg:visible").textContent();
      for (const value of output) expect(text).toContain(value);
      expect(await page.locator(".stage figcaption").textContent()).toContain(output.join(", "));
    }));

test("the open task has all of a phone but the control: it scrolls over the picture", ({ visit }) =>
  visit("steps.html", { viewport: { width: 375, height: 812 } }, async (page) => {
    await page.locator(".open").evaluate((section) => section.scrollIntoView({ block: "start" }));
    await quiet(page);
    // Its heading, its text and its buttons can be touched at once: nothing is over them.
    for (const part of ["h2", "p", "textarea", '[data-act="check"]'])
      expect(
        await page
          .locator(`.open ${part}`)
          .first()
          .evaluate((element) => {
            const { left, top, height } = element.getBoundingClientRect();
            return element.contains(document.elementFromPoint(left + 8, top + height / 2));
          }),
        part,
      ).toBe(true);
    await page.locator(".open textarea").click();
    await page.locator(".open textarea").fill("e = exp(s - max(s))\ne / sum(e) @ V");
    await page.locator('[data-act="check"]').click();
    await expect(page.locator(".open .verdict")).toBeInViewport();
    await expect(page.locator(".open .verdict")).toHaveText(/^Right/);
  }));

test("words: each word gets the focus by Tab and looks; a task is ticked by pointing at one, without a press on it", ({
  visit,
}) =>
  visit("words.html", {}, async (page) => {
    await page.locator(".text summary").last().focus();
    for (const [i, word] of ["start", "time", "flies", "like"].entries()) {
      await page.keyboard.press("Tab");
      await quiet(page);
      await expect(page.locator(`.wide [data-act="press:${i}"]`)).toBeFocused();
      await expect(page.locator(".control")).toContainText(`${word} looks`);
    }
    await press(page, '.control [data-act="step:1"]', "Enter");
    await press(page, '.control [data-act="line:green"]', "Enter");
    const words = page.locator(".stage svg.wide [data-hover]");
    for (let i = 0; i < (await words.count()) && (await ticked(page)) === 0; i++) {
      await words.nth(i).hover();
      await quiet(page);
    }
    expect(await ticked(page)).toBe(1);
  }));
