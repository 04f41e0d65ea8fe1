/** The static site leads from the explorer to the Lab and back. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { renderSite } from "../../lab/frame/site.ts";
import { htmlFile } from "../../src/view/html.ts";
import { linkToLab } from "../../tools/site.mjs";

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
  expect(led.slice(led.indexOf("<attention-view"))).toBe(text.slice(text.indexOf("<attention-view")));
});

test("a file without an explorer is refused", () => {
  const file = join(folder, "other.html");
  writeFileSync(file, "<p></p>");
  expect(() => linkToLab(file)).toThrow(/no explorer/);
});

test("the map of the Lab leads to the explorer", async () => {
  const files = await renderSite({ explorer: "../explorer/" });
  expect(files.get("index.html")).toContain('href="../explorer/index.html"');
}, 120_000);
