// @ts-check
/** Layout: nothing is cut off, covered or unreachable, and related parts are aligned, in windows and on phones. */
import { readFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { test } from "./support/fixtures.ts";
import { settled } from "./support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */
/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */

const WORDS =
  "The old bridge over the river had been closed for years because the stones were loose and the water was high but the children of the village still crossed it every morning on their way to school since the new road was far longer and their parents were busy".split(
    " ",
  );
const PHONE = { width: 375, height: 812 };

/** The boxes of parts of the element. @param {Page} page @param {string} selector @returns {Promise<Box[]>} */
const boxes = (page, selector) =>
  page.evaluate(
    (wanted) =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(wanted)]
        .filter((one) => one.getClientRects().length > 0)
        .map((one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          return { left, right, top, bottom };
        }),
    selector,
  );

/** Text that does not fit and is cut off. @param {Page} page @param {string} selector @returns {Promise<string[]>} */
const cut = (page, selector) =>
  page.evaluate(
    (wanted) =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(wanted)]
        .filter((one) => one.scrollWidth > one.clientWidth + 1)
        .map((one) => one.textContent.trim()),
    selector,
  );

/** The focus ring, and the nearest box that could cut it off. @param {Page} page @returns {Promise<{ ring: Box, clip: Box, what: string }>} */
const focused = (page) =>
  page.evaluate(() => {
    let one = /** @type {any} */ (globalThis).view.shadowRoot.activeElement;
    const style = getComputedStyle(one);
    const out = Number.parseFloat(style.outlineOffset) + Number.parseFloat(style.outlineWidth);
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const ring = { left: left - out, right: right + out, top: top - out, bottom: bottom + out };
    const what = `${one.className} ${one.getAttribute("role")} ${style.outlineStyle}`;
    do one = one.parentElement;
    while (getComputedStyle(one).overflowX === "visible");
    const box = one.getBoundingClientRect();
    return { ring, clip: { left: box.left, right: box.right, top: box.top, bottom: box.bottom }, what };
  });

/** Presses keys one after another. @param {Page} page @param {string[]} keys */
async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await settled(page);
  }
}

test("tokens in sentences are on the line of the words around them", async ({ visit }) => {
  await visit({ heads: { Nq: 6 }, hash: "#v1/head?i=3&j=2" }, async (page) => {
    const off = await page.evaluate(() => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      // The bottom of an empty inline block is the baseline.
      const line = (/** @type {Element} */ into) => {
        const mark = document.createElement("i");
        mark.style.setProperty("display", "inline-block");
        into.append(mark);
        const { bottom } = mark.getBoundingClientRect();
        mark.remove();
        return bottom;
      };
      return [...inside.querySelectorAll(".readout .quoted, .ask .quoted, .status .at")].map((one) =>
        Math.abs(line(one) - line(one.querySelector(".token"))),
      );
    });
    expect(off.length).toBeGreaterThan(2);
    for (const pixels of off) expect(pixels).toBeLessThan(0.6);
  });
});

test("the focus ring is not cut off", async ({ visit }) => {
  await visit({ heads: { Nq: 8 }, hash: "#v1/head?i=3&j=2&m=lines" }, async (page) => {
    await press(page, "ArrowDown");
    for (const mode of ["lines", "row", "table"]) {
      await page.evaluate((to) => {
        /** @type {any} */ (globalThis).view.state =
          to === "row"
            ? { view: "row", table: false }
            : to === "table"
              ? { view: "head", table: true }
              : { view: "head" };
      }, mode);
      await settled(page);
      if (mode === "row")
        await page.evaluate(() =>
          /** @type {any} */ (globalThis).view.shadowRoot
            .querySelector(".rowview section[tabindex]")
            ?.focus(),
        );
      if (mode === "table")
        await page.evaluate(() =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".tablewrap").focus(),
        );
      const { ring, clip, what } = await focused(page);
      expect(ring.left, `${mode}: ${what}`).toBeGreaterThanOrEqual(clip.left - 0.5);
      expect(ring.right, mode).toBeLessThanOrEqual(clip.right + 0.5);
      expect(ring.top, mode).toBeGreaterThanOrEqual(clip.top - 0.5);
    }
  });
});

test("a filter's remove button is beside its range, and pinned heads are in columns", async ({ visit }) => {
  await visit(
    {
      heads: { heads: 12, layers: 2, Nq: 6 },
      hash: "#v1/head?b=self&o=first&f=first:0.01:0.9&pin=0.1,1.11,0.10",
    },
    async (page) => {
      await page.waitForFunction(
        () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".filters .range") !== null,
      );
      const [[range], [remove]] = [
        await boxes(page, ".filters .range"),
        await boxes(page, ".filters li > button"),
      ];
      expect(remove.left).toBeGreaterThanOrEqual(range.right);
      expect(remove.top).toBeLessThan(range.bottom);
      const tracks = await boxes(page, ".pins .track");
      expect(tracks).toHaveLength(3);
      for (const { left, right } of tracks) {
        expect(left).toBeCloseTo(tracks[0].left, 0);
        expect(right).toBeCloseTo(tracks[0].right, 0);
      }
    },
  );
});

test("a table's numbers are aligned at their decimal points, and the mark of the current row covers no digit", async ({
  visit,
}) => {
  await visit({ heads: { Nq: 12 }, hash: "#v1/head?i=3&j=2&t=1" }, async (page) => {
    const places = await page.evaluate(() => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      const rows = [...inside.querySelectorAll(".tablewrap tbody tr:not(.space)")];
      const points = rows.flatMap((row) => {
        const walker = document.createTreeWalker(row.children[2].querySelector("data"), NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const at = /** @type {Text} */ (node).data.indexOf(".");
          if (at < 0) continue;
          const range = document.createRange();
          range.setStart(node, at);
          range.setEnd(node, at + 1);
          return [range.getBoundingClientRect().left];
        }
        return [];
      });
      const current = inside.querySelector(".tablewrap tr.current");
      const range = document.createRange();
      range.selectNodeContents(current.children[0]);
      return {
        points,
        covered: range.getBoundingClientRect().left - current.getBoundingClientRect().left,
      };
    });
    expect(places.points.length).toBeGreaterThan(5);
    for (const at of places.points) expect(at).toBeCloseTo(places.points[0], 0);
    // The mark is 3 pixels wide.
    expect(places.covered).toBeGreaterThan(4);
  });
});

test("all keys fit on one screen, and a dialog's close button is level with its title", async ({ visit }) => {
  await visit({ heads: { Nq: 6 } }, async (page) => {
    await press(page, "?");
    const { scrollHeight, clientHeight } = await page
      .locator("attention-view dialog")
      .evaluate(({ scrollHeight, clientHeight }) => ({ scrollHeight, clientHeight }));
    expect(scrollHeight).toBeLessThanOrEqual(clientHeight + 1);
    const [[title], [cross]] = [await boxes(page, "dialog h2"), await boxes(page, "dialog .closing button")];
    const middle = (/** @type {Box} */ { top, bottom }) => (top + bottom) / 2;
    expect(Math.abs(middle(title) - middle(cross))).toBeLessThan(4);
  });
});

test("twelve heads per layer are all on screen, on a phone and in a figure of 360 pixels", async ({
  visit,
}) => {
  await visit(
    { heads: { heads: 12, layers: 6, Nq: 8 }, hash: "#v1/model?l=5&h=11", ...PHONE },
    async (page) => {
      const last = async () => (await boxes(page, ".atlas.large [role=gridcell][tabindex='0']"))[0];
      expect((await last()).right).toBeLessThanOrEqual(PHONE.width);
      await page.evaluate(async () => {
        const { view } = /** @type {any} */ (globalThis);
        view.style.setProperty("--heed-height", "auto");
        view.style.width = "360px";
        view.controls = "none";
        await view.updateComplete;
      });
      await settled(page);
      const { width, height } = await page.evaluate(() =>
        /** @type {any} */ (globalThis).view.getBoundingClientRect(),
      );
      expect((await last()).right).toBeLessThanOrEqual(width);
      // As high as its picture: 6 layers are half as high as 12 heads are wide.
      expect(height).toBeLessThan(260);
      expect((await last()).bottom).toBeLessThanOrEqual(height);
    },
  );
});

test("the last of twelve heads is on screen in a window of 1024 pixels", ({ visit }) =>
  visit(
    { heads: { heads: 12, layers: 6, Nq: 8 }, hash: "#v1/head?l=5&h=11", width: 1024, height: 768 },
    async (page) => {
      const [head] = await boxes(page, ".atlas [role=gridcell][tabindex='0']");
      const [atlas] = await boxes(page, ".atlas");
      expect(head.right).toBeLessThanOrEqual(atlas.right);
    },
  ));

for (const [width, height, Nq, every] of /** @type {const} */ ([
  [1280, 480, 13, 1],
  [1024, 768, 12, 1],
  [1280, 800, 60, 2],
  [1600, 1000, 60, 2],
]))
  test(`a matrix of ${Nq} tokens in ${width} × ${height} pixels names ${every === 1 ? "each" : "every second"}`, ({
    visit,
  }) =>
    visit(
      { heads: { tokens: WORDS.concat(WORDS).slice(0, Nq) }, hash: "#v1/head?i=2&j=4", width, height },
      async (page) => {
        const names = await page.evaluate(() => {
          const { shadowRoot } = /** @type {any} */ (globalThis).view;
          return ["rows", "columns"].map((edge) =>
            [...shadowRoot.querySelectorAll(`.matrix .labels.${edge} span:not([hidden])`)].map((span) => ({
              size: Number.parseFloat(getComputedStyle(span).fontSize),
              y: span.getBoundingClientRect().top + span.offsetHeight / 2,
            })),
          );
        });
        for (const labels of names) {
          expect(labels.length).toBeGreaterThanOrEqual(Math.ceil(Nq / every));
          for (const { size } of labels) expect(size).toBeGreaterThanOrEqual(10);
        }
        // Capitals and descenders are about as high as the font is large: the names of rows do not touch.
        const [rows] = names;
        rows.sort((a, b) => a.y - b.y);
        for (const [n, { y, size }] of rows.entries())
          if (n > 0) expect(y - rows[n - 1].y).toBeGreaterThanOrEqual(0.95 * size);
      },
    ));

test("without controls a matrix is as high as it is drawn", async ({ visit }) => {
  await visit({ heads: { Nq: 5, Nk: 12 }, hash: "#v1/head?i=3&j=2" }, async (page) => {
    for (const [Nq, Nk] of [
      [12, 12],
      [5, 12],
    ]) {
      await page.evaluate(
        async ([rows, columns]) => {
          const { view, makeInput } = /** @type {any} */ (globalThis);
          view.style.setProperty("--heed-height", "auto");
          view.style.width = "380px";
          view.controls = "none";
          await view.open(makeInput({ Nq: rows, Nk: columns }));
        },
        [Nq, Nk],
      );
      await settled(page);
      const [area] = await boxes(page, ".matrix .area");
      const { bottom } = await page.evaluate(() =>
        /** @type {any} */ (globalThis).view.getBoundingClientRect(),
      );
      // The sums of the columns are below the cells.
      expect(bottom - area.bottom, `${Nq} × ${Nk}`).toBeGreaterThan(20);
      expect(bottom - area.bottom, `${Nq} × ${Nk}`).toBeLessThan(80);
    }
  });
});

test("scrolling columns of lines open with the cursor's token in the middle", async ({ visit }) => {
  await visit({ heads: { tokens: WORDS }, hash: "#v1/head?i=29&j=6&m=lines" }, async (page) => {
    const [stage] = await boxes(page, ".lines .stage");
    const [token] = await boxes(page, ".lines .column.queries .labels .strong");
    const place = ((token.top + token.bottom) / 2 - stage.top) / (stage.bottom - stage.top);
    expect(place).toBeGreaterThan(0.3);
    expect(place).toBeLessThan(0.7);
  });
});

test("numbers at lines that extend past a phone's picture stay inside it", async ({ visit }) => {
  await visit(
    { heads: { tokens: WORDS, seed: 4, d: 8 }, hash: "#v1/head?i=30&j=6&m=lines&arc=1&k=8", ...PHONE },
    async (page) => {
      const [stage] = await boxes(page, ".lines .stage");
      const values = await boxes(page, ".lines .value");
      expect(values.length).toBeGreaterThan(0);
      for (const { left, right } of values) {
        expect(left).toBeGreaterThanOrEqual(stage.left - 1);
        expect(right).toBeLessThanOrEqual(stage.right + 1);
      }
    },
  );
});

test("the sentences below a running text are not cut off", async ({ visit }) => {
  await visit({ heads: { tokens: WORDS }, hash: "#v1/head?i=3&j=2&m=text&mw=1&td=to" }, async (page) => {
    expect(await cut(page, ".text .says p")).toEqual([]);
  });
});

test("on a phone nothing scrolls vertically inside the page", async ({ visit }) => {
  await visit(
    { heads: { heads: 12, layers: 12, Nq: 8 }, hash: "#v1/head?i=3&j=2", ...PHONE },
    async (page) => {
      const traps = await page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".root *")]
          .filter(
            (one) =>
              one.scrollHeight > one.clientHeight + 2 && /auto|scroll/.test(getComputedStyle(one).overflowY),
          )
          .map((one) => one.className),
      );
      expect(traps).toEqual([]);
      const [[picture], [caption]] = [await boxes(page, ".matrix .area"), await boxes(page, ".foot")];
      expect(caption.top - picture.bottom).toBeLessThan(110);
    },
  );
});

test("the toolbar's last button is never alone on a line", async ({ visit }) => {
  await visit({ heads: { Nq: 8 }, hash: "#v1/head?i=3&j=2&s=q" }, async (page) => {
    for (const state of [{ stage: "scores" }, { stage: "weights", hide: "first" }, { mode: "lines" }]) {
      await page.evaluate((to) => {
        /** @type {any} */ (globalThis).view.state = to;
      }, state);
      await settled(page);
      const all = await boxes(page, ".toolbar button, .toolbar select, .toolbar summary, .toolbar input");
      const [more] = await boxes(page, ".toolbar .more summary");
      const level = all.filter(({ top, bottom }) => top < more.bottom && bottom > more.top);
      expect(level.length, JSON.stringify(state)).toBeGreaterThan(1);
    }
  });
});

for (const cell of [14, 11, 10])
  test(`no name overlaps another, nor the cursor's, at ${cell} pixels per cell`, ({ visit }) =>
    visit(
      {
        heads: { layers: 1, heads: 1, Nq: 300, recipe: { mask: "causal" } },
        hash: `#v1/head?i=100&j=99&z=${cell},90,90`,
      },
      async (page) => {
        const shown = await page.evaluate(() => {
          const { shadowRoot } = /** @type {any} */ (globalThis).view;
          return ["rows", "columns"].map((edge) => {
            const spans = [...shadowRoot.querySelectorAll(`.matrix .labels.${edge} span:not([hidden])`)];
            return spans
              .map((span) => ({
                name: span.textContent,
                size: Number.parseFloat(getComputedStyle(span).fontSize),
                at: Number(/translate[XY]\(([\d.]+)px/.exec(span.style.transform)?.[1]),
              }))
              .sort((a, b) => a.at - b.at);
          });
        });
        for (const [edge, names] of shown.entries()) {
          expect(names.map(({ name }) => name)).toContain(["w100", "w99"][edge]);
          expect(names.length).toBeGreaterThan(cell > 10 ? 30 : 20);
          // Letters and descenders are about as high as the font is large; columns are slanted by 60 degrees.
          for (const [n, { at, size }] of names.entries())
            if (n > 0)
              expect((at - names[n - 1].at) * [1, Math.sin(Math.PI / 3)][edge]).toBeGreaterThanOrEqual(
                0.95 * size,
              );
        }
      },
    ));

test("the reason why there is no rollout is in the middle of the pane", async ({ visit }) => {
  await visit({ heads: { Nq: 5, Nk: 9 }, hash: "#v1/flow" }, async (page) => {
    await page.waitForFunction(() =>
      /5 queries and 9 keys/.test(
        /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".flow-said")?.textContent ?? "",
      ),
    );
    const [[pane], [message]] = [await boxes(page, ".pane"), await boxes(page, ".flow-said")];
    const share = ((message.top + message.bottom) / 2 - pane.top) / (pane.bottom - pane.top);
    expect(share).toBeGreaterThan(0.3);
    expect(share).toBeLessThan(0.7);
  });
});

test("the export sheet writes a PDF, and figures without a background", async ({ visit }) => {
  await visit({ heads: { Nq: 6 }, hash: "#v1/head?i=3&j=2" }, async (page) => {
    await press(page, "e");
    const button = page.locator("attention-view").getByRole("button", { name: "PDF", exact: true });
    await expect(button).toBeEnabled();
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    expect(download.suggestedFilename()).toMatch(/\.pdf$/);
    expect(readFileSync(await download.path(), "latin1").slice(0, 5)).toBe("%PDF-");
    const papers = () =>
      page.evaluate(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll("figure.sheet svg > rect").length,
      );
    expect(await papers()).toBe(1);
    await page.locator("attention-view").getByLabel("transparent").check();
    await expect.poll(papers).toBe(0);
  });
});

test("the error of an unreadable file names the file, and no function of the library", async ({ visit }) => {
  await visit({}, async (page) => {
    await page.locator("attention-view .root").waitFor();
    await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const data = new DataTransfer();
      data.items.add(new File(["garbage"], "garbage.bin"));
      view.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    const alert = page.locator("attention-view").getByRole("alert");
    await expect(alert).toContainText("Could not open garbage.bin");
    expect(await alert.textContent()).not.toMatch(/openStore/);
  });
});

test("the tab of the text that is shown is whole, in a window and on a phone", async ({ visit }) => {
  const texts = [
    "The cat sat on the mat because it was tired",
    "time flies like an arrow",
    "fruit flies like a banana",
    "they walked along the river bank",
    "they walked to the savings bank",
  ];
  for (const size of [{}, PHONE])
    await visit(size, async (page) => {
      await page.evaluate(async (names) => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
        view.sources = names.map((name, n) => ({
          name,
          data: makeInput({ seed: n, tokens: name.split(" ") }),
        }));
        await loaded;
        const name = "the girl lost the ball because she was sad";
        await view.add({ name, data: makeInput({ seed: 9, tokens: name.split(" ") }) });
      }, texts);
      await settled(page);
      const isWhole = async () => {
        const [[strip], [tab]] = [
          await boxes(page, ".sources"),
          await boxes(page, ".sources [aria-current]"),
        ];
        expect(tab.left).toBeGreaterThanOrEqual(strip.left);
        expect(tab.right).toBeLessThanOrEqual(strip.right);
        expect(await cut(page, ".sources [aria-current]")).toEqual([]);
      };
      await expect(page.locator("attention-view .sources [aria-current]")).toHaveText(/^the girl/);
      await isWhole();
      await page.evaluate(() => {
        /** @type {any} */ (globalThis).view.state = { text: 0 };
      });
      await expect(page.locator("attention-view .sources [aria-current]")).toHaveText(/^The cat/);
      await isWhole();
    });
});

test("a thumbnail is as wide and as high as its head, and the ring around it too", async ({ visit }) => {
  for (const [Nq, Nk, view] of /** @type {const} */ ([
    [5, 8, "model"],
    [5, 8, "head"],
    [8, 5, "model"],
    [8, 5, "head"],
  ]))
    await visit({ heads: { heads: 12, layers: 12, Nq, Nk }, hash: `#v1/${view}?l=4&h=5` }, async (page) => {
      await page.waitForFunction(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".atlas [role=gridcell]") !== null,
      );
      await settled(page);
      const [cell] = await boxes(page, ".atlas [role=gridcell][tabindex='0']");
      const [width, height] = [cell.right - cell.left, cell.bottom - cell.top];
      expect(Math.abs(height / width - Nq / Nk), `${Nq} × ${Nk}, ${view}`).toBeLessThan(0.18);
      // The rows are one below the other: the fifth starts after four heights and their gaps.
      const [canvas] = await boxes(page, ".atlas canvas");
      expect(cell.top - canvas.top, `${Nq} × ${Nk}, ${view}`).toBeLessThan(18 + 4 * (height + 8));
      expect(cell.left - canvas.left, `${Nq} × ${Nk}, ${view}`).toBeLessThan(26 + 5 * (width + 8));
    });
});

test("what could not be shown is said inside its box, with space around it", async ({ visit }) => {
  await visit({}, async (page) => {
    await page.evaluate(async () => {
      // The elements tell the page's author on the console.
      console.error = () => {};
      for (const name of ["attention-row", "attention-view"]) {
        const one = /** @type {any} */ (document.createElement(name));
        const failed = new Promise((resolve) => one.addEventListener("error", resolve, { once: true }));
        document.querySelector("main")?.append(one);
        one.data = new Uint8Array([1]);
        await failed;
        await one.updateComplete;
        const range = document.createRange();
        range.selectNodeContents(one.shadowRoot.querySelector("[role=alert]"));
        const [box, text] = [one, range].map((part) => part.getBoundingClientRect());
        if (text.top - box.top < 12 || box.bottom - text.bottom < 12)
          throw new Error(`${name}: ${box.top} ${text.top} ${text.bottom} ${box.bottom}`);
        if (/machine/.test(one.shadowRoot.textContent))
          throw new Error("the status bar is of no use to readers");
      }
    });
  });
});

test("the three pictures of a comparison start at one height", async ({ visit }) => {
  await visit(
    { heads: { tokens: WORDS.slice(0, 12), layers: 12, heads: 12 }, hash: "#v1/compare?l=5&h=11" },
    async (page) => {
      await page.waitForFunction(
        () =>
          /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".comparison .area").length === 3,
      );
      await settled(page);
      // The selectors wrap in a window of this width, and the text over the difference does not.
      await page.evaluate(() => {
        /** @type {any} */ (globalThis).view.shadowRoot.querySelector(
          ".comparison .chooser",
        ).style.minHeight = "90px";
      });
      await settled(page);
      await expect
        .poll(
          async () =>
            new Set((await boxes(page, ".comparison .area")).map(({ top }) => Math.round(top))).size,
        )
        .toBe(1);
      const [caption] = await boxes(page, ".comparison .compared");
      for (const { bottom } of await boxes(page, ".comparison .area"))
        expect(bottom).toBeLessThan(caption.top);
    },
  );
});

test("the ring around a token of the lines covers no letter", async ({ visit }) => {
  for (const hash of ["#v1/head?i=3&j=2&m=lines", "#v1/head?i=3&j=2&m=lines&arc=1"])
    await visit({ heads: { tokens: WORDS.slice(0, 12) }, hash }, async (page) => {
      await press(page, "ArrowDown");
      const inner = await page.evaluate(() => {
        const one = /** @type {any} */ (globalThis).view.shadowRoot.activeElement;
        const { left, right, top, bottom } = one.getBoundingClientRect();
        const into = Math.max(0, -Number.parseFloat(getComputedStyle(one).outlineOffset));
        return { left: left + into, right: right - into, top: top + into, bottom: bottom - into };
      });
      const [label] = await boxes(page, ".lines .labels .strong");
      expect(label.left, hash).toBeGreaterThanOrEqual(inner.left - 0.5);
      expect(label.right, hash).toBeLessThanOrEqual(inner.right + 0.5);
    });
});

test("a root is drawn with its bar, over the number under it", async ({ visit }) => {
  await visit({ heads: { Nq: 6, d: 8 }, hash: "#v1/row?i=3&j=2" }, async (page) => {
    await expect(page.locator("attention-view math msqrt")).toHaveText("8");
    await expect(page.locator("attention-view .formulas math").filter({ hasText: "√" })).toHaveCount(0);
  });
});

test("what follows a group of buttons has space above it, and brackets stay with their token", async ({
  visit,
}) => {
  await visit(
    { heads: { tokens: ["it", ...WORDS.slice(0, 6), "everybodyelse"] }, hash: "#v1/flow" },
    async (page) => {
      const gap = () =>
        page.evaluate(() =>
          [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".side p, .left p")]
            .filter((one) => one.querySelector(":scope > .choice") && one.nextElementSibling)
            .map(
              (one) =>
                one.nextElementSibling.getBoundingClientRect().top -
                one.querySelector(".choice").getBoundingClientRect().bottom,
            ),
        );
      await expect.poll(async () => (await gap()).length).toBeGreaterThan(0);
      for (const pixels of await gap()) expect(pixels).toBeGreaterThanOrEqual(5);
      await page.evaluate(() => {
        /** @type {any} */ (globalThis).view.state = { view: "head", ask: "pair", query: 3, key: 7 };
      });
      await expect.poll(async () => (await boxes(page, ".asking .quoted")).length).toBe(2);
      for (const pixels of await gap()) expect(pixels).toBeGreaterThanOrEqual(5);
      const lines = await page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".quoted")].map(
          (one) => new Set([...one.getClientRects()].map(({ bottom }) => Math.round(bottom / 12))).size,
        ),
      );
      expect(Math.max(...lines)).toBe(1);
    },
  );
});

test("the button over a table is on one line, with its answer beside it", async ({ visit }) => {
  await visit(
    { heads: { Nq: 8, layers: 12, heads: 12 }, hash: "#v1/head?l=11&h=11&i=3&j=2&t=1" },
    async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const button = page.locator("attention-view .tablewrap .tools button");
      await button.click();
      await expect(page.locator("attention-view .tablewrap .tools")).toContainText("Copied.");
      await page.evaluate(() => {
        /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".tablewrap").style.width = "420px";
      });
      const [box] = await boxes(page, ".tablewrap .tools button");
      expect(box.bottom - box.top).toBeLessThan(32);
      expect(await cut(page, ".tablewrap .tools button")).toEqual([]);
    },
  );
});

test("the cursor's head is pinned with a button, also without keys and Shift", async ({ visit }) => {
  await visit({ ...PHONE, touch: true, heads: { Nq: 6 }, hash: "#v1/head?l=1&h=1" }, async (page) => {
    const pin = page.locator("attention-view").getByRole("button", { name: "Pin L1 H1", exact: true });
    await pin.tap();
    await expect(pin).toHaveCount(0);
    expect(await page.evaluate(() => /** @type {any} */ (globalThis).view.state.pins)).toEqual([
      { block: "self", layer: 1, head: 1 },
    ]);
  });
});

test("the three questions to the heads are in one line", async ({ visit }) => {
  await visit({ heads: { Nq: 6 }, hash: "#v1/head?i=3&j=2&a=pair" }, async (page) => {
    await page.locator('attention-view [aria-label="Question"]').waitFor();
    await page.evaluate(() =>
      /** @type {any} */ (globalThis).view.style.setProperty("font-family", "DejaVu Sans"),
    );
    const buttons = await boxes(page, '[aria-label="Question"] button');
    expect(buttons).toHaveLength(3);
    expect(new Set(buttons.map(({ top }) => Math.round(top))).size).toBe(1);
  });
});

test("the picture has 35 % of a window and half of a phone, and the toolbar is one row", async ({
  visit,
}) => {
  await visit({ heads: { heads: 12, layers: 6, Nq: 12 } }, async (page) => {
    /** @type {readonly (readonly [string, object])[]} */
    const states = [
      ["model", { view: "model" }],
      ["matrix", { view: "head", mode: "matrix" }],
      ["lines", { view: "head", mode: "lines" }],
      ["text", { view: "head", mode: "text" }],
      ["table", { view: "head", mode: "matrix", table: true }],
      ["row", { view: "row", table: false }],
      ["compare", { view: "compare" }],
      ["flow", { view: "flow" }],
    ];
    for (const [width, height, least] of [
      [1600, 1000, 0.35],
      [1280, 800, 0.35],
      [375, 812, 0.5],
    ]) {
      await page.setViewportSize({ width, height });
      for (const [name, state] of states) {
        await page.evaluate(
          (patch) => Object.assign(/** @type {any} */ (globalThis).view, { state: patch }),
          state,
        );
        await settled(page);
        const [share, toolbar] = await page.evaluate(() => {
          const inside = /** @type {any} */ (globalThis).view.shadowRoot;
          const pane = inside.querySelector(".pane").getBoundingClientRect();
          const visible = Math.min(pane.bottom, innerHeight) - Math.max(pane.top, 0);
          const bar = inside.querySelector(".toolbar");
          return [(pane.width * visible) / (innerWidth * innerHeight), bar?.offsetHeight ?? 0];
        });
        // On a phone the heads of the model are as wide as the screen, and not higher than they are wide.
        const isWidest = name === "model" && width < 500;
        expect.soft(share, `${name}, ${width} × ${height}`).toBeGreaterThanOrEqual(isWidest ? 0.2 : least);
        const rows = name === "lines" && width === 1280 ? 2 : 1;
        expect.soft(toolbar, `toolbar of ${name}, ${width} × ${height}`).toBeLessThan(40 * rows);
      }
    }
  });
});
