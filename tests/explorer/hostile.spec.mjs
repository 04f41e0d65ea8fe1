// @ts-check
/** Tokens are untrusted text: whatever they contain, they are shown as text, run no code, and do not change the layout around them. */
import { test } from "./support/fixtures.ts";
import { settled } from "./support/site.mjs";

const TOKENS = [
  "[CLS]",
  "</script><script>globalThis.hit=1</script>",
  "<img src=x onerror=globalThis.hit=1>",
  "<!--",
  "{{7*7}}",
  "\u202eright to left",
  "שלום עולם",
  "👩‍👩‍👧",
  "a\tb\nc",
  "x".repeat(10_000),
  "\ud800",
  "&lt;b&gt;",
  "",
  " ",
  "javascript:globalThis.hit=1",
  "[SEP]",
];

const VIEWS = [
  "head",
  "head?m=lines",
  "head?m=text",
  "head?m=text&mw=1",
  "model",
  "row",
  "head?t=1",
  "row?t=1",
];

test("hostile tokens are only ever text", async ({ visit }) => {
  // A lone surrogate does not survive an address, so it is put in by the page.
  await visit({}, async (page) => {
    await page.evaluate(
      async (tokens) => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        await view.open(
          makeInput({
            tokens: tokens.map((token) => (token === "LONE" ? "\ud800" : token)),
            recipe: { mask: "causal" },
          }),
        );
      },
      TOKENS.map((token) => (token === "\ud800" ? "LONE" : token)),
    );
    for (const hash of VIEWS)
      for (const query of [1, 5, 9, 10, 12]) {
        await page.evaluate(
          ([to, i]) => {
            const { view } = /** @type {any} */ (globalThis);
            location.hash = `#v1/${to}${to.includes("?") ? "&" : "?"}i=${i}&j=${i}`;
            view.shadowRoot
              .querySelector(".matrix .area")
              ?.dispatchEvent(new PointerEvent("pointermove", { clientX: 500, clientY: 400 }));
          },
          /** @type {const} */ ([hash, query]),
        );
        await page.waitForTimeout(20);
        await settled(page);
        const wrong = await page.evaluate(() => {
          const { hit, view } = /** @type {any} */ (globalThis);
          const inside = view.shadowRoot;
          if (hit !== undefined) return "a token ran";
          if (inside.querySelector("img, script, b b") !== null) return "a token became markup";
          // Nothing in the page may hide or reorder the text beside it.
          const text = inside.querySelector(".root").textContent;
          if (/[\u202a-\u202e\u2066-\u2069]/.test(text)) return "a mark of direction is on the page as it is";
          if (/\ud800(?![\udc00-\udfff])/.test(text)) return "half a character is on the page";
          if (document.documentElement.scrollWidth > innerWidth + 1)
            return "the page is wider than its window";
          return "";
        });
        if (wrong !== "") throw new Error(`${hash}, token ${query}: ${wrong}`);
      }
  });
});

test("files that cannot be read are refused with a reason, and the next is opened", async ({ visit }) => {
  await visit({}, async (page) => {
    const reported = await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      /** @type {string[]} */
      const messages = [];
      for (const bytes of [
        [],
        [1, 2, 3],
        [0x80, 2, 0x2e],
        new Uint8Array(64).fill(0x7b),
        [...new TextEncoder().encode('{"a":[[1]]')],
      ])
        await view.open(new Blob([Uint8Array.from(bytes)]), "bad <b>file</b>").then(
          () => messages.push("opened"),
          (/** @type {Error} */ error) => messages.push(error.message),
        );
      await view.updateComplete;
      const alert = view.shadowRoot.querySelector("[role=alert]");
      return { messages, shown: alert?.textContent ?? "", markup: alert?.querySelector("b") !== null };
    });
    if (reported.messages.includes("opened") || reported.messages.length !== 5)
      throw new Error(JSON.stringify(reported));
    if (!reported.shown.includes("bad <b>file</b>") || reported.markup)
      throw new Error(`the page says ${reported.shown}`);
    // And it still opens what is good.
    await page.evaluate(() =>
      /** @type {any} */ (globalThis).view.open(/** @type {any} */ (globalThis).makeInput({})),
    );
    await settled(page);
  });
});
