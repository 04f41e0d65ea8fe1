/** The Lab as static files: a map, a page each, and their style. The markup is complete before any script runs. */
import { COMPUTATIONS } from "../computations.ts";
import { PAGES } from "../pages.ts";
import { html, type Markup, raw } from "./markup.ts";
import { type Change, changeOf, type Page, type State, type View } from "./page.ts";
import { type Entry, renderStage, renderText } from "./render.ts";
import { style } from "./style.ts";

/** Where the explorer is, seen from a page of the Lab. */
export interface SiteOptions {
  /** Address of the explorer, relative to the pages. */
  readonly explorer: string;
  /** Address of the documentation, relative to the pages; where it is missing, the map has no link to it. */
  readonly docs?: string;
}

/** The text column and the picture of a page, from numbers that heed computes now. */
export async function renderPage(
  page: Page,
  around: { readonly next?: Entry; readonly explorer: string },
): Promise<Markup> {
  const { compute } = await COMPUTATIONS[page.name]();
  const view = async (change: Change<State>, before = page.initial): Promise<View> => {
    const checked = page.check({ ...before, ...changeOf(change, before) } as State);
    return { state: checked, numbers: await compute(checked), wide: true, used: false };
  };
  const first = await view(page.steps[0].state);
  const views: View[] = [];
  const stills: View[] = [];
  for (const { state, predict, still = predict?.show } of page.steps) {
    const first = await view(state);
    views.push(first);
    stills.push(still === undefined ? first : await view(still, first.state));
  }
  return html`<div class="columns">${renderText(page, views, stills, first, around)}${renderStage(page, first)}</div>`;
}

/** Every file of the Lab by its name, scripts left out. */
export async function renderSite({ explorer, docs }: SiteOptions): Promise<Map<string, string>> {
  const files = new Map<string, string>([["lab.css", style(":root")]]);
  files.set("index.html", documentOf("The Lab", "Learn attention by doing", map(explorer, docs), ""));
  for (const [at, entry] of PAGES.entries()) {
    const page = await entry.load();
    const body = await renderPage(page, { next: PAGES[at + 1], explorer });
    const bar = html`<header class="top"><a class="home" href="index.html">The Lab</a>
<span class="where">${at + 1} of ${PAGES.length}</span>
${at > 0 && html`<a href="${PAGES[at - 1].name}.html" rel="prev">‹ ${PAGES[at - 1].title}</a>`}
${at + 1 < PAGES.length && html`<a href="${PAGES[at + 1].name}.html" rel="next">${PAGES[at + 1].title} ›</a>`}
${page.sentence !== undefined && html`<form><label for="sentence">Your sentence</label><input id="sentence" type="text" maxlength="120" autocomplete="off" spellcheck="false"></form>`}</header>`;
    files.set(
      `${page.name}.html`,
      documentOf(
        page.title,
        page.point,
        html`${bar}<main class="lab" data-page="${page.name}">${body}</main>`,
        page.name,
      ),
    );
  }
  return files;
}

function map(explorer: string, docs?: string): Markup {
  return html`<header class="top"><a class="home" href="index.html">The Lab</a></header><main class="map"><h1>The Lab</h1>
<p class="lead">Attention, by doing. Every number on these pages is computed by heed while you watch: change something, and see what it does.</p>
<p class="small"><a href="${explorer}index.html">The explorer</a> shows all heads of a real model on the same sentence.${docs !== undefined && html` <a href="${docs}">The documentation</a> has the same as chapters.`}</p>
<ol>${PAGES.map(
    (
      entry,
    ) => html`<li data-page="${entry.name}"><div><h2><a href="${entry.name}.html">${entry.title}</a></h2><p>${entry.point}</p>
${entry.needs.length > 0 && html`<p class="needs">After ${entry.needs.map((name) => PAGES.find((one) => one.name === name)!.title).join(", ")}.</p>`}</div>
<p class="meta">${entry.minutes} minutes<br><span data-done></span></p></li>`,
  )}</ol></main>`;
}

function documentOf(title: string, description: string, body: Markup, name: string): string {
  return html`${raw("<!doctype html>")}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name === "" ? title : `${title} · The Lab`}</title>
<meta name="description" content="${description}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="lab.css">
<script type="module" src="lab.js"></script>
</head>
<body>
${body}
</body>
</html>
`.text;
}
