// @ts-check
/**
 * Regressions of the page that no other file tests: numbers that are not weights, filters and sorted heads, overlapping texts, and
 * pictures that do not match the numbers.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect } from "@playwright/test";
import { codeOf } from "../../src/store/measures/transfer.ts";
import { colorTable } from "../../src/view/color.ts";
import { same, test } from "./support/fixtures.ts";
import { cellAt, settled, textOf } from "./support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** Opens a matrix of weights as given. @param {Page} page @param {readonly (readonly number[])[]} rows */
const openWeights = (page, rows) =>
  page.evaluate(async (weights) => {
    const { view } = /** @type {any} */ (globalThis);
    const n = weights.length;
    await view.open({
      blocks: [
        {
          tokens: Array.from({ length: n }, (_, i) => `w${i}`),
          layers: [{ weights: { data: Float32Array.from(weights.flat()), shape: [1, n, n] } }],
        },
      ],
    });
    await view.updateComplete;
  }, rows);

const EVEN = [0.25, 0.25, 0.25, 0.25];

test("negative weights are marked, have bars to the left, and the page says that they are not shares", ({
  visit,
}) =>
  visit({ heads: { Nq: 4 } }, async (page) => {
    await openWeights(page, [EVEN, [0.9, -0.4, 0.3, 0.2], EVEN, EVEN]);
    await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 1, key: 1 }));
    await settled(page);
    expect(await textOf(page, ".notices")).toMatch(/1 given weight is negative \(the smallest is −0\.400\)/);
    expect(await textOf(page, "[part=caption]")).toMatch(/not shares of attention: 1 is negative/);
    expect(await textOf(page, ".legend")).toMatch(/not a weight/);
    const { color } = await cellAt(page, 1, 1);
    same(color.slice(0, 3), [224, 122, 0], "the mark of the cell");
    const bars = await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".side table.keys tbody tr")].map(
        (tr) => {
          const [bar, track] = [".bar", ".track"].map((one) => tr.querySelector(one).getBoundingClientRect());
          const value = Number(tr.querySelector("td data").value);
          return { value, left: bar.right <= track.left + track.width / 2 + 1 };
        },
      ),
    );
    expect(bars.map(({ left }) => left)).toEqual(bars.map(({ value }) => value < 0));
    expect(bars.some(({ value }) => value < 0)).toBe(true);
  }));

test("rows that sum to more than 1, and logarithms, are reported", ({ visit }) =>
  visit({ heads: { Nq: 4 } }, async (page) => {
    await openWeights(page, [EVEN, EVEN.map((weight) => 7 * weight), EVEN, EVEN]);
    await settled(page);
    expect(await textOf(page, ".notices")).toMatch(
      /the worst row checked sums to 7: are these scores \(logits\)/,
    );
    expect(await textOf(page, "[part=caption]")).toMatch(/not shares of attention: a row sums to 7/);
    const log = EVEN.map(Math.log);
    await openWeights(page, [log, log, log, log]);
    await settled(page);
    expect(await textOf(page, ".notices")).toMatch(/log/);
    // The line stays while the page is used.
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { mode: "lines", query: 2 };
    });
    await settled(page);
    expect(await textOf(page, ".notices")).toMatch(/log-weights; save exp of them\./);
  }));

test("numbers that are no shares of attention are not called shares", ({ visit }) =>
  visit({ heads: { Nq: 4 } }, async (page) => {
    const texts = async () => {
      await page.evaluate(() => /** @type {any} */ (globalThis).view.setCursor({ query: 1, key: 1 }));
      await settled(page);
      return `${await textOf(page, ".side")} ${await textOf(page, ".notices")}`;
    };
    const log = EVEN.map(Math.log);
    for (const rows of [
      [EVEN, [0.9, -0.4, 0.3, 0.2], EVEN, EVEN],
      [EVEN, EVEN.map((weight) => 7 * weight), EVEN, EVEN],
      [EVEN, [0.5, Number.NaN, 0.25, 0.25], EVEN, EVEN],
      [log, log, log, log],
    ]) {
      await openWeights(page, rows);
      const text = await texts();
      expect(text).toContain("not a share of attention, of ‹w1› for ‹w1›");
      expect(text).toMatch(/key ?weight/);
      expect(text).not.toMatch(/of its attention|spread as if|key ?share|[.?!]\.|NaN ?%/);
    }
    await openWeights(page, [EVEN, EVEN, EVEN, EVEN]);
    expect(await texts()).toMatch(
      /‹w1› gives 25\s%\s*of its attention to ‹w1›.*spread as if over.*key ?share/,
    );
  }));

test("pinned heads are listed with a measure, and are opened and unpinned there", ({ visit }) =>
  visit({ heads: { Nq: 6 } }, async (page) => {
    const list = page.locator("attention-view .pins li");
    await page.locator("attention-view .atlas").focus();
    for (const head of [0, 1]) {
      await page.evaluate((head) => /** @type {any} */ (globalThis).view.setCursor({ layer: 1, head }), head);
      await page.keyboard.press("p");
    }
    await expect(list).toHaveCount(2);
    await expect(list.nth(0)).toContainText(/A\s*L1 H0\s*\d/);
    await expect(page.locator("attention-view").getByText("Bars: effective keys.")).toBeVisible();
    await list.nth(0).getByRole("button", { name: "L1 H0", exact: true }).click();
    expect(await page.evaluate(() => /** @type {any} */ (globalThis).view.state.head)).toBe(0);
    await page.locator("attention-view").getByRole("button", { name: "Unpin L1 H0" }).click();
    await expect(list).toHaveCount(1);
    await expect(list).toContainText("L1 H1");
  }));

test("at every stage headline, ledger, grid and picture have one number for a cell, with tokens left out and rescaled too", ({
  visit,
}) =>
  visit({ heads: { tokens: ["[CLS]", "a", "b", "c", "[SEP]"] } }, async (page) => {
    for (const stage of ["weights", "contribution", "scores", "scaled", "masked"])
      for (const renormalize of [false, true]) {
        await page.evaluate(
          (patch) => {
            const { view } = /** @type {any} */ (globalThis);
            view.state = { hide: "special", query: 1, key: 2, ...patch };
          },
          { stage, renormalize },
        );
        await settled(page);
        const values = await page.evaluate(() => {
          const root = /** @type {any} */ (globalThis).view.shadowRoot;
          const headline = root.querySelector(".readout .big data").value;
          const line = root.querySelector(".ledger .at data").value;
          return [headline, line].map(Number);
        });
        expect(values[1], `${stage} ${renormalize}`).toBeCloseTo(values[0], 9);
        const grid = await page.evaluate(
          () =>
            /** @type {any} */ (globalThis).view.shadowRoot.querySelector(
              ".matrix [role=gridcell][tabindex='0']",
            ).textContent,
        );
        const headline = await textOf(page, ".readout .big");
        expect(grid.replace(/\s/g, ""), `${stage} ${renormalize}`).toContain(headline.replace(/\s/g, ""));
        // Leaving tokens out changes no score, and rescaling concerns weights only.
        expect(await textOf(page, ".toolbar")).toMatch(
          stage === "weights" ? /rescale to 100 %/ : /^(?!.*rescale to 100 %)/,
        );
      }
  }));

test("a rank is among the keys that a query may attend to and that are not left out", ({ visit }) =>
  visit(
    { heads: { tokens: ["[CLS]", "a", "b", "c", "[SEP]"], recipe: { mask: "causal" } } },
    async (page) => {
      const label = async (/** @type {object} */ patch) => {
        await page.evaluate((state) => {
          /** @type {any} */ (globalThis).view.state = { query: 2, key: 1, ...state };
        }, patch);
        await settled(page);
        return page.evaluate(
          () =>
            /** @type {any} */ (globalThis).view.shadowRoot.querySelector(
              ".matrix [role=gridcell][tabindex='0']",
            ).textContent,
        );
      };
      expect(await label({})).toMatch(/rank [123] of 3\./);
      expect(await label({ hide: "special" })).toMatch(/rank [12] of 2\./);
      expect(await label({ hide: "special", key: 0 })).toMatch(/left out\./);
    },
  ));

test("beside hidden tokens, the sentence about a head says that it counts all of them", ({ visit }) =>
  visit({ heads: { Nq: 4 } }, async (page) => {
    await openWeights(
      page,
      Array.from({ length: 4 }, () => [0.7, 0.1, 0.1, 0.1]),
    );
    const caption = () => textOf(page, "[part=caption]");
    const described = () =>
      page.evaluate(
        async () => (await /** @type {any} */ (globalThis).view.toSVG()).match(/<desc>([^<]*)/)[1],
      );
    await settled(page);
    expect(await caption()).toMatch(/a key\. Mostly the first token, “w0” \(70/);
    expect(await described()).not.toContain("With all tokens");
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { hide: "first", renormalize: true, query: 1, key: 2 };
    });
    await settled(page);
    expect(await caption()).toMatch(
      /With all tokens: Mostly the first token, “w0” \(70.*rescaled without 1 token/,
    );
    expect(await described()).toMatch(
      /rows renormalized\. With all tokens: Mostly the first token, “w0” \(70.*w1 to w2, 0\.333\.$/,
    );
  }));

test("attention that cannot be opened is named: by its file, and without one as the file", ({ visit }) =>
  visit({ heads: { Nq: 4 } }, async (page) => {
    for (const [name, title] of [
      ["garbage.bin", "Could not open garbage.bin."],
      [undefined, "Could not open the file."],
    ]) {
      await page.evaluate(async (file) => {
        const bytes = new TextEncoder().encode("garbage");
        await /** @type {any} */ (globalThis).view
          .open(file === undefined ? bytes : new File([bytes], file))
          .catch(() => {});
      }, name);
      expect(await textOf(page, ".notices")).toContain(String(title));
    }
  }));

test("a link with a filter opens with its thumbs at its values", ({ visit }) =>
  visit(
    {
      heads: { heads: 4, layers: 3, Nq: 10, recipe: { mask: "causal" } },
      hash: "#v1/model?o=first&f=first:0.28:0.38",
    },
    async (page) => {
      await page.waitForFunction(
        () => /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".range input").length === 2,
      );
      await expect
        .poll(() =>
          page.evaluate(() =>
            [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".range input")].map(
              (input) => Number(input.value).toFixed(3),
            ),
          ),
        )
        .toEqual(["0.280", "0.380"]);
      expect(await textOf(page, ".filters")).toMatch(/28.*38/);
      // Both thumbs are on one track.
      const tops = await page.evaluate(() =>
        [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".range input")].map((input) =>
          Math.round(input.getBoundingClientRect().top),
        ),
      );
      expect(tops[0]).toBe(tops[1]);
    },
  ));

test("sorted thumbnails show their names", ({ visit }) =>
  visit({ heads: { heads: 4, layers: 2, Nq: 8 }, hash: "#v1/model?l=1&h=3" }, async (page) => {
    /** 16 × 10 pixels in the lower left corner of the cursor's thumbnail. @returns {Promise<number[]>} */
    const pixels = () =>
      page.evaluate(() => {
        const atlas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".atlas.large");
        const canvas = atlas.querySelector("canvas");
        const cell = atlas.querySelector("[role=gridcell][tabindex='0']");
        const [a, b] = [cell, canvas].map((one) => one.getBoundingClientRect());
        const [x, y] = [Math.round(a.left - b.left), Math.round(a.top - b.top)];
        return [...canvas.getContext("2d").getImageData(x + 2, y + a.height - 14, 16, 10).data];
      });
    const shades = async () => {
      const data = await pixels();
      return new Set(Array.from({ length: data.length / 4 }, (_, n) => data.slice(4 * n, 4 * n + 3).join()));
    };
    // The color of the last query's weight for the first key, which a thumbnail stores as 255·√w.
    const weight = await page.evaluate(async () => {
      const { store } = /** @type {any} */ (globalThis).view;
      const ref = { block: 0, layer: 1, head: 3 };
      await store.load(ref);
      return store.cell(ref, 7, 0, "weights");
    });
    const color =
      colorTable("plum")[codeOf((Math.round(255 * Math.sqrt(weight)) / 255) ** 2, "sqrt", 1)].join();
    await expect.poll(async () => (await shades()).has(color), { message: "the thumbnail" }).toBe(true);
    expect((await shades()).size).toBeLessThan(6);
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { sort: "entropy", sortHow: "list" };
    });
    await expect
      .poll(async () => (await shades()).size, { message: "a name over the picture" })
      .toBeGreaterThan(12);
  }));

for (const width of [1280, 1600])
  test(`no text overlaps another, ${width} px wide`, ({ visit }) =>
    visit(
      {
        heads: { Nq: 14, recipe: { mask: "causal" } },
        hash: "#v1/head?i=12&j=3",
        width,
        height: 800,
      },
      async (page) => {
        // Weights below 10⁻⁴ have exponents, the longest numbers on the page.
        await page.evaluate(async () => {
          const { view, makeInput } = /** @type {any} */ (globalThis);
          const input = makeInput({ Nq: 14, layers: 1, heads: 1, recipe: { mask: "causal" } });
          for (const { layers } of input.blocks)
            for (const { query } of layers) query.data = query.data.map((/** @type {number} */ x) => 6 * x);
          await view.open(input);
          view.state = { query: 12, key: 3 };
        });
        await settled(page);
        const boxes = () =>
          page.evaluate(() => {
            const inside = /** @type {any} */ (globalThis).view.shadowRoot;
            const text = (/** @type {Element} */ element) => {
              const range = document.createRange();
              range.selectNodeContents(element);
              return range.getBoundingClientRect();
            };
            /** @type {string[]} */
            const wrong = [];
            for (const tr of inside.querySelectorAll(
              ".side table.keys tbody tr, .rowview table.keys tbody tr",
            )) {
              const number = text(tr.querySelector("td data"));
              const track = tr.querySelector(".track")?.getBoundingClientRect();
              if (track && number.right > track.left)
                wrong.push(`${tr.textContent}: number to ${number.right}, bar from ${track.left}`);
            }
            // The marker of the current row is three pixels wide.
            for (const tr of inside.querySelectorAll(".tablewrap tr.current")) {
              const [row, first] = [tr.getBoundingClientRect(), text(tr.querySelector("th"))];
              if (first.left < row.left + 3)
                wrong.push(`the marker of ${tr.textContent}: ${first.left - row.left} px`);
            }
            const [hatch, ...ticks] = [
              inside.querySelector(".legend .hatched"),
              ...inside.querySelectorAll(".legend .tick"),
            ].map((one) => one?.getBoundingClientRect());
            if (hatch && ticks.some((tick) => tick.right > hatch.left))
              wrong.push("a tick of the legend is at the hatch");
            for (const one of inside.querySelectorAll(
              ".scale input, .toolbar button, .toolbar select, .rowview input[type=text]",
            ))
              if (one.scrollWidth > one.clientWidth + 1)
                wrong.push(`${one.ariaLabel ?? one.textContent} is cut off`);
            return wrong;
          });
        expect(await boxes()).toEqual([]);
        expect(await textOf(page, ".side table.keys")).toMatch(/10⁻/);
        for (const [patch, shown] of /** @type {const} */ ([
          [{ table: true }, ".tablewrap tr.current"],
          [{ table: false, view: "row" }, ".rowview table.keys td"],
          [{ table: true, view: "compare" }, ".comparison.tabled tr.current"],
          [{ table: true, view: "flow" }, ".rollout.tabled tr.current"],
        ])) {
          await page.evaluate((to) => {
            /** @type {any} */ (globalThis).view.state = to;
          }, patch);
          await page.locator(`attention-view ${shown}`).first().waitFor();
          await settled(page);
          expect(await boxes(), JSON.stringify(patch)).toEqual([]);
        }
        await page.evaluate(() => {
          /** @type {any} */ (globalThis).view.state = { table: false, view: "head" };
        });
        await page.keyboard.press("?");
        await page.waitForFunction(
          () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("dialog h2") !== null,
        );
        const [title, close] = await page.evaluate(() => {
          const dialog = /** @type {any} */ (globalThis).view.shadowRoot.querySelector("dialog");
          return [dialog.querySelector("h2"), dialog.querySelector("[aria-label^='Close']")].map((one) => {
            const { top, bottom } = one.getBoundingClientRect();
            return (top + bottom) / 2;
          });
        });
        expect(Math.abs(title - close)).toBeLessThan(6);
      },
    ));

test("w·v is drawn at its size beside v", ({ visit }) =>
  visit({ heads: { Nq: 6 }, hash: "#v1/row?i=4&j=2" }, async (page) => {
    await settled(page);
    const { sizes, weight } = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const strips = [...view.shadowRoot.querySelectorAll("[aria-label=Output] svg.strip")].slice(0, 2);
      const sizes = strips.map((strip) =>
        Math.max(
          ...[...strip.querySelectorAll("path.above, path.below")].flatMap((path) =>
            [...path.getAttribute("d").matchAll(/h\.8v(-?[\d.]+(?:e-?\d+)?)/g)].map(([, size]) =>
              Math.abs(Number(size)),
            ),
          ),
        ),
      );
      return { sizes, weight: view.store.cell({ block: 0, layer: 0, head: 0 }, 4, 2, "weights") };
    });
    // A bar is at least half a pixel long.
    expect(sizes[1]).toBeCloseTo(Math.max(0.5, sizes[0] * weight), 6);
  }));

test("the pointed cell is cleared with its picture, and lines disable the stages of scores", ({ visit }) =>
  visit({ heads: { Nq: 9 }, hash: "#v1/head?i=2&j=1" }, async (page) => {
    const at = await cellAt(page, 2, 1);
    const other = await page.evaluate(() => {
      const area = /** @type {any} */ (globalThis).view.shadowRoot
        .querySelector(".matrix .area")
        .getBoundingClientRect();
      return [area.left + (6.5 / 9) * area.width, area.top + (7.5 / 9) * area.height];
    });
    expect(at.width).toBeGreaterThan(5);
    await page.mouse.move(other[0], other[1]);
    await expect.poll(() => textOf(page, ".side .readout")).toMatch(/query 7, key 6/);
    await page.keyboard.press("x");
    await settled(page);
    const shown = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      return view.state;
    });
    await expect
      .poll(() => textOf(page, ".side .readout"))
      .toMatch(new RegExp(`query ${shown.query}, key ${shown.key}`));
    await page.keyboard.press("l");
    await settled(page);
    const disabled = await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll("[aria-label=Stage] button")].map(
        (button) => button.disabled,
      ),
    );
    same(disabled, [true, true, true, false, false, true], "stages that cannot be drawn as lines");
  }));

test("a mask is named only if the head has one", ({ visit }) =>
  visit({ heads: { Nq: 8 } }, async (page) => {
    const wording = async () => `${await textOf(page, ".legend")} ${await textOf(page, ".side .ledger")}`;
    await settled(page);
    expect(await wording()).not.toMatch(/mask/);
    await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      await view.open(makeInput({ Nq: 8, recipe: { mask: "causal" } }));
      view.state = { query: 6, key: 2 };
    });
    await settled(page);
    expect(await textOf(page, ".legend")).toMatch(/masked/);
    expect(await textOf(page, ".side .ledger")).toMatch(/mask/);
  }));

test("a text without the cursor's tokens opens at a link between its own words", ({ visit }) =>
  visit({}, async (page) => {
    const texts = [
      ["[CLS]", "the", "cat", "was", "tired", "and", "it", "slept", "[SEP]"],
      ["[CLS]", "time", "flies", "fast", "[SEP]"],
      ["[CLS]", "now", "it", "flies", "south", "[SEP]"],
    ];
    await page.evaluate(async (lists) => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
      view.sources = lists.map((/** @type {string[]} */ tokens, /** @type {number} */ n) => ({
        name: tokens.slice(1, -1).join(" "),
        data: makeInput({ seed: n, tokens }),
      }));
      await loaded;
    }, texts);
    const open = async (/** @type {number} */ text) => {
      await page.evaluate(
        async ([from, to]) => {
          const { view } = /** @type {any} */ (globalThis);
          view.state = { text: from };
          while (!view.store?.blocks[0].queryTokens.includes("cat"))
            await new Promise((resolve) => setTimeout(resolve, 20));
          view.state = { layer: 1, head: 1, query: 6, key: 2 };
          view.state = { text: to };
        },
        [0, text],
      );
      await expect
        .poll(() =>
          page.evaluate(() => /** @type {any} */ (globalThis).view.store.blocks[0].queryTokens.length),
        )
        .toBe(texts[text].length);
      await settled(page);
      const { layer, head, query, key } = await page.evaluate(
        () => /** @type {any} */ (globalThis).view.state,
      );
      expect([layer, head], "the head stays").toEqual([1, 1]);
      return [texts[text][query], texts[text][key]];
    };
    // Neither ‹it› nor ‹cat›.
    const [query, key] = await open(1);
    for (const token of [query, key]) expect(token).not.toMatch(/^\[/);
    expect(query).not.toBe(key);
    // ‹it› alone: the cursor stays on it.
    const [same, other] = await open(2);
    expect(same).toBe("it");
    expect(["flies", "south", "now"]).toContain(other);
  }));

test("a file that is added opens at a telling link; the same text keeps the cursor", ({ visit }) =>
  visit({ heads: { Nq: 8 }, hash: "#v1/head?l=0&h=1&i=7&j=0" }, async (page) => {
    const added = (/** @type {string[]} */ tokens, /** @type {number} */ seed) =>
      page.evaluate(
        async ([words, n]) => {
          const { view, makeInput } = /** @type {any} */ (globalThis);
          await view.add({ name: `text ${n}`, data: makeInput({ seed: n, tokens: words }) });
          const { layer, head, query, key } = view.state;
          return { at: [layer, head, query, key], words: [words[query], words[key]] };
        },
        /** @type {[string[], number]} */ ([tokens, seed]),
      );
    const same = await added(
      Array.from({ length: 8 }, (_, n) => `w${n}`),
      7,
    );
    expect(same.at).toEqual([0, 1, 7, 0]);
    const other = await added(["[CLS]", "boats", "cross", "wide", "rivers", "slowly", "[SEP]"], 8);
    for (const token of other.words) expect(token).not.toMatch(/^\[/);
    expect(other.words[0]).not.toBe(other.words[1]);
    // The link is of any head: its weight is among the largest there are.
    const weight = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const { layer, head, query, key } = view.state;
      return view.store
        .load({ block: 0, layer, head })
        .then(() => view.store.cell({ block: 0, layer, head }, query, key, "weights"));
    });
    expect(weight).toBeGreaterThanOrEqual(0.3);
  }));

test("a store that is replaced while its head is being read is not asked for a cell", ({ visit }) =>
  visit({ heads: { Nq: 4 } }, async (page) => {
    const result = await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const other = /** @type {any} */ (document.createElement("attention-view"));
      document.body.append(other);
      await other.open(makeInput({ Nq: 6, layers: 1, heads: 1 }));
      let disposed = false;
      /** @type {string[]} */
      const calls = [];
      let resolve = () => {};
      const promise = new Promise((done) => (resolve = () => done(undefined)));
      view.store = new Proxy(other.store, {
        get(store, name) {
          if (disposed) calls.push(String(name));
          if (name === "ready") return () => false;
          if (name === "load") return () => promise;
          if (name === "dispose") return () => (disposed = true);
          const value = store[name];
          return typeof value === "function" ? value.bind(store) : value;
        },
      });
      // A token alone has no interesting cell, so the cursor stays at its start.
      await view.open({
        blocks: [{ tokens: ["a"], layers: [{ weights: { data: Float32Array.of(1), shape: [1, 1, 1] } }] }],
      });
      await view.updateComplete;
      resolve();
      await promise;
      do await new Promise((done) => setTimeout(done, 50));
      while (!disposed);
      other.remove();
      return { disposed, calls };
    });
    expect(result).toEqual({ disposed: true, calls: [] });
  }));

test("a file that is dropped while the explorer loads is opened once it has loaded", async ({
  page,
  site,
}) => {
  let load = () => {};
  const isDropped = new Promise((resolve) => {
    load = () => resolve(undefined);
  });
  await page.route("**/parts/app.js", async (route) => {
    await isDropped;
    await route.continue();
  });
  await page.goto(site);
  await page.waitForFunction(() => /** @type {any} */ (globalThis).opened === true);
  const hasLoaded = await page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const data = new DataTransfer();
    data.items.add(new File(["\u0001garbage"], "garbage.bin"));
    view.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    return view.shadowRoot.textContent.includes("Choose a file");
  });
  expect(hasLoaded).toBe(false);
  load();
  await expect(page.locator("attention-view")).toContainText("Could not open garbage.bin");
});

test("a dropped folder is called a folder, with the command that opens a model's folder", async ({
  page,
  site,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "heed-dropped-"));
  writeFileSync(join(folder, "config.json"), "{}");
  await page.goto(site);
  await page.locator("attention-view .root").waitFor();
  const session = await page.context().newCDPSession(page);
  for (const type of /** @type {const} */ (["dragEnter", "dragOver", "drop"]))
    await session.send("Input.dispatchDragEvent", {
      type,
      x: 400,
      y: 300,
      data: { items: [], files: [folder], dragOperationsMask: 1 },
    });
  const name = basename(folder);
  await expect(page.locator("attention-view").getByRole("alert")).toContainText(
    `${name} is a folder, or a file that has changed. heed view --model ${name} opens a model's folder.`,
  );
  rmSync(folder, { recursive: true });
});

test("rescaling concerns weights only, in the pictures too: a contribution has its color with it and without", ({
  visit,
}) =>
  visit(
    {
      heads: { heads: 2, Nq: 6, tokens: ["[CLS]", "a", "b", "c", "d", "[SEP]"] },
      hash: "#v1/head?hide=sp&i=2&j=3",
    },
    async (page) => {
      const colorAt = async (/** @type {object} */ patch) => {
        await page.evaluate((state) => {
          /** @type {any} */ (globalThis).view.state = state;
        }, patch);
        await settled(page);
        return (await cellAt(page, 2, 3)).color;
      };
      const plain = await colorAt({ stage: "contribution", renormalize: false });
      same(await colorAt({ stage: "contribution", renormalize: true }), plain, "the contribution");
      const weight = await colorAt({ stage: "weights", renormalize: false });
      expect(await colorAt({ stage: "weights", renormalize: true })).not.toEqual(weight);
    },
  ));

test("messages take the height of one, do not repeat themselves, and Escape closes them first", ({ visit }) =>
  visit({ heads: { Nq: 4 }, hash: "#v1/row" }, async (page) => {
    await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      for (const name of ["one.bin", "two.bin", "three.bin"])
        await view.open(new File([new TextEncoder().encode("garbage")], name)).catch(() => {});
      view.focus();
    });
    const notices = page.locator("attention-view .notices");
    await expect(notices.locator("summary")).toHaveText("2 more messages");
    await expect(notices.locator("> p")).toContainText("Could not open three.bin");
    await expect(notices).not.toContainText("not opened");
    expect((await notices.boundingBox())?.height).toBeLessThan(64);
    await notices.locator("summary").click();
    await expect(notices.locator("details p").last()).toContainText("one.bin");
    await page.keyboard.press("Escape");
    await expect(notices).toHaveCount(0);
    expect(await page.evaluate(() => /** @type {any} */ (globalThis).view.state.view)).toBe("row");
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => /** @type {any} */ (globalThis).view.state.view)).toBe("head");
  }));
