// @ts-check
/** The language of tokens: if the data names one, `lang` is on every token's text and on nothing else; if not, nowhere. */
import { test } from "../support/fixtures.ts";
import { settled } from "../support/site.mjs";

const TOKENS = ["القمر", "فوق", "البحر", "والقمر", "بعيد", "."];
const VIEWS = [
  "#v1/head?i=3&j=0&at=3.0",
  "#v1/head?m=lines&i=3&j=0",
  "#v1/head?m=text&i=3&j=0",
  "#v1/head?t=1",
  "#v1/row?i=3&j=0",
  "#v1/model?i=3&j=0",
];

const heads = { tokens: TOKENS, recipe: { mask: "causal" } };

test("tokens of a named language have it, in each view, and nothing else has", ({ visit }) =>
  visit({ heads, hash: VIEWS[0] }, async (page) => {
    await everyView(page, undefined);
    await page.evaluate(
      async (wanted) => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        await view.open({ ...makeInput(wanted), lang: "AR" });
      },
      /** @type {any} */ (heads),
    );
    await everyView(page, "ar");
  }));

test("tokens in the one-file page have their language", ({ visit, site }) =>
  visit({ heads, hash: VIEWS[4] }, async (page) => {
    const text = await page.evaluate(
      async (wanted) => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        await view.open({ ...makeInput(wanted), lang: "ar" });
        return view.toHTML();
      },
      /** @type {any} */ (heads),
    );
    await page.route("**/one.html", (route) => route.fulfill({ contentType: "text/html", body: text }));
    await page.goto(`${site}/one.html${VIEWS[4]}`);
    await page.waitForFunction(
      () => /** @type {any} */ (document.querySelector("attention-view"))?.store !== undefined,
    );
    await settled(page);
    check(await tokens(page), "ar", "the one-file page");
  }));

/** @param {import("@playwright/test").Page} page @param {string | undefined} lang */
async function everyView(page, lang) {
  for (const hash of VIEWS) {
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await page.waitForTimeout(50);
    await settled(page);
    check(await tokens(page), lang, hash);
  }
}

/** The visible and accessible tokens with their language, and elements with a language that are not tokens. */
function tokens(/** @type {import("@playwright/test").Page} */ page) {
  return page.evaluate(() => {
    const inside = /** @type {ShadowRoot} */ (document.querySelector("attention-view")?.shadowRoot);
    const named = [
      ...inside.querySelectorAll(".token, .labels span, .unit, [role=rowheader], [role=columnheader]"),
    ].filter((one) => /\p{Script=Arabic}/u.test(one.textContent ?? ""));
    const langs = named.map(
      (one) =>
        one.closest("[lang]")?.getAttribute("lang") ?? one.querySelector("[lang]")?.getAttribute("lang"),
    );
    const others = [...inside.querySelectorAll("[lang]")].filter(
      (one) => /[A-Za-z]/.test(one.textContent ?? "") || one.hasAttribute("aria-label"),
    );
    return { langs, others: others.map((one) => one.outerHTML.slice(0, 120)) };
  });
}

/** @param {Awaited<ReturnType<typeof tokens>>} found @param {string | undefined} lang @param {string} where */
function check({ langs, others }, lang, where) {
  const wrong = langs.filter((one) => (one ?? undefined) !== lang);
  // The large atlas alone shows no token.
  if (wrong.length > 0 || others.length > 0 || (langs.length === 0 && !where.includes("model")))
    throw new Error(
      `${where}: of ${langs.length} tokens ${wrong.length} are not in ${lang}; ${others.join("; ")}`,
    );
}
