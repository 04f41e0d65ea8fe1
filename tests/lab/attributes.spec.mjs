// @ts-check
/** Mistakes with <attention-lab>: attributes and properties that are wrong, and elements that a page moves. */
import { expect } from "@playwright/test";
import { test } from "./visit.mjs";

const PAGE = 'page="saturation"';
const LONG = "word ".repeat(200);
const HAS = "has no effect; the element has page, stop, state, picture-only, explorer";
/** Attributes of <attention-lab> with a wrong value, and the sentence about each. @type {readonly (readonly [string, string])[]} */
// biome-ignore format: a mistake is a line
const WRONG = [
  ["", "The Lab has no page “”. Its pages are "],
  ['page="Saturation"', "The Lab has no page “Saturation”. Its pages are "],
  ['page="saturation.html"', "The Lab has no page “saturation.html”"],
  ['page=" saturation "', "The Lab has no page “ saturation ”"],
  ['page="1"', "The Lab has no page “1”"],
  ['name="saturation"', "The Lab has no page “”"],
  [`${PAGE} stop="0"`, "stop must be a number from 1 to "],
  [`${PAGE} stop="99"`, "got “99”"],
  [`${PAGE} stop="two"`, "got “two”"],
  [`${PAGE} stop=""`, "got “”"],
  [`${PAGE} stop="1.5"`, "got “1.5”"],
  [`${PAGE} stop="-1"`, "got “-1”"],
  [`${PAGE} stop="1e0"`, "got “1e0”"],
  [`${PAGE} stop="0x2"`, "got “0x2”"],
  [`${PAGE} stop="2,3"`, "got “2,3”"],
  [`${PAGE} Stop="99"`, "got “99”"],
  [`${PAGE} state="scale=3"`, "has no “scale”; it has numbers, times, "],
  [`${PAGE} state="Times=10"`, "has no “Times”; it has numbers, times, "],
  [`${PAGE} state="times:10"`, "has no “times:10”; it has numbers, times, keys, half, show, seed, guess1, written name=value and joined by &"],
  [`${PAGE} state='{"times":10}'`, 'has no “{"times":10}”; it has numbers, times, '],
  [`${PAGE} state="guess0=5"`, "has no “guess0”; it has numbers, times, "],
  [`${PAGE} state="times=10&times=20"`, "has “times” once; it has numbers, times, "],
  [`${PAGE} state="times=many"`, "times of the state of “Saturation” cannot be “many”; it begins as 100"],
  [`${PAGE} state="times"`, "cannot be “”; it begins as 100"],
  [`${PAGE} state="times=10;keys=16"`, "cannot be “10;keys=16”; it begins as 100"],
  [`${PAGE} state="times=10,keys=16"`, "cannot be “10,keys=16”; it begins as 100"],
  [`${PAGE} state="times=10 keys=16"`, "cannot be “10 keys=16”; it begins as 100"],
  [`${PAGE} state="times=NaN"`, "cannot be “NaN”; it begins as 100"],
  [`${PAGE} state="times=1e9"`, "cannot be “1e9”; the nearest value is "],
  [`${PAGE} state="half=yes"`, "half of the state of “Saturation” cannot be “yes”; it begins as 0"],
  [`${PAGE} state="guess1=99999"`, "guess1 of the state of “Saturation” cannot be “99999”; the nearest value is 100"],
  [`${PAGE} state="numbers=1,2"`, "numbers of the state of “Saturation” cannot be “1,2”; the nearest value is 0.13,"],
  [`${PAGE} state="numbers=a,b"`, "numbers of the state of “Saturation” cannot be “a,b”; it begins as 0.13,"],
  [`${PAGE} state="numbers="`, "numbers of the state of “Saturation” cannot be “”; the nearest value is 0.13,"],
  [`page="words" state="own=${LONG}"`, `own of the state of “Words” cannot be “${LONG.slice(0, 60)}…”; the nearest value is word word`],
  [`${PAGE} picture-only="false"`, "picture-only is an attribute without a value, got “false”"],
  [`${PAGE} picture-only="0"`, "picture-only is an attribute without a value, got “0”"],
  [`${PAGE} explorer=""`, "explorer must be the address of a folder, which ends with /, got “”"],
  [`${PAGE} explorer="/explorer"`, "explorer must be the address of a folder, which ends with /, got “/explorer”"],
  [`${PAGE} explorer="javascript:a/"`, "explorer must be the address of a folder, which ends with /, got “javascript:a/”"],
  // The page is shown: the attribute is left out.
  [`${PAGE} step="2"`, `the attribute step ${HAS}`],
  [`${PAGE} pictureOnly`, `the attribute pictureonly ${HAS}`],
  [`${PAGE} picture_only`, `the attribute picture_only ${HAS}`],
  [`${PAGE} theme="dark"`, `the attribute theme ${HAS}`],
  [`${PAGE} width="300"`, `the attribute width ${HAS}`],
  [`${PAGE} href="x"`, `the attribute href ${HAS}`],
  [`${PAGE} times="10"`, 'the attribute times has no effect; it is a part of the state of “Saturation”: state="times=…"'],
];

/** Code with `one`, an element that is not in the page yet, and the sentence about it. @type {readonly (readonly [string, string])[]} */
const PROPERTIES = [
  ["one.page = 5", "The Lab has no page “5”"],
  ["one.page = null", "The Lab has no page “”"],
  ["one.page = ['saturation', 'heads']", "The Lab has no page “saturation,heads”"],
  ["one.stop = 99", "got “99”"],
  ["one.stop = '2nd'", "got “2nd”"],
  ["one.stop = NaN", "got “NaN”"],
  ["one.state = { scale: 3 }", "has no “scale”"],
  ["one.state = { times: 'many' }", "cannot be “many”"],
  ["one.state = [10]", "has no “10”"],
  ["one.state = new Map([['times', 10]])", "has no “[object Map]”"],
  ["one.pictureOnly = 'no'", "got “no”"],
  ["one.explorer = 5", "got “5”"],
  [
    "one.step = 2",
    "the property step has no effect; the element has page, stop, state, pictureOnly, explorer",
  ],
  [
    "one.times = 10",
    'the property times has no effect; it is a part of the state of “Saturation”: state="times=…"',
  ],
  [
    "one.onDone = () => {}",
    'the property onDone has no effect; a task is heard by addEventListener("done", …)',
  ],
];

test("each mistake with <attention-lab> is said in the element, in the console and in its event, and a moved element keeps its state", ({
  visit,
}) =>
  visit("", {}, async (page) => {
    const cases = [
      ...WRONG.map(([attributes]) => [`<attention-lab ${attributes}></attention-lab>`, ""]),
      ...PROPERTIES.map(([code]) => [`<attention-lab ${PAGE}></attention-lab>`, code]),
    ];
    // All at once. The policy of the page allows no code from text, so the code is in the text of this evaluation.
    const answers = /** @type {{ events: string[], isLogged: boolean, problem?: string }[]} */ (
      await page.evaluate(`(async () => {
        const logged = [];
        console.error = (text) => logged.push(text);
        await import("/attention-lab.js");
        const answer = async (markup, set) => {
          const template = document.createElement("template");
          template.innerHTML = markup;
          const one = document.importNode(template.content, true).firstElementChild;
          set(one);
          const events = [];
          const first = new Promise((resolve) => one.addEventListener("error", ({ detail }) => resolve(events.push(detail.message))));
          document.body.append(one);
          await first;
          const isLogged = logged.some((text) => text.includes(events[0]));
          const problem = one.shadowRoot.querySelector("p.problem[class=problem]:only-child")?.textContent;
          one.remove();
          return { events, isLogged, problem };
        };
        return Promise.all([${cases.map(([markup, code]) => `answer(${JSON.stringify(markup)}, (one) => { ${code} })`).join()}]);
      })()`)
    );
    for (const [n, [code, sentence]] of [...WRONG, ...PROPERTIES].entries()) {
      const { events, isLogged, problem } = answers[n];
      expect.soft(events.length, code).toBe(1);
      expect.soft(events[0], code).toContain(sentence);
      expect.soft(isLogged, code).toBe(true);
      // The element shows what it cannot show instead of the page; an attribute that has no effect does not hide it.
      expect.soft(problem ?? sentence, code).toContain(sentence);
      expect.soft(problem === undefined, code).toBe(sentence.includes("has no effect"));
    }

    // Two elements of one page, one by properties that were set before the others were known.
    await page.evaluate(() => {
      document.body.innerHTML = `<attention-lab page="saturation" state="#v1?times=10" picture-only></attention-lab>`;
      const other = /** @type {any} */ (document.createElement("attention-lab"));
      Object.assign(other, {
        page: "saturation",
        stop: 1,
        state: { times: 10, half: true },
        pictureOnly: true,
      });
      document.body.append(other);
    });
    const [first, second] = [0, 1].map((n) => page.locator("attention-lab").nth(n));
    const slider = first.locator("input[type=range]").first();
    await expect(slider).toHaveAttribute("aria-valuetext", "times 10");
    const sliderOfSecond = second.locator("input[type=range]").first();
    await expect(sliderOfSecond).toHaveAttribute("aria-valuetext", "times 10");
    await expect(second).toHaveAttribute("state", "times=10&half=1");
    expect(await second.evaluate((element) => /** @type {any} */ (element).pictureOnly)).toBe(true);
    // What the reader set is there after a move, also into the document of a frame.
    await slider.fill("100");
    await expect(first.locator(".lab")).toHaveAttribute("data-state", "drawn");
    await first.evaluate((element) => document.body.append(element));
    await expect(sliderOfSecond).toHaveValue("100");
    await page.evaluate(() => {
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.contentDocument?.body.append(/** @type {Element} */ (document.querySelector("attention-lab")));
    });
    await expect(
      page.frameLocator("iframe").locator("attention-lab input[type=range]").first(),
    ).toHaveAttribute("aria-valuetext", "times 10");
  }));
