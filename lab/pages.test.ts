import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { viewOf } from "../tests/golden/lab/listings.ts";
import { GROUPS } from "../tools/build/lab.mjs";
import { html } from "../ui/markup.ts";
import { textOf } from "../ui/text-of.ts";
import { unknownNames } from "./frame/fields.ts";
import { changeOf, type LabView, type NamedPage, type PageNotes } from "./frame/page.ts";
import { isAbout, pictureOf, reasonOf, reasonsOf } from "./frame/render.ts";
import { loadPages, renderSite } from "./frame/site.ts";
import { loadNotes, PAGES } from "./pages.ts";

const titleOf = ({ title }: NamedPage["steps"][number], view: LabView) =>
  typeof title === "function" ? title(view) : title;

/** The view after the answer to a question, computed once for all tests. */
const answers = new Map<object, Promise<LabView>>();
function answeredView(
  ...[name, state, show]: [string, Parameters<typeof viewOf>[1], object]
): Promise<LabView> {
  const view = answers.get(show) ?? viewOf(name, state, show);
  answers.set(show, view);
  return view;
}

let pages: (NamedPage & PageNotes)[] = [];
let files: Map<string, string> = new Map();
beforeAll(async () => {
  pages = await Promise.all(
    (await loadPages()).map(async (page) => ({ ...page, ...(await loadNotes(page.name)) })),
  );
  files = await renderSite({ explorer: "../explorer/" });
}, 120_000);

test("each folder of a page has its three files and is in the list, and the pages that it needs come before it", () => {
  const folders = readdirSync("lab").filter((name) => name !== "frame" && existsSync(`lab/${name}/page.ts`));
  expect(folders.toSorted(), "lab/pages.ts has each folder with a page.ts").toEqual(PAGES.toSorted());
  for (const name of folders)
    for (const file of ["compute.ts", "notes.ts"])
      expect(existsSync(`lab/${name}/${file}`), `lab/${name}/${file}`).toBe(true);
  const names = pages.map(({ name }) => name);
  for (const { needs, name } of pages)
    for (const other of needs) {
      expect(names, `${name} needs ${other}`).toContain(other);
      expect(names.indexOf(other), `${name} needs ${other}`).toBeLessThan(names.indexOf(name));
    }
});

test("what a worker imports is not in the chunk that writes markup: a worker has no document", () => {
  const imported = new Map<string, string>();
  const visit = (file: string, importer: string) => {
    if (imported.has(file)) return;
    imported.set(file, importer);
    const source = readFileSync(file, "utf8");
    for (const [, path] of source.matchAll(/^(?:import|export) (?!type\b)[^;]*?from "(\.[^"]+)"/gm))
      visit(join(dirname(file), path), file);
    for (const [, path] of source.matchAll(/\bimport\("(\.[^"]+)"\)/g))
      visit(join(dirname(file), path), file);
  };
  visit("lab/frame/runtime/worker.ts", "");
  expect(imported.size).toBeGreaterThan(100);
  const [{ test: page }] = GROUPS;
  expect(page.test("/ui/markup.ts")).toBe(true);
  expect([...imported].filter(([file]) => page.test(`/${file}`))).toEqual([]);
});

test("a page has at most six steps, a prediction and a sentence on its limits", () => {
  for (const page of pages) {
    expect(page.steps.length, page.name).toBeLessThanOrEqual(6);
    // One sentence: a full stop at the end and nowhere else.
    expect(page.limits.match(/[.?!](?=\s|$)/g), page.name).toEqual(["."]);
    expect(page.limits.length).toBeGreaterThan(60);
    expect(page.trained.address, page.name).toMatch(/\.html#v1\//);
    expect(page.steps.some(({ predict }) => predict !== undefined) || page.name === "words", page.name).toBe(
      true,
    );
  }
});

test("a button that the text of a step asks for is beside its picture before anything was done", async () => {
  let steps = 0;
  for (const page of pages)
    for (const step of page.steps) {
      const view = await viewOf(page.name, step.state);
      if (!/<b>Throw again<\/b>/.test(textOf(step.text(view)))) continue;
      steps++;
      expect(textOf(page.control(view)), `${page.name}, “${titleOf(step, view)}”`).toContain("Throw again");
    }
  expect(steps).toBeGreaterThan(1);
});

test("no task is done before anything was done", async () => {
  for (const page of pages)
    for (const step of page.steps) {
      const view = await viewOf(page.name, step.state);
      for (const [i, task] of page.tasks.entries())
        expect(task.reached(view), `${page.name}, task ${i + 1} at “${titleOf(step, view)}”`).not.toBe(true);
    }
});

test("the text of a step is about the state of that step, and about the answer to its question", () => {
  for (const page of pages)
    for (const [at, { fixed, state, predict }] of page.steps.entries()) {
      if (fixed) continue;
      const before = page.check({ ...page.initial, ...changeOf(state, page.initial) } as typeof page.initial);
      expect(isAbout(page, before, at), `${page.name}, step ${at + 1}`).toBe(true);
      if (predict === undefined) continue;
      const shown = page.check({
        ...before,
        ...changeOf(predict.show, before),
        [`guess${at}`]: predict.start,
      } as typeof before);
      expect(isAbout(page, shown, at), `${page.name}, step ${at + 1}, answered`).toBe(true);
    }
});

test("a guess is marked in the picture with its result, and not before", async () => {
  for (const page of pages)
    for (const [at, { predict, state }] of page.steps.entries()) {
      if (predict === undefined) continue;
      const before = await viewOf(page.name, state);
      const answered = await answeredView(page.name, state, predict.show);
      const name = `${page.name}, “${titleOf(page.steps[at], before)}”`;
      for (const wide of [true, false]) {
        const marked = (view: LabView, guess: number) => {
          const drawn = pictureOf(page, {
            ...view,
            state: { ...view.state, [`guess${at}`]: guess },
            wide,
          });
          const [guessed = ""] = /<g data-name="guess">.*/s.exec(drawn) ?? [];
          // In no color that means a query, a key, a value or a share.
          expect(guessed, name).not.toMatch(/class="[^"]*\b[flt][qkvw]\b/);
          return guessed.includes("your guess");
        };
        for (const guess of [predict.min, predict.start, predict.max])
          expect(marked(answered, guess), `${name}, ${guess}`).toBe(true);
        expect(marked(answered, -1)).toBe(false);
        if (!predict.always) expect(marked(before, predict.start), name).toBe(false);
      }
    }
});

test("pages are complete without a script: every step has its picture, caption and table", () => {
  for (const page of pages) {
    const text = files.get(`${page.name}.html`)!;
    expect(text.match(/<figure><svg class="narrow"/g)?.length, page.name).toBe(page.steps.length);
    expect(text).toContain("<table>");
    // One control at first; the others appear once it was used.
    expect(text.match(/class="first"/g)?.length, page.name).toBe(1);
    expect(text, page.name).not.toContain('class="others"');
    expect(text).not.toMatch(/undefined|\[object|NaN(?!<| is|,|\.|&| to| —|$)/);
  }
});

test("pictures for pages without scripts have nothing that can be pressed or reached by keys", () => {
  for (const { name, steps } of pages) {
    const stills = files.get(`${name}.html`)!.match(/<div class="still">.*?<\/svg>/gs)!;
    expect(stills, name).toHaveLength(steps.length);
    for (const still of stills) {
      expect(still, name).not.toMatch(
        /tabindex|role="(?:button|slider|group)"|data-act|data-drag|class="hit"/,
      );
      expect(still, name).toMatch(/<svg[^>]*role="img" aria-label="[^"]{20,}/);
    }
  }
});

test("pages are complete without a script: every prediction is answered", async () => {
  for (const page of pages)
    for (const [at, { state, predict, staticState = predict?.show }] of page.steps.entries()) {
      if (predict === undefined) continue;
      const answered = await answeredView(page.name, state, staticState!);
      const step = files.get(`${page.name}.html`)!.split('class="step"')[at + 1];
      // Times are measured when the page is built.
      if (page.name !== "cost")
        expect(step, page.name).toContain(`<p>${textOf(predict.result(answered))}</p>`);
      expect(step.match(/class="still"/g)?.length, page.name).toBe(1);
    }
  // The beads of the first page are a prediction of its own.
  expect(files.get("words.html")).toMatch(/class="still"><p>The head gives “green” <b>/);
});

test("the map has each page's first picture, its minutes and its goal", () => {
  const items = files.get("index.html")!.split("<li ").slice(1);
  expect(items.length).toBe(pages.length);
  for (const [i, { name, minutes, goal }] of pages.entries()) {
    expect(items[i]).toContain(`href="${name}.html"`);
    expect(items[i]).toContain(`${minutes} minutes`);
    expect(items[i]).toContain(goal);
    expect(items[i], name).toMatch(/<svg[^>]*role="img" aria-label="[^"]{20,}"/);
  }
});

test("every page says how it is cited, with author, year, version and license", () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  for (const page of pages)
    expect(files.get(`${page.name}.html`)).toContain(
      `To cite: the heed authors (2026). “${page.title}”. The Lab of heed ${version}. License: MIT.</footer>`,
    );
  for (const name of ["index.html", "course/index.html"])
    expect(files.get(name), name).toMatch(/<footer class="cite">To cite: /);
});

test("each lesson has teacher's notes: aim, minutes, steps, questions with answers, usual mistakes, tasks, an answer", async () => {
  for (const page of pages) {
    const notes = files.get(`notes/${page.name}.html`)!;
    const has = (text: unknown) => expect(notes, page.name).toContain(textOf(html`${text}`));
    for (const text of [page.point, `${page.minutes} minutes`, page.limits, ...page.recall.flat()]) has(text);
    for (const at of page.steps.keys()) has(`../${page.name}.html#stop${at + 1}`);
    for (const { text } of page.tasks) has(text);
    const open = await loadNotes(page.name);
    for (const text of [open.goal, open.text, open.answer, ...open.mistakes.flat()]) has(text);
    for (const { predict, state, staticState = predict?.show } of page.steps) {
      if (predict === undefined) continue;
      const answered = await answeredView(page.name, state, staticState!);
      // Times are measured when the page is built.
      if (page.name !== "cost") has(predict.result(answered));
      for (const [, , reason] of reasonsOf(predict, answered)) has(reason);
    }
    expect(files.get(`${page.name}.html`)).toContain(`href="notes/${page.name}.html"`);
    expect(notes).not.toMatch(/undefined|\[object|NaN(?!<| is|,|\.|&| to| —|$)/);
  }
});

test("the marks that a model adds have one name on all pages, not that of the tokenizer", () => {
  for (const [name, text] of files)
    if (name.endsWith(".html") && !name.startsWith("course"))
      expect(text, name).not.toMatch(/\[(?:CLS|SEP)\]/);
  for (const name of ["words", "heads", "explanation"])
    expect(files.get(`${name}.html`)).toContain("start mark");
});

test("no header of a table is empty", () => {
  for (const [name, text] of files) expect(text, name).not.toMatch(/<th[^>]*><\/th>/);
});

test("a page from the disk says that it cannot run, by a script that is not a module", () => {
  expect(files.get("disk.js")).toContain('location.protocol === "file:"');
  for (const [name, text] of files) {
    if (!name.endsWith(".html")) continue;
    expect(text, name).toMatch(/<script src="(?:\.\.\/)?disk\.js"><\/script>/);
    expect(text, name).toContain("This page was opened from the disk");
  }
  // The rules of a page without scripts hold there too.
  expect(files.get("lab.css")).toContain(":root.disk .still{display:block");
});

test("a module's name in a listing is not marked as a variable", () => {
  for (const [name, text] of files) expect(text, name).not.toMatch(/"<span class="var"[^>]*>heed<\/span>"/);
});

test("each step of the text has an address", () => {
  for (const page of pages)
    for (const at of page.steps.keys())
      expect(files.get(`${page.name}.html`), page.name).toContain(`id="stop${at + 1}"`);
});

test("markup holds what a strict policy allows: no style attribute, no handler, no address of another site", () => {
  for (const [name, text] of files) {
    if (!name.endsWith(".html")) continue;
    expect(text, name).not.toMatch(/<[^>]+\s(?:style|on\w+)=/);
    expect(text, name).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  }
});

test("the chapter for teachers names every attribute of the element, every field of its event, and a state that exists", () => {
  const chapter = readFileSync(join(import.meta.dirname, "../docs/teach.md"), "utf8");
  const types = readFileSync(join(import.meta.dirname, "../src/view/lab-element.ts"), "utf8");
  const fields = [...types.matchAll(/^ +readonly "?([\w-]+)"?\??:/gm)].map(([, name]) => name);
  expect(fields).toEqual(expect.arrayContaining(["page", "picture-only", "task"]));
  for (const name of fields.filter((field) => field !== "done" && field !== "error"))
    expect(chapter).toContain(`| \`${name}\` |`);
  const [, page, stop, state] = /page="(\w+)" stop="(\d)" state="([^"]+)"/.exec(chapter)!;
  const named = pages.find((one) => one.name === page)!;
  expect(named.steps[Number(stop) - 1]).toBeDefined();
  expect(unknownNames(named.fields, `#v1?${state.replaceAll("&amp;", "&")}`)).toEqual([]);
});

test("the page for readers of a course names steps that exist, and links to each", () => {
  const markdown = readFileSync(join(import.meta.dirname, "../docs/course.md"), "utf8");
  const html = files.get("course/index.html") ?? "";
  const steps = [...markdown.matchAll(/`([a-z]+)#stop(\d)`/g)];
  expect(steps.length).toBeGreaterThan(60);
  for (const [, name, stop] of steps) {
    expect(
      pages.find((page) => page.name === name)?.steps[Number(stop) - 1],
      `${name}, ${stop}`,
    ).toBeDefined();
    expect(files.get(`${name}.html`)).toContain(`id="stop${stop}"`);
    expect(html).toContain(`href="../${name}.html#stop${stop}"`);
  }
});

test("a wrong guess gets a reason, the right one none", async () => {
  for (const page of pages) {
    const predictions = page.steps.flatMap(({ predict, state }) => (predict ? [{ predict, state }] : []));
    expect(page.right, `right in lab/${page.name}/notes.ts`).toHaveLength(predictions.length);
    for (const [at, { predict, state }] of predictions.entries()) {
      const name = `${page.name}: ${predict.question}`;
      const right = page.right[at];
      const view = await answeredView(page.name, state, predict.show);
      const reason = (guess: number) => reasonOf(predict, guess, view);
      expect(reason(right), name).toBe("");
      const far = [predict.min, predict.start, predict.max].filter(
        (guess) => Math.abs(guess - right) > (predict.max - predict.min) / 5,
      );
      expect(far.length, name).toBeGreaterThan(0);
      for (const guess of far) expect(reason(guess), `${name}: ${guess}`).toMatch(/^ \S.{20,}/);
    }
  }
});

test("no line ends between a number and its percent sign", () => {
  for (const name of PAGES) {
    const text = files.get(`${name}.html`)!.replaceAll(/<(pre|svg).*?<\/\1>/gs, "");
    expect(text.match(/.{0,40}\d %/g) ?? [], name).toEqual([]);
  }
});
