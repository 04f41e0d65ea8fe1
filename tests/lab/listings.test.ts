/** The code beside each picture prints the numbers of the picture: TypeScript when it is run here, NumPy when it was run. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { renderCode } from "../../lab/frame/render.ts";
import { loadPage, PAGES } from "../../lab/pages.ts";
import { textOf } from "../../ui/text-of.ts";
import { type Listing, listingsOf, viewOf } from "../golden/lab/listings.ts";

/** What NumPy printed, a file for each page. */
function expectedOf(page: string): readonly { name: string; python: string; printed: string }[] {
  const file = new URL(`../golden/lab/${page}.json`, import.meta.url);
  if (!existsSync(file))
    throw new Error(
      `NumPy was not run on the listings of ${page}: npx node tests/golden/lab/listings.ts ${page} | python3 tests/golden/lab/make.py > tests/golden/lab/${page}.json`,
    );
  return JSON.parse(readFileSync(file, "utf8"));
}
const folder = mkdtempSync(join(tmpdir(), "heed-lab-"));
afterAll(() => rmSync(folder, { recursive: true }));

const root = fileURLToPath(new URL("../../src/", import.meta.url));
/** Where the listings' imports are in a clone. */
const entryOf = (name: string) =>
  pathToFileURL(join(root, name === "heed" ? "index.ts" : `${name.slice(5)}/index.ts`)).href;

const byPage = new Map<string, readonly Listing[]>();
for (const name of PAGES) byPage.set(name, await listingsOf(name));
const all = [...byPage.values()].flat();

test.for([...byPage])(
  "%s: NumPy was run on every listing as it is now, and printed what the page shows",
  ([page, listings]) => {
    const expected = expectedOf(page);
    expect(listings.map(({ python }) => python)).toEqual(expected.map(({ python }) => python));
    expect(listings.map(({ printed }) => printed)).toEqual(expected.map(({ printed }) => printed));
  },
);

test("what the pages show as printed is what the TypeScript listings print", () => {
  // One process runs them all: each writes its lines after a line with its number.
  const files = all.map(({ typescript }, i) => {
    const file = join(folder, `${i}.mts`);
    writeFileSync(
      file,
      typescript.replaceAll(/from\s+"(heed[^"]*)"/g, (_, name) => `from ${JSON.stringify(entryOf(name))}`),
    );
    return `console.log("listing ${i}");\nawait import(${JSON.stringify(pathToFileURL(file).href)});`;
  });
  const main = join(folder, "main.mts");
  writeFileSync(main, `${files.join("\n")}\nprocess.exit(0);\n`);
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--no-warnings", main], {
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  const blocks = stdout.split(/listing \d+\n/).slice(1);
  for (const [i, { name, printed }] of all.entries())
    expect(blocks[i].trimEnd(), name).toBe(printed.trimEnd());
});

test("at each step a line is marked in both languages, and one that computes", async () => {
  for (const name of PAGES) {
    const page = await loadPage(name);
    for (const [i, step] of page.steps.entries()) {
      const markup = textOf(renderCode(page, await viewOf(page.name, step.state, step.predict?.show)));
      const [typescript, python] = markup.split('class="code py"');
      for (const [language, text] of Object.entries({ typescript, python })) {
        const marked = [...text.matchAll(/<mark>(.*?)<\/mark>/gs)].map(([, line]) => line);
        expect(marked.length, `${page.name}, step ${i + 1}: ${language}`).toBeGreaterThan(0);
        for (const line of marked)
          expect(line, `${page.name}, step ${i + 1}: ${language}`).not.toMatch(/^(?:import|from) /);
      }
    }
  }
});

test("no line of a listing is longer than its column", () => {
  for (const { name, python, typescript } of all)
    for (const line of `${python}\n${typescript}`.split("\n"))
      expect(line.length, `${name}: ${line}`).toBeLessThan(53);
});
