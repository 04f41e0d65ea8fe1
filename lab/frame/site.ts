/** The Lab as static files: a map, a page each, and their style. The markup is complete before any script runs. */

import { readFileSync } from "node:fs";
import { escapeXml } from "../../src/view/plot/svg.ts";
import { html, nothing } from "../../ui/markup.ts";
import { textOf } from "../../ui/text-of.ts";
import { loadNotes, loadPage, PAGES } from "../pages.ts";
import { COURSE_STYLE, coursePage } from "./documents/course.ts";
import { MAP_STYLE, mapOf } from "./documents/map.ts";
import { NOTES_STYLE, notesOf } from "./documents/notes.ts";
import type { LabState } from "./fields.ts";
import { type Change, changeOf, type LabView, type NamedPage } from "./page.ts";
import { pictureOf } from "./render.ts";
import type { PageComputation } from "./runtime/messages.ts";
import { style } from "./style.ts";
import { renderStage, renderText, type Surroundings, withoutActions } from "./text.ts";

/** Where the explorer is, seen from a page of the Lab. */
export interface SiteOptions {
  /** Address of the explorer, relative to the pages. */
  readonly explorer: string;
  /** Address of the documentation, relative to the pages; where it is missing, the map has no link to it. */
  readonly docs?: string;
}

/** The text column and the picture of a page, from numbers that heed computes now. */
async function renderPage(page: NamedPage, surroundings: Surroundings) {
  const { compute }: PageComputation = await import(`../${page.name}/compute.ts`);
  const view = async (change: Change<LabState>, before = page.initial): Promise<LabView> => {
    const state = page.check({ ...before, ...changeOf(change, before) } as LabState);
    return { state, numbers: await compute(state), wide: true, changed: false };
  };
  const views: LabView[] = [];
  const staticViews: LabView[] = [];
  for (const { state, predict, staticState = predict?.show } of page.steps) {
    const first = await view(state);
    views.push(first);
    staticViews.push(staticState === undefined ? first : await view(staticState, first.state));
  }
  return {
    columns: html`<div class="columns">${renderText(page, views, staticViews, surroundings)}${renderStage(page, views[0])}</div>`,
    answers: staticViews,
    drawing: withoutActions(pictureOf(page, { ...views[0], wide: false })),
  };
}

/** Every page, in the order of reading. */
export const loadPages = (): Promise<NamedPage[]> => Promise.all(PAGES.map(loadPage));

/** Every file of the Lab by its name, scripts left out. */
export async function renderSite({ explorer, docs }: SiteOptions): Promise<Map<string, string>> {
  const pages = await loadPages();
  const files = new Map<string, string>([
    ["lab.css", style(":root")],
    // Not a module: browsers run no module of a page that is opened from the disk.
    ["disk.js", 'if (location.protocol === "file:") document.documentElement.classList.add("disk");\n'],
  ]);
  files.set("own/index.html", ownPage());
  const course = coursePage(
    rootFile("docs/course.md"),
    pages.map(({ name }) => name),
  );
  files.set("course/course.css", COURSE_STYLE);
  files.set(
    "course/index.html",
    documentOf(
      "You come from a course · The Lab",
      "A course’s formulas, code and claims, each beside heed’s line and a page of the Lab",
      `<link rel="stylesheet" href="../map.css"><link rel="stylesheet" href="course.css"><header class="top"><a class="home" href="../index.html">The Lab</a></header><main class="map">${course}</main>`,
      "../",
    ),
  );
  files.set("map.css", MAP_STYLE);
  const entries: Parameters<typeof mapOf>[0][number][] = [];
  files.set("notes/notes.css", NOTES_STYLE);
  for (const [at, page] of pages.entries()) {
    const [before, next] = [pages[at - 1], pages[at + 1]];
    const open = await loadNotes(page.name);
    const address = `notes/${page.name}.html`;
    const { columns, answers, drawing } = await renderPage(page, { next, explorer, open, notes: address });
    entries.push({ ...page, ...open, drawing });
    const needs = page.needs.map((name) => pages.find((one) => one.name === name)!.title);
    const notes = notesOf(page, answers, needs, open);
    files.set(
      address,
      documentOf(
        `${page.title}: teacher’s notes · The Lab`,
        page.point,
        `<link rel="stylesheet" href="notes.css">${textOf(html`<header class="top"><a class="home" href="../index.html">The Lab</a></header><main class="notes">${notes}</main>`)}`,
        "../",
      ),
    );
    const content = html`<header class="top"><a class="home" href="index.html">The Lab</a>
<span class="where">${at + 1} of ${pages.length}</span>
${before ? html`<a href="${before.name}.html" rel="prev">‹ ${before.title}</a>` : nothing}
${next ? html`<a href="${next.name}.html" rel="next">${next.title} ›</a>` : nothing}
${page.sentence ? html`<form><label for="sentence">Your sentence</label><input id="sentence" type="text" maxlength="120" autocomplete="off" spellcheck="false"></form>` : nothing}</header><main class="lab" data-page=${page.name}>${columns}</main>`;
    files.set(`${page.name}.html`, documentOf(`${page.title} · The Lab`, page.point, textOf(content)));
  }
  const map = textOf(mapOf(entries, explorer, docs));
  files.set(
    "index.html",
    documentOf(
      "The Lab",
      "Learn attention by doing",
      `<link rel="stylesheet" href="map.css"><header class="top"><a class="home" href="index.html">The Lab</a></header><main class="map">${map}</main>`,
    ),
  );
  return files;
}

const DISK_NOTE = `<p class="disk-note">This page was opened from the disk, where browsers do not run its code: it can be read, and nothing on it can be changed. To try things, run <code>npx heed lab</code>, or put the folder on any web server.</p>`;

/** The explorer on a sentence of the address, read by the small encoder in the page (runtime/own-view.ts). */
const ownPage = (): string =>
  documentOf(
    "Your sentence · The Lab",
    "Your sentence in the explorer, read by a small model in the page",
    `<header class="top"><a class="home" href="../index.html">The Lab</a></header>
<main class="own-view"><h1>Your sentence in the explorer</h1>
<p><span data-text></span> as heed’s small encoder reads it, in this page. Nothing is sent anywhere.</p>
<p class="problem" role="alert" hidden></p>
<attention-view address></attention-view></main>`,
    "../",
    ["attention-view", "own-view"],
  );

const rootFile = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
/** How a page is cited: author and year as LICENSE has them, title, version, license. */
function citation(title: string): string {
  const [, year, author] = /Copyright \(c\) (\d{4}) (.+)/.exec(rootFile("LICENSE"))!;
  const { version, license } = JSON.parse(rootFile("package.json"));
  return `To cite: ${author} (${year}). “${title}”. The Lab of heed ${version}. License: ${license}.`;
}

/** A page around its content; `base` is the address of the Lab's folder, seen from the page, `scripts` the names of its scripts. */
const documentOf = (
  title: string,
  description: string,
  body: string,
  base = "",
  scripts: readonly string[] = ["lab"],
): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeXml(title)}</title>
<meta name="description" content="${escapeXml(description)}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}lab.css">
<script src="${base}disk.js"></script>
${scripts.map((name) => `<script type="module" src="${base}${name}.js"></script>`).join("\n")}
</head>
<body>
${DISK_NOTE}
${body}
<footer class="cite">${escapeXml(citation(title.replace(" · The Lab", "")))}</footer>
</body>
</html>
`;
