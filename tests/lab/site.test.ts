/** The static site leads from the explorer to the Lab and back. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { mapOf } from "../../lab/frame/documents/map.ts";
import { loadPages } from "../../lab/frame/site.ts";
import { loadNotes } from "../../lab/pages.ts";
import { htmlFile } from "../../src/view/html.ts";
import { brokenLinks, fromFolder, linkCommands } from "../../tools/site/links.mjs";
import { linkToLab } from "../../tools/site.mjs";
import { textOf } from "../../ui/text-of.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-site-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a page of the explorer has one link to the Lab, above the element, and its scripts are as they were", async () => {
  const file = join(folder, "page.html");
  const module = 'document.createElement("p").innerHTML = "<attention-view address>";';
  const text = await htmlFile({ module, data: new Uint8Array(8), name: "a.safetensors" });
  writeFileSync(file, text);
  linkToLab(file);
  const led = readFileSync(file, "utf8");
  expect(led.indexOf('href="../lab/index.html"')).toBeLessThan(led.indexOf("<attention-view address"));
  expect(led.match(/lab\/index\.html/g)?.length).toBe(1);
  expect(led).toContain('href="../index.html"');
  expect(led.slice(led.indexOf("<attention-view"))).toBe(text.slice(text.indexOf("<attention-view")));
});

test("a file without an explorer is refused", () => {
  const file = join(folder, "other.html");
  writeFileSync(file, "<p></p>");
  expect(() => linkToLab(file)).toThrow(/no explorer/);
});

test("the map of the Lab leads to the explorer, and in the site to the documentation", async () => {
  const pages = await loadPages();
  const notes = await Promise.all(pages.map(({ name }) => loadNotes(name)));
  const entries = pages.map((page, at) => ({ ...page, ...notes[at], drawing: "<svg></svg>" }));
  const map = textOf(mapOf(entries, "../explorer/", "../index.html"));
  expect(map).toContain('href="../explorer/index.html"');
  expect(map).toContain('href="../index.html"');
  // Each page is a box of both pictures, clear of the others.
  for (const picture of map.match(/<svg class="(?:wide|narrow)".*?<\/svg>/gs)!) {
    const boxes = [
      ...picture.matchAll(/href="(\w+)\.html"><rect x="([\d.]+)" y="([\d.]+)" width="(\d+)" height="(\d+)"/g),
    ];
    expect(boxes.map(([, name]) => name)).toEqual(pages.map(({ name }) => name));
    // A line leads to each page but the first, and none from "Words" to "Learned": one goes by "Saturation".
    const boxAt = (x: string, y: string) =>
      boxes.findIndex(
        ([, , left, top, width, height]) =>
          +x >= +left && +x <= +left + +width && +y >= +top && +y <= +top + +height,
      );
    const lines = [...picture.matchAll(/<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"/g)].map(
      ([, x1, y1, x2, y2]) => `${pages[boxAt(x1, y1)].name} ${pages[boxAt(x2, y2)].name}`,
    );
    const ends = new Set(lines.map((one) => one.split(" ")[1]));
    expect([...ends].toSorted()).toEqual(
      pages
        .slice(1)
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(lines).toContain("saturation learned");
    expect(lines).not.toContain("words learned");
    for (const [i, [, , x, y, width, height]] of boxes.entries())
      for (const [, , left, top] of boxes.slice(i + 1))
        expect(Math.abs(+x - +left) > +width || Math.abs(+y - +top) > +height).toBe(true);
  }
});

test("the navigation of a page in a folder leads to the Lab, and a link that leads nowhere is found", () => {
  const site = join(folder, "site");
  for (const name of ["lab", "classes"]) mkdirSync(join(site, name), { recursive: true });
  const links = ["lab/index.html"];
  const write = (name: string, markup: string) => writeFileSync(join(site, name), markup);
  write("lab/index.html", '<p id="a&amp;b">The Lab</p>');
  write("index.html", fromFolder('<a href="lab/index.html">Lab</a>', "index.html", links));
  write(
    "classes/one.html",
    `${fromFolder('<a href="lab/index.html">Lab</a>', "classes/one.html", links)}<a href="../lab/index.html#a&amp;b">b</a><a href="#v1?x=1">c</a><a href="https://example.org">d</a>`,
  );
  expect(brokenLinks(site)).toEqual([]);
  write(
    "classes/two.html",
    '<a href="lab/index.html">Lab</a><img src="none.png"><a href="one.html#none">one</a>',
  );
  expect(brokenLinks(site)).toEqual([
    "classes/two.html: lab/index.html",
    "classes/two.html: none.png",
    "classes/two.html: one.html#none",
  ]);
});

test("a command that opens a page of the Lab is a link to that page", () => {
  expect(
    linkCommands("<p><code>heed lab words</code>, <code>heed lab PAGE</code></p>", "documents/a.html"),
  ).toBe('<p><a href="../lab/words.html"><code>heed lab words</code></a>, <code>heed lab PAGE</code></p>');
});
