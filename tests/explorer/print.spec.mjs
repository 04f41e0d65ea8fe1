// @ts-check
/** Printing: the picture with its caption and legend, dark on white in every theme, on one sheet of its size. */
import { test } from "./support/fixtures.ts";
import { settled } from "./support/site.mjs";

const HEADS = { Nq: 16, layers: 2, heads: 3, recipe: { mask: "causal" } };
const VIEWS = [
  "#v1/head?i=5&j=3",
  "#v1/head?m=lines&i=5&j=3",
  "#v1/head?m=text&i=5&j=3",
  "#v1/row?i=5&j=3",
  "#v1/model",
];
const LOOKS = /** @type {const} */ ([
  { look: "a light page", scheme: "light", theme: "auto", width: 1280 },
  { look: "a dark page", scheme: "dark", theme: "auto", width: 1280 },
  { look: "a dark element, wide", scheme: "light", theme: "dark", width: 1920 },
  { look: "a dark phone", scheme: "dark", theme: "auto", width: 360 },
]);

for (const { look, theme, ...options } of LOOKS)
  for (const hash of look === "a dark page" ? VIEWS : VIEWS.slice(0, 1))
    test(`printed from ${look}, ${hash} is dark on white, on one sheet of its size`, ({ visit }) =>
      visit({ ...options, heads: HEADS, hash }, (page) => onPaper(page, theme)));

/** @param {import("@playwright/test").Page} page @param {string} theme */
async function onPaper(page, theme) {
  await page.evaluate((name) => {
    /** @type {any} */ (globalThis).view.theme = name;
  }, theme);
  const before = await atRest(page);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const paper = await visibleParts(page);
  const wrong = paper.texts.filter(({ light }) => light > 0.45);
  if (wrong.length > 0 || paper.texts.length < 2)
    throw new Error(`not dark on white: ${JSON.stringify(wrong)}`);
  if (paper.paper !== "rgb(255, 255, 255)") throw new Error(`the paper is ${paper.paper}`);
  if (paper.ground !== undefined && paper.ground < 0.4)
    throw new Error(`the picture's background is ${paper.ground}`);
  if (paper.controls.length > 0) throw new Error(`controls are visible: ${paper.controls.join()}`);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  const after = await atRest(page);
  if (JSON.stringify(after) !== JSON.stringify(before))
    throw new Error(`afterwards ${JSON.stringify(after)}, before ${JSON.stringify(before)}`);
  const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  const [, width, height] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)/.exec(pdf) ?? [];
  const sheets = pdf.match(/\/Type \/Page\b/g)?.length;
  // 672 pixels and two margins of 36, in points.
  if (sheets !== 1 || Number(width) !== 558 || !(Number(height) > 150))
    throw new Error(`${sheets} sheets of ${width} × ${height}`);
}

/** The visible parts of the element, after no change for half a second. @param {import("@playwright/test").Page} page */
async function atRest(page) {
  await settled(page);
  for (let [now, same] = [await visibleParts(page), 0]; ; ) {
    await page.waitForTimeout(100);
    const next = await visibleParts(page);
    same = JSON.stringify(next) === JSON.stringify(now) ? same + 1 : 0;
    if (same === 5) return next;
    now = next;
  }
}

/** The visible parts of the element. @param {import("@playwright/test").Page} page */
function visibleParts(page) {
  return page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const inside = /** @type {ShadowRoot} */ (view.shadowRoot);
    const shown = (/** @type {Element} */ one) => one.checkVisibility() && one.getClientRects().length > 0;
    const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    const light = (/** @type {string} */ color) => {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
      return Math.round((0.2126 * r + 0.7152 * g + 0.0722 * b) / 2.55) / 100;
    };
    const texts = [
      ...inside.querySelectorAll(".printed, .foot p, .labels span, .name, .num, .readout p, .heading"),
    ];
    const canvas = /** @type {HTMLCanvasElement | null} */ (
      inside.querySelector(".pane .matrix canvas.cells")
    );
    /** @type {Map<number, number>} */
    const counts = new Map();
    if (canvas) {
      const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(
        0,
        0,
        canvas.width,
        canvas.height,
      );
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 255) continue;
        const grey = Math.round(data[at + 1] / 16) / 16;
        counts.set(grey, (counts.get(grey) ?? 0) + 1);
      }
    }
    const ground = [...counts].sort((a, b) => b[1] - a[1])[0];
    return {
      paper: getComputedStyle(view).backgroundColor,
      texts: texts.filter(shown).map((one) => ({
        light: light(getComputedStyle(one).color),
        text: one.textContent?.trim().slice(0, 20),
      })),
      ground: ground?.[0],
      controls: [...inside.querySelectorAll(".toolbar, .top, .left, .side, .status, button.bordered, select")]
        .filter(shown)
        .map((one) => one.className),
      sheets: [inside.adoptedStyleSheets.length, document.adoptedStyleSheets.length],
    };
  });
}
