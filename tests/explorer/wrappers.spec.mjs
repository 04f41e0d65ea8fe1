// @ts-check
/**
 * The element's wrappers in headless Chromium, from the built package: the React component on React 18 and 19 (strict mode,
 * ref, events, props that change, data, errors, coming and going, rendering on a server), and the notebook module
 * with a model as anywidget gives it. Needs dist/ (npm run build).
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "@playwright/test";
import { writeBundle } from "heed/view";
import { rolldown } from "rolldown";
import { codeOf } from "../../src/store/measures/transfer.ts";
import { colorTable } from "../../src/view/color.ts";
import { inputs } from "./support/inputs.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { startServer } = await import(pathToFileURL(join(root, "dist/server/server.js")).href);
const SCRIPT = "text/javascript; charset=utf-8";
const html = (/** @type {string} */ scripts) =>
  Buffer.from(
    `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>t</title><div id="root"></div>${scripts}`,
  );

/**
 * Bundles a program with one version of React.
 * @param {string} input
 * @param {string} suffix "" or "-18"
 * @param {"browser" | "node"} [platform]
 */
async function bundled(input, suffix, platform = "browser") {
  const bundle = await rolldown({
    input,
    platform,
    logLevel: "silent",
    transform: { define: { "process.env.NODE_ENV": '"development"' } },
    plugins: [
      {
        name: "react-version",
        resolveId(name, importer) {
          if (name === "heed/attention-view") return { id: "/attention-view.js", external: true };
          if (name === "heed/attention-view/react") return join(root, "dist/attention-view/react.js");
          const [, which, rest = ""] = /^(react|react-dom)(\/.*)?$/.exec(name) ?? [];
          return which && suffix !== "" ? this.resolve(`${which}${suffix}${rest}`, importer) : undefined;
        },
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  return output[0].code;
}

/** The weights of the shown head and the colors of their cells; nothing while they are loaded. @param {Page} page */
const drawnBy = (page) =>
  page.evaluate(() => {
    const { element } = /** @type {any} */ (globalThis).app;
    const { store, shadowRoot } = element;
    const matrix = shadowRoot?.querySelector(".pane .matrix:not(.waiting)");
    const ref = { block: 0, layer: element.state.layer, head: element.state.head };
    /** @type {{ weights: number[], colors: string[] }} */
    const report = { weights: [], colors: [] };
    const canvas = matrix?.querySelector("canvas.cells");
    if (!canvas?.width || !store?.ready(ref)) return report;
    const { Nq, Nk } = store.blocks[0];
    const [a, b] = [matrix.querySelector(".area"), canvas].map((one) => one.getBoundingClientRect());
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < Nq; i++)
      for (let j = 0; j < Nk; j++) {
        const x = Math.floor(a.left - b.left + ((j + 0.5) * a.width) / Nk);
        const y = Math.floor(a.top - b.top + ((i + 0.5) * a.height) / Nq);
        const at = 4 * (y * canvas.width + x);
        report.colors.push([...data.slice(at, at + 3)].join());
        report.weights.push(store.cell(ref, i, j, "weights"));
      }
    return report;
  });

/** @param {Page} page @param {string} suffix */
async function react(page, suffix) {
  const code = await bundled(join(root, "tests/explorer/support/react-app.mjs"), suffix);
  const pages = new Map([
    ["/", { type: "text/html; charset=utf-8", body: html('<script type="module" src="/app.js"></script>') }],
    ["/app.js", { type: SCRIPT, body: Buffer.from(code) }],
    ["/attention-view.js", { type: SCRIPT, body: readFileSync(join(root, "dist/attention-view.js")) }],
  ]);
  const server = await startServer({ pages });
  /** @type {string[]} */
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(`${error}`));
  await page.goto(server.url);
  const app = "/** @type {any} */ (globalThis).app";
  /** @param {string} code @returns {Promise<any>} */
  const run = (code) => page.evaluate(`(() => { const app = ${app}; return ${code}; })()`);
  // Polled from here: the page's policy lets no text become code in it.
  const until = async (/** @type {string} */ code) => {
    for (let n = 0; n < 1200; n++) {
      if (await run(code)) return;
      await page.waitForTimeout(50);
    }
    throw new Error(`not within 60 s: ${code}`);
  };
  try {
    await until("app");
    const version = await run("app.version");
    const name = `React ${version}`;
    const check = (/** @type {string} */ what, /** @type {unknown} */ good, problem = "it is not so") =>
      expect.soft(Boolean(good), `${name}: ${what}${good ? "" : `: ${problem}`}`).toBe(true);
    check("is the requested version", version.startsWith(suffix === "" ? "19." : "18."), version);

    await run(
      "void app.render({ data: app.inputs.small(), layer: 1, className: 'mine', style: { height: '500px' } })",
    );
    await until("app.element?.store && app.reported.some(([name]) => name === 'onLoad')");
    const loads = await run(
      "app.reported.filter(([name]) => name === 'onLoad').map(([, detail]) => detail.report.format)",
    );
    check(
      "onLoad hears what was loaded",
      loads.length > 0 && loads.every((/** @type {string} */ one) => one === "memory"),
      loads.join(),
    );
    check("the ref is the element", await run("app.element === document.querySelector('attention-view')"));
    const attributes = await run(
      "[app.element.className, app.element.style.height, app.element.state.layer]",
    );
    check("class, style and state are set", attributes.join() === "mine,500px,1", attributes.join());

    await run(
      "void app.render({ data: undefined, layer: 0, stage: 'scaled', view: 'row', className: 'other' })",
    );
    await until("app.element.state.view === 'row'");
    const now = await run("[app.element.className, app.element.state.layer, app.element.state.stage]");
    check("props that change reach the element", now.join() === "other,0,scaled", now.join());
    check(
      "onViewChange hears it",
      await run("app.reported.some(([name, detail]) => name === 'onViewChange' && detail.view === 'row')"),
    );

    await run("void (app.reported.length = 0, app.element.setCursor({ head: 2, query: 3, key: 1 }))");
    await until("app.reported.length > 0");
    const moved = await run("JSON.stringify(app.reported.filter(([name]) => name === 'onCursorChange'))");
    check(
      "onCursorChange hears the cursor once",
      JSON.parse(moved).length === 1 && JSON.parse(moved)[0][1].query === 3,
      moved,
    );

    // Other data of the same size: each cell gets the color of its own weight.
    /** @type {string[]} */
    const lists = [];
    for (const sign of [1, -1]) {
      await run(
        `void app.render({ view: "head", stage: "weights", layer: 0, data: (() => {
          const input = app.inputs.small();
          for (const { query } of input.blocks[0].layers) query.data = query.data.map((x) => ${sign} * x);
          return input;
        })() })`,
      );
      await expect
        .poll(async () => {
          const { weights, colors } = await drawnBy(page);
          const table = colorTable("plum");
          const wrong = weights.filter(
            (weight, n) => weight > 0 && table[codeOf(weight, "sqrt", 1)].join() !== colors[n],
          );
          const isNew = weights.length > 0 && !lists.includes(weights.join());
          if (isNew && wrong.length === 0) lists.push(weights.join());
          return isNew && wrong.length === 0;
        }, `${name}: the cells after \`data\` was set`)
        .toBe(true);
    }

    await run("void (app.reported.length = 0, app.render({ data: new Uint8Array(40) }))");
    await until("app.reported.some(([name]) => name === 'onError')");
    check(
      "onError hears why",
      (await run("app.reported.find(([name]) => name === 'onError')[1].message")).length > 20,
    );

    for (let n = 0; n < 20; n++) {
      await run("void app.render({ data: app.inputs.small() })");
      await until("app.element?.store");
      await run("void app.clear()");
      await until("document.querySelector('attention-view') === null");
    }
    check("comes and goes twenty times", (await run("app.element")) === null);
    // The element reports a file that it cannot open to the author of the page, on the console.
    const advice = errors.filter((error) => error.startsWith("<attention-view>: Could not open the file."));
    check("the error is on the console once", advice.length === 1, `${advice.length} times`);
    const others = errors.filter((error) => !advice.includes(error));
    check("nothing else is on the console", others.length === 0, others.slice(0, 3).join("; "));
  } finally {
    await server.close();
  }
}

/** @param {string} suffix */
async function reactOnServer(suffix) {
  const entry = "\0entry";
  const bundle = await rolldown({
    input: entry,
    platform: "node",
    logLevel: "silent",
    external: ["heed/attention-view"],
    plugins: [
      {
        name: "entry",
        resolveId(name, importer) {
          if (name === entry) return entry;
          if (name === "wrapper") return join(root, "dist/attention-view/react.js");
          const [, which, rest = ""] = /^(react|react-dom)(\/.*)?$/.exec(name) ?? [];
          const from = importer === entry ? join(root, "tests/explorer/x.mjs") : importer;
          return which ? this.resolve(`${which}${suffix}${rest}`, from, { skipSelf: true }) : undefined;
        },
        load: (id) =>
          id === entry
            ? `import { createElement } from "react"; import { renderToString } from "react-dom/server"; import { AttentionView } from "wrapper";
               export default () => renderToString(createElement(AttentionView, { src: "/run.safetensors", layer: 4, className: "mine" }));`
            : undefined,
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  const folder = mkdtempSync(join(tmpdir(), "heed-wrappers-"));
  const file = join(folder, "server.mjs");
  writeFileSync(file, output[0].code);
  const module = await import(pathToFileURL(file).href).finally(() => rmSync(folder, { recursive: true }));
  const text = module.default();
  expect(text).toMatch(/^<attention-view /);
  expect(text).toContain('src="/run.safetensors"');
  expect(text).toContain('class="mine"');
}

/** @param {Page} page */
async function notebook(page) {
  const pages = new Map([
    ["/", { type: "text/html; charset=utf-8", body: html("") }],
    ["/anywidget.js", { type: SCRIPT, body: readFileSync(join(root, "dist/attention-view.js")) }],
  ]);
  const data = await writeBundle(inputs.small());
  const server = await startServer({ pages });
  /** @type {string[]} */
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(`${error}`));
  await page.goto(server.url);
  try {
    const results = await page.evaluate(
      async (bytes) => {
        const widget = (await import(/** @type {string} */ ("/anywidget.js"))).default;
        /** A model as anywidget hands it over: traits, and who listens to them. */
        const model = () => {
          /** @type {Record<string, unknown>} */
          const traits = {
            data: new DataView(Uint8Array.from(bytes).buffer),
            name: "run",
            layer: 1,
            height: 480,
          };
          /** @type {Map<string, Set<() => void>>} */
          const heard = new Map();
          return {
            traits,
            saved: 0,
            heard,
            get: (/** @type {string} */ name) => traits[name],
            set(/** @type {string} */ name, /** @type {unknown} */ value) {
              traits[name] = value;
              for (const listener of heard.get(`change:${name}`) ?? []) listener();
            },
            save_changes() {
              this.saved++;
            },
            on: (/** @type {string} */ name, /** @type {() => void} */ act) =>
              heard.set(name, (heard.get(name) ?? new Set()).add(act)),
            off: (/** @type {string} */ name, /** @type {() => void} */ act) => heard.get(name)?.delete(act),
          };
        };
        const until = async (/** @type {() => unknown} */ good) => {
          for (let n = 0; n < 1200 && !good(); n++) await new Promise((resolve) => setTimeout(resolve, 50));
          return Boolean(good());
        };
        const el = document.getElementById("root");
        const one = model();
        const end = widget.render({ model: one, el });
        const view = /** @type {any} */ (el?.querySelector("attention-view"));
        const result = /** @type {Record<string, unknown>} */ ({});
        result.opens = await until(() => view.store);
        result.name = view.store?.report.name;
        result.layer = view.state.layer;
        result.height = getComputedStyle(view).height;
        view.setCursor({ query: 4, key: 2 });
        result.reported = JSON.stringify(one.traits.cursor);
        result.saved = one.saved > 0;
        one.set("cursor", { query: 7, key: 1 });
        result.moved = [view.state.query, view.state.key].join();
        one.set("stage", "scaled");
        result.stage = view.state.stage;
        // A second widget in the same page, and the end of the first.
        const second = model();
        const other = document.createElement("div");
        document.body.append(other);
        const endTwo = widget.render({ model: second, el: other });
        result.both = await until(() => /** @type {any} */ (other.querySelector("attention-view")).store);
        end();
        result.gone = el?.childElementCount === 0 && [...one.heard.values()].every((set) => set.size === 0);
        endTwo();
        return result;
      },
      [...data],
    );
    const wanted = {
      opens: true,
      name: "run",
      layer: 1,
      height: "480px",
      saved: true,
      moved: "7,1",
      stage: "scaled",
      both: true,
      gone: true,
      reported: '{"block":"self","layer":1,"head":0,"query":4,"key":2}',
    };
    for (const [what, value] of Object.entries(wanted))
      expect.soft(results[what], `notebook: ${what}`).toEqual(value);
    expect(errors, "nothing on the console").toEqual([]);
  } finally {
    await server.close();
  }
}

test("every script that a bundler finds in the element and the Lab is in the package", () => {
  const followed = [];
  for (const folder of ["attention-view", "lab"])
    for (const name of readdirSync(join(root, "dist", folder), { recursive: true, encoding: "utf8" })) {
      const file = join(root, "dist", folder, name);
      if (!name.endsWith(".js")) continue;
      const code = readFileSync(file, "utf8");
      for (const [, path] of code.matchAll(/new URL\([`"'](\.[^`"']+)[`"'],\s*import\.meta\.url/g)) {
        expect(
          existsSync(join(dirname(file), path)) || path === "../explorer/",
          `${folder}/${name}: ${path}`,
        ).toBe(true);
        followed.push(path);
      }
    }
  expect(followed).toContain("./worker.js");
  expect(followed).toContain("./lab-worker.js");
});

test("the types of the element need no types of Node", () => {
  const reached = [
    "attention-view/element.d.ts",
    "attention-view/react.d.ts",
    "view/index.d.ts",
    "io/index.d.ts",
  ];
  for (const name of reached) {
    const code = readFileSync(join(root, "dist", name), "utf8");
    expect(code, name).not.toMatch(/["']node:/);
    for (const [, path] of code.matchAll(/(?:\bfrom|\bimport\(?)\s*["'](\.[^"']+)["']/g)) {
      const types = join(dirname(name), path.replace(/(?:\.d)?\.[jt]s$/, ".d.ts"));
      if (!reached.includes(types)) reached.push(types);
    }
  }
  expect(reached.length).toBeGreaterThan(20);
});

test("a bundler can write the element's worker as one script, and copy the GPU's module as it is", () => {
  const read = (/** @type {string} */ name) => readFileSync(join(root, "dist/attention-view", name), "utf8");
  const waiting = ["worker.js"];
  for (const name of waiting) {
    const code = read(name);
    // Vite's default for workers, one script, has no parts that are loaded later.
    expect(code, name).not.toMatch(/\bimport\(\s*["'`]/);
    for (const [, path] of code.matchAll(/\bfrom\s*["'](\.[^"']+)["']/g)) {
      const part = join(dirname(name), path);
      if (!waiting.includes(part)) waiting.push(part);
    }
  }
  expect(waiting.length).toBeGreaterThan(1);
  expect(read("gpu.js")).not.toMatch(/\b(?:from|import)\s*\(?["'`]\.|import\.meta\.url/);
});

for (const suffix of ["-18", ""]) {
  test(`React${suffix || "-19"} renders the component on a server`, () => reactOnServer(suffix));
  test(`React${suffix || "-19"} drives the element and hears its events`, ({ page }) => react(page, suffix));
}
test("the notebook module opens data, follows its model and cleans up", ({ page }) => notebook(page));
