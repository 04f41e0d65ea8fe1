// @ts-check
/** Embedding: three elements on a page, in another shadow root; attributes, properties, events and methods; cleanup on removal. */
import { expect } from "@playwright/test";
import { test } from "./support/fixtures.ts";
import { files, settled } from "./support/site.mjs";

files.set("/bad.json", ["application/json", "[1, 2"]);
files.set("/three.html", [
  "text/html; charset=utf-8",
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>three</title><link rel="stylesheet" href="style.css"><link rel="icon" href="data:,"><script type="module" src="start.mjs"></script><body><attention-view theme="dark"></attention-view><attention-view layer="1" head="1" stage="scores"></attention-view><div id="host"></div></body></html>',
]);

/** The data of these pages: the default heads, 12 tokens, 2 layers of 2 heads. */
files.set("/absent.mjs", [
  "text/javascript",
  `globalThis.errors = [];
console.error = (text) => errors.push(text);
await import("./start.mjs");
const views = [...document.querySelectorAll("attention-view, attention-row")];
for (const one of views) if (one !== view) await one.open(makeInput({}));
for (const one of views) await one.updateComplete;
globalThis.opened = true;`,
]);
/** @param {readonly string[]} elements */
const absentPage = (elements) =>
  /** @type {const} */ ([
    "text/html; charset=utf-8",
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>absent</title><link rel="stylesheet" href="style.css"><link rel="icon" href="data:,"><script type="module" src="absent.mjs"></script><body>${elements.join("")}</body></html>`,
  ]);
/** Elements with one attribute that has no effect each, and the sentence about it. @type {readonly (readonly [string, RegExp])[]} */
const ABSENT = [
  ['<attention-view head="4"></attention-view>', /There is no head 4: this file has 0, 1\. Shown is 1\./],
  ['<attention-view controls="none" head="4"></attention-view>', /There is no head 4/],
  [
    '<attention-view parts="caption" layer="2"></attention-view>',
    /There is no layer 2: this file has 0, 1\./,
  ],
  [
    '<attention-view query="12"></attention-view>',
    /There is no query token 12: this file has 0 to 11\. Shown is 11\./,
  ],
  ['<attention-view controls="few" key="99"></attention-view>', /There is no key token 99/],
  ['<attention-view block="decoder"></attention-view>', /There is no block decoder/],
  ['<attention-view head="-1"></attention-view>', /The attribute head is “-1”, not a whole number from 0\./],
  [
    '<attention-view stage="softmax"></attention-view>',
    /The attribute stage is “softmax”, not one of scores, scaled,/,
  ],
  [
    '<attention-view view="heads"></attention-view>',
    /The attribute view is “heads”, not one of model, head,/,
  ],
  ['<attention-view mode="arcs"></attention-view>', /The attribute mode is “arcs”/],
  [
    '<attention-view theme="black"></attention-view>',
    /The attribute theme is “black”, not one of auto, light, dark\./,
  ],
  ['<attention-row head="4"></attention-row>', /There is no head 4/],
];
files.set("/absent.html", absentPage(ABSENT.map(([element]) => element)));
files.set("/absent-address.html", absentPage(["<attention-view address></attention-view>"]));

test("an attribute that the data does not have, or that is no value, is shown as an error", ({ visit }) =>
  visit({ path: "/absent.html", heads: {} }, async (page) => {
    const elements = page.locator("attention-view, attention-row");
    for (const [n, [, sentence]] of ABSENT.entries())
      await expect(elements.nth(n).locator(".notices p.error").filter({ visible: true })).toHaveText(
        sentence,
      );
    const errors = await page.evaluate(() => /** @type {any} */ (globalThis).errors);
    expect(errors.length).toBe(ABSENT.length);
    // Later changes too.
    await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const messages = /** @type {string[]} */ ([]);
      Object.assign(globalThis, { messages });
      view.addEventListener("error", (/** @type {CustomEvent} */ event) =>
        messages.push(event.detail.message),
      );
      view.setAttribute("head", "0");
      view.setAttribute("head", "7");
      view.setCursor({ layer: 5 });
      view.state = { query: 44 };
    });
    const messages = () => page.evaluate(() => /** @type {any} */ (globalThis).messages);
    await expect
      .poll(async () => (await messages()).map((/** @type {string} */ text) => text.slice(0, 28)))
      .toEqual([
        "There is no head 7: this fil",
        "There is no layer 5: this fi",
        "There is no query token 44: ",
      ]);
  }));

/** A list of what is in a file, in sentences. */
const [INDEX, SET] = ["a whole number from 0", "a list of whole numbers from 0, sorted, each once"];
const SOURCES = "a list of { name, src } or { name, data }, each with a name, with a model or without";
/** Attributes with values that have no effect, and what each must be. @type {readonly (readonly [string, string, string])[]} */
const WRONG_ATTRIBUTES = [
  ...["layer", "head", "query", "key"].flatMap((name) =>
    ["", "-1", "1.5", "x", " 1"].map((value) => /** @type {const} */ ([name, value, INDEX])),
  ),
  ["view", "HEAD", "one of model, head, row, compare, flow, states"],
  ["mode", "", "one of matrix, photo, lines, text"],
  ["stage", "softmax", "one of scores, scaled, masked, weights, contribution, contrast"],
  ["block", "", "the name of a block"],
  ["src", "", "the address of a file"],
  ["theme", "DARK", "one of auto, light, dark"],
  ["keys", "false", "one of on, off"],
  ["controls", "", "one of all, few, none"],
  ["background", "red", "one of paper, none"],
  [
    "parts",
    "caption,legend",
    "names of bar, toolbar, atlas, inspector, caption, legend, status, separated by spaces",
  ],
  ["address", "false", "an attribute without a value"],
];
/** Attributes that the element does not have. */
const UNKNOWN_ATTRIBUTES = [
  ["heads", "<attention-view> has view, mode, stage, block, layer, head, query, key, theme,"],
  ["data", "data is a property of the element. Set it in a script: element.data = …"],
];
/** Properties with wrong values, as code, and what each must be. @type {readonly (readonly [string, string, string])[]} */
const WRONG_PROPERTIES = [
  ["keys", "'no'", "The attribute keys is “no”, not one of on, off."],
  ["theme", "true", "The attribute theme is true, not one of auto, light, dark."],
  ["address", "'false'", "The attribute address is “false”, not an attribute without a value."],
  ["store", "5", "The property store is 5, not a store, as openStore and storeFrom of heed/view return."],
  ["sources", "null", `The property sources is null, not ${SOURCES}.`],
  ["sources", "['a.json']", `The property sources is ["a.json"], not ${SOURCES}.`],
  [
    "store",
    "false",
    "The property store is false, not a store, as openStore and storeFrom of heed/view return.",
  ],
  ["reader", "false", "The property reader is false, not { name, read(text) }. It has no effect."],
  ["reader", "5", "The property reader is 5, not { name, read(text) }. It has no effect."],
  ["data", "5", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file:"],
  ["data", "[[1, 0], [0, 1]]", "attention-view: expected arrays, { blocks:"],
  ["state", "null", "The property state is null, not an object with parts of the state,"],
  ["state", "{ foo: 1 }", "The state has no part foo, which has no effect. Its parts are text, view,"],
  ["state", "{ layer: '1' }", `The part layer of the state is “1”, not ${INDEX}.`],
  ["state", "{ query: 1.5 }", `The part query of the state is 1.5, not ${INDEX}.`],
  ["state", "{ head: null }", `The part head of the state is null, not ${INDEX}.`],
  ["state", "{ view: 'heads' }", "The part view of the state is “heads”, not one of model, head,"],
  [
    "state",
    "{ transfer: 'cubic' }",
    "The part transfer of the state is “cubic”, not one of sqrt, linear, log.",
  ],
  ["state", "{ ramp: 'jet' }", "The part ramp of the state is “jet”, not one of plum, cividis, grey."],
  [
    "state",
    "{ sort: 'entropie' }",
    'The part sort of the state is “entropie”, not one of "", pattern, entropy,',
  ],
  ["state", "{ filters: [{ metric: 'x', low: 0, high: 1 }] }", "The part filters of the state is"],
  ["state", "{ rows: [-1] }", `The part rows of the state is [-1], not ${SET}.`],
  ["state", "{ hidden: 5 }", `The part hidden of the state is 5, not ${SET}.`],
  [
    "state",
    "{ pins: 5 }",
    "The part pins of the state is 5, not a list of at most 6 heads { block, layer, head }.",
  ],
  [
    "state",
    "{ pinned: ['1', '2'] }",
    'The part pinned of the state is ["1", "2"], not [query, key] or null.',
  ],
  ["state", "{ camera: {} }", "The part camera of the state is Object, not { scale, x, y } or null."],
  [
    "state",
    "{ ablated: 5 }",
    "The part ablated of the state is 5, not a list of { layer, head, replace, position }",
  ],
  ["state", "{ values: 5 }", "The part values of the state is 5, not true or false."],
  ["state", "{ mass: 5 }", "The part mass of the state is 5, not a number from 0 to 1."],
  ["state", "{ temperature: -1 }", "The part temperature of the state is -1, not a number from 0 to 100."],
  ["state", "{ text: 4 }", "There is no text 4: this file has 0. Shown is 0."],
];

test("each wrong value of an attribute or a property is an error in the element, in the console and in its event", ({
  visit,
}) =>
  visit({ heads: {} }, async (page) => {
    await page.evaluate(() => {
      const errors = /** @type {string[]} */ ([]);
      console.error = (text) => errors.push(text);
      const wrong = async (
        /** @type {(one: any) => void} */ before,
        /** @type {(one: any) => void} */ after,
      ) => {
        const one = /** @type {any} */ (document.createElement("attention-view"));
        const messages = /** @type {string[]} */ ([]);
        one.addEventListener("error", (/** @type {CustomEvent} */ { detail }) =>
          messages.push(detail.message),
        );
        before(one);
        document.body.append(one);
        await one.open(/** @type {any} */ (globalThis).makeInput({}));
        await one.updateComplete;
        after(one);
        const end = performance.now() + 30_000;
        while (messages.length === 0 && performance.now() < end) await new Promise(requestAnimationFrame);
        await one.updateComplete;
        const [message = ""] = messages;
        // The messages are in the first notice, each in the end in full.
        const notices = one.shadowRoot.querySelector(".notices")?.textContent.replace(/\s+/g, " ") ?? "";
        const short = message.replace(/^[\w-]+: /, "");
        const isShown = notices.includes(short);
        const isLogged = errors.some((text) => text.includes(message));
        errors.length = 0;
        one.remove();
        return { message, isShown, isLogged };
      };
      Object.assign(globalThis, { wrong });
    });
    const none = "() => {}";
    const wrong = (/** @type {string} */ before, /** @type {string} */ after) =>
      page.evaluate(`wrong(${before}, ${after})`);
    const reported = (/** @type {string} */ message) => ({
      message: expect.stringContaining(message),
      isShown: true,
      isLogged: true,
    });
    for (const [name, value, expected] of WRONG_ATTRIBUTES)
      expect
        .soft(
          await wrong(`(one) => one.setAttribute(${JSON.stringify(name)}, ${JSON.stringify(value)})`, none),
        )
        .toEqual(reported(`The attribute ${name} is “${value}”, not ${expected}. It has no effect.`));
    for (const [name, sentence] of UNKNOWN_ATTRIBUTES)
      expect
        .soft(await wrong(`(one) => one.setAttribute("${name}", "1")`, none))
        .toEqual(reported(`The attribute ${name} has no effect: ${sentence}`));
    for (const [name, value, sentence] of WRONG_PROPERTIES)
      expect
        .soft(await wrong(none, `(one) => { one.${name} = ${value}; }`), `${name} = ${value}`)
        .toEqual(reported(sentence));
    // Right values of each are none.
    const parts = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const before = JSON.stringify(view.state);
      view.state = JSON.parse(before);
      return JSON.stringify(view.state) === before;
    });
    expect(parts).toBe(true);
  }));

test("methods reject what they cannot take, with a code", ({ visit }) =>
  visit({ heads: {} }, async (page) => {
    const refused = await page.evaluate(async () => {
      console.error = () => {};
      const { view } = /** @type {any} */ (globalThis);
      const calls = [
        () => view.open(null),
        () => view.open([new Float32Array(4)]),
        () => view.add("a.json"),
        () => view.add({ name: "a" }),
        () => view.metrics({ foo: 1 }),
        () => view.metrics({ layer: 9 }),
        () => view.toSVG(5),
        () => view.toPNG({}, 9),
      ];
      const codes = [];
      for (const call of calls)
        codes.push(await call().then(String, (/** @type {any} */ error) => error.code));
      return codes;
    });
    expect(refused).toEqual([
      "argument",
      "argument",
      "source",
      "source",
      "argument",
      "head-ref",
      "argument",
      "scale",
    ]);
  }));

test("an address that names what the data does not have says so, when it opens and when it changes", ({
  visit,
}) =>
  visit({ path: "/absent-address.html", heads: {}, hash: "#v1/head?h=99" }, async (page) => {
    const notices = page.locator("attention-view .notices");
    await expect(notices).toContainText("There is no head 99: this file has 0, 1. Shown is 1.");
    await page.evaluate(() => {
      location.hash = "#v1/head?l=7&i=3";
    });
    await expect(notices).toContainText("There is no layer 7: this file has 0, 1. Shown is 1.");
    // Lists too: pins, a pinned cell, heads turned off, tokens.
    await page.evaluate(() => {
      location.hash = "#v1/head?pin=9.4,0.1,1.7&at=30.2&off=5.0,0.1.40,1.1&pr=77&hide=ch&hk=3,40";
    });
    await expect(notices).toContainText(
      "This file does not have, and the picture leaves out: pinned head L9 H4, L1 H7; pinned cell of query 30 and key 2; head turned off L5 H0, L0 H1 at token 40; token to predict, 77; hidden token 40.",
    );
  }));

test("changed numbers that an address names and the head does not have are said", ({ visit }) =>
  visit(
    { path: "/absent-address.html", heads: {}, hash: "#v1/row?i=3&j=2&e=q.0:5,q.900:5,k.2.700:1,k.99.0:1" },
    async (page) => {
      const notices = page.locator("attention-view .notices");
      await expect(notices).toContainText(
        "leaves out: changed number 900 of the query, 700 of key 2, 0 of key 99.",
      );
    },
  ));

test("pins that an address names and the first file lacks are said when it opens", ({ visit }) =>
  visit({ path: "/absent-address.html", heads: {}, hash: "#v1/head?pin=0.9,0.1" }, async (page) => {
    const notices = page.locator("attention-view .notices");
    await expect(notices).toContainText("leaves out: pinned head L0 H9.");
    await expect(notices.locator("p.error").filter({ visible: true })).toHaveCount(1);
    // The list of pins has the other one alone.
    const pins = page.locator("attention-view .pins li");
    await expect(pins).toHaveCount(1);
    await expect(pins).toContainText("L0 H1");
  }));

test("three on a page, one of them inside another shadow root, share nothing", ({ visit }) =>
  visit({ path: "/three.html", heads: {} }, three));
test("attributes, properties and events work", ({ visit }) => visit({ heads: {} }, words));
test("the element makes figures: SVG, PNG and a page", ({ visit }) => visit({ heads: { Nq: 9 } }, figures));
test("100 times removed and put back, nothing is left", ({ visit }) => visit({ heads: {} }, leaks));
test("without controls the picture fits 390 × 350 pixels", ({ visit }) =>
  visit({ heads: { Nq: 13 } }, small));
test('with background="none" the page shows through every view', ({ visit }) => visit({ heads: {} }, clear));
test("in a small box the controls and then the caption give way to the picture", ({ visit }) =>
  visit({ heads: {}, hash: "#v1/head?i=3&j=2" }, async (page) => {
    for (const [width, height, controls, hasControls, hasCaption] of /** @type {const} */ ([
      [200, 150, "", false, false],
      [400, 320, "", false, true],
      [700, 500, "", true, true],
      [200, 150, "few", false, false],
      [400, 350, "few", false, true],
      [200, 150, "none", false, false],
    ])) {
      await page.evaluate(
        ([wide, high, how]) => {
          const { view } = /** @type {any} */ (globalThis);
          view.removeAttribute("address");
          view.style.cssText = `width: ${wide}px; height: ${high}px`;
          if (how) view.setAttribute("controls", how);
          else view.removeAttribute("controls");
        },
        /** @type {const} */ ([width, height, controls]),
      );
      const what = `${width} × ${height} ${controls}`;
      const inside = page.locator("attention-view");
      await expect(inside.locator(".toolbar"), what).toBeVisible({ visible: hasControls });
      await expect(inside.locator(".foot p").filter({ visible: true }), what).toHaveCount(hasCaption ? 1 : 0);
      if (hasControls) continue;
      // The picture is in the box, and has half of its height.
      await expect
        .poll(
          () =>
            page.evaluate(() => {
              const { view } = /** @type {any} */ (globalThis);
              const [box, picture, cells] = [
                view,
                ...[".pane", ".matrix .area"].map((it) => view.shadowRoot.querySelector(it)),
              ].map((it) => it.getBoundingClientRect());
              return cells.width > 30 && picture.bottom <= box.bottom + 1 ? picture.height / box.height : 0;
            }),
          { message: what },
        )
        .toBeGreaterThan(0.5);
    }
  }));

test("it is as light or dark as the page around it", ({ visit }) =>
  visit({ heads: {}, scheme: "dark" }, scheme));
test("an address that cannot be read is reported", ({ visit }) => visit({}, missing));

/** @param {import("@playwright/test").Page} page */
async function three(page) {
  const report = await page.evaluate(async () => {
    const { makeInput } = /** @type {any} */ (globalThis);
    const host = /** @type {HTMLElement} */ (document.getElementById("host"));
    const third = /** @type {any} */ (document.createElement("attention-view"));
    host.attachShadow({ mode: "open" }).append(third);
    const [first, second] = /** @type {any[]} */ ([...document.querySelectorAll("attention-view")]);
    await second.open(makeInput({ seed: 2 }));
    await third.open(makeInput({ seed: 3, Nq: 30 }));
    first.setCursor({ query: 4, key: 2 });
    await Promise.all([first, second, third].map((one) => one.updateComplete));
    return {
      cursors: [first, second, third].map(({ state }) => [state.layer, state.head, state.stage]),
      tokens: [first, second, third].map(({ store }) => store.blocks[0].Nq),
      hash: location.hash,
      globals: Object.keys(globalThis).filter((name) => /heed|attention-?view/i.test(name)),
    };
  });
  const want = {
    cursors: [
      [0, 0, "weights"],
      [1, 1, "scores"],
      [0, 0, "weights"],
    ],
    tokens: [12, 12, 30],
    hash: "",
    globals: [],
  };
  if (JSON.stringify(report) !== JSON.stringify(want)) throw new Error(JSON.stringify(report));
}

/** @param {import("@playwright/test").Page} page */
async function words(page) {
  const report = await page.evaluate(async () => {
    const { view, makeInput } = /** @type {any} */ (globalThis);
    /** @type {string[]} */
    const reported = [];
    for (const name of ["cursorchange", "pin", "viewchange", "load", "error", "progress"])
      view.addEventListener(name, (/** @type {CustomEvent} */ event) =>
        reported.push(`${name} ${Object.keys(event.detail).join()}`),
      );
    view.setAttribute("layer", "1");
    view.setAttribute("stage", "masked");
    view.setCursor({ query: 3, key: 1 });
    view.state = { pinned: [3, 1] };
    await view.open(makeInput({ Nq: 5 }), "another");
    const measures = await view.metrics({ layer: 0, head: 1 });
    return {
      reported: [...new Set(reported)],
      attributes: ["view", "mode", "layer", "head", "stage"].map((name) => view.getAttribute(name)),
      entropy: measures.entropy > 0,
      name: view.store.report.name,
    };
  });
  for (const event of [
    "cursorchange block,layer,head,query,key",
    "pin pinned,pins",
    "viewchange view,mode,stage",
    "load report",
    "progress what,done",
  ])
    if (!report.reported.includes(event)) throw new Error(`no event ${event}: ${report.reported.join("; ")}`);
  if (report.attributes.join() !== "head,matrix,1,0,masked" || !report.entropy)
    throw new Error(JSON.stringify(report));
}

/** @param {import("@playwright/test").Page} page */
async function figures(page) {
  const report = await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const [first, second] = [await view.toSVG(), await view.toSVG()];
    const parsed = new DOMParser().parseFromString(first, "image/svg+xml");
    const png = await view.toPNG();
    const page = await view.toHTML();
    return {
      same: first === second,
      valid: parsed.querySelector("parsererror") === null && parsed.documentElement.nodeName === "svg",
      png: [png.type, png.size > 500],
      html: /^<!doctype html>/.test(page) && page.includes("Content-Security-Policy"),
    };
  });
  if (
    JSON.stringify(report) !==
    JSON.stringify({ same: true, valid: true, png: ["image/png", true], html: true })
  )
    throw new Error(JSON.stringify(report));
}

/** @param {import("@playwright/test").Page} page */
async function leaks(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const counts = async () => {
    await client.send("HeapProfiler.collectGarbage");
    await page.waitForTimeout(100);
    await client.send("HeapProfiler.collectGarbage");
    const { metrics } = await client.send("Performance.getMetrics");
    const of = (/** @type {string} */ name) => metrics.find((one) => one.name === name)?.value ?? 0;
    return {
      nodes: of("Nodes"),
      listeners: of("JSEventListeners"),
      heap: of("JSHeapUsedSize"),
      workers: page.workers().length,
    };
  };
  // Taken out and put back: the same element goes on.
  await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    for (let n = 0; n < 10; n++) {
      view.remove();
      document.body.append(view);
      await view.updateComplete;
    }
  });
  await settled(page);
  const round = () =>
    page.evaluate(async () => {
      const { makeInput } = /** @type {any} */ (globalThis);
      for (let n = 0; n < 50; n++) {
        const one = /** @type {any} */ (document.createElement("attention-view"));
        document.body.append(one);
        await one.open(makeInput({ Nq: 6, layers: 1, heads: 1 }));
        await one.updateComplete;
        await new Promise((resolve) => requestAnimationFrame(resolve));
        one.remove();
        one.store = undefined;
      }
    });
  await round();
  const before = await counts();
  await round();
  // One element or two may still wait to be collected; a listener, or eight nodes, of each of the fifty would be too many.
  const limits = { nodes: 400, listeners: 45, heap: 3e6, workers: 0 };
  let after = await counts();
  const grown = () =>
    Object.entries(limits).filter(([name, limit]) => {
      const key = /** @type {keyof typeof limits} */ (name);
      return after[key] > before[key] + limit;
    });
  for (let tries = 0; grown().length > 0 && tries < 8; tries++) after = await counts();
  if (grown().length > 0) throw new Error(`before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
}

/** @param {import("@playwright/test").Page} page */
async function small(page) {
  const report = await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    view.style.setProperty("--heed-height", "350px");
    view.style.width = "390px";
    view.controls = "none";
    await view.updateComplete;
    for (let n = 0; n < 12; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
    const inside = view.shadowRoot;
    const isVisible = (/** @type {string} */ selector) =>
      [...inside.querySelectorAll(selector)].some((one) => one.getClientRects().length > 0);
    const box = view.getBoundingClientRect();
    const area = inside.querySelector(".matrix .area").getBoundingClientRect();
    return {
      size: [box.width, box.height],
      shown: [".masthead", ".toolbar", ".left", ".side", ".status", ".foot"].filter(isVisible),
      inside: area.right <= box.right && area.bottom <= box.bottom && area.width > 150,
      names: [...inside.querySelectorAll(".matrix .labels.rows span:not([hidden])")].length,
    };
  });
  if (JSON.stringify(report) !== JSON.stringify({ size: [390, 350], shown: [], inside: true, names: 13 }))
    throw new Error(JSON.stringify(report));
}

/** @param {import("@playwright/test").Page} page */
async function clear(page) {
  await page.evaluate(() => {
    document.body.style.background = "rgb(0, 128, 0)";
    const { view } = /** @type {any} */ (globalThis);
    view.controls = "few";
  });
  const corner = async () => {
    await page.evaluate(() => /** @type {any} */ (globalThis).view.updateComplete);
    const box = await page.locator("attention-view").evaluate((view) => {
      const { left, top, right, bottom } = view.getBoundingClientRect();
      return { left, right, top, bottom };
    });
    const png = await page.screenshot();
    return page.evaluate(
      async ({ bytes, box: { left, right, top, bottom } }) => {
        const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
        context?.drawImage(bitmap, 0, 0);
        const at = (/** @type {number} */ x, /** @type {number} */ y) =>
          [...(context?.getImageData(x, y, 1, 1).data ?? [])].slice(0, 3).join();
        return [
          at(left + 2, top + 2),
          at(right - 3, top + 2),
          at(left + 2, Math.min(bottom, innerHeight) - 3),
        ];
      },
      { bytes: [...png], box },
    );
  };
  const green = Array(3).fill("0,128,0");
  for (const name of ["head", "row", "model"]) {
    await page.evaluate(
      (view) => Object.assign(/** @type {any} */ (globalThis).view, { background: null, state: { view } }),
      name,
    );
    expect(await corner(), name).not.toContain("0,128,0");
    await page.evaluate(() => Object.assign(/** @type {any} */ (globalThis).view, { background: "none" }));
    expect(await corner(), name).toEqual(green);
  }
}

/** @param {import("@playwright/test").Page} page */
async function scheme(page) {
  const looks = await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const look = async (/** @type {string} */ name) => {
      document.documentElement.style.colorScheme = name;
      view.remove();
      document.querySelector("main")?.append(view);
      await view.updateComplete;
      for (let n = 0; n < 20; n++) await frame();
      const canvas = view.shadowRoot.querySelector(".matrix canvas.cells");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const reds = data.filter(
        (/** @type {number} */ _, /** @type {number} */ at) => at % 4 === 0 && data[at + 3] > 0,
      );
      reds.sort();
      return { ground: getComputedStyle(view).backgroundColor, cell: reds[reds.length >> 1] };
    };
    // The system is dark. A light page, a page that follows the system, a dark page; the second one by a line of HTML.
    const looks = [await look("light"), await look("light dark"), await look("dark")];
    document.head.insertAdjacentHTML("beforeend", '<meta name="color-scheme" content="light dark">');
    return [...looks, await look("normal")];
  });
  const want = ["rgb(251, 250, 247)", ...Array(3).fill("rgb(20, 21, 26)")];
  expect(looks.map(({ ground }) => ground)).toEqual(want);
  // Most cells have small weights, whose colors are close to the background.
  const [light, either, dark, byMeta] = looks.map(({ cell }) => cell);
  expect(light).toBeGreaterThan(dark + 60);
  expect([either, byMeta]).toEqual([dark, dark]);
}

/** @param {import("@playwright/test").Page} page */
async function missing(page) {
  const messages = await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const failed = new Promise((resolve) =>
      view.addEventListener("error", (/** @type {CustomEvent} */ event) => resolve(event.detail.message), {
        once: true,
      }),
    );
    view.src = "bad.json";
    const message = await failed;
    await view.updateComplete;
    return [message, view.shadowRoot.querySelector("[role=alert]")?.textContent ?? ""];
  });
  if (messages.some((text) => text === "")) throw new Error(JSON.stringify(messages));
  // Beside what is shown, a file that cannot be read is one error and one message.
  const counts = await page.evaluate(async () => {
    const { view, makeInput } = /** @type {any} */ (globalThis);
    await view.open(makeInput({}));
    let events = 0;
    view.addEventListener("error", () => events++);
    view.src = "./bad.json";
    const notices = () => view.shadowRoot.querySelectorAll(".notices p.error").length;
    for (let n = 0; n < 300 && notices() === 0; n++) await new Promise(requestAnimationFrame);
    await new Promise((resolve) => setTimeout(resolve, 300));
    return [events, notices()];
  });
  if (counts.join() !== "1,1") throw new Error(`${counts[0]} events, ${counts[1]} messages`);
}
