/**
 * README, docs/ and examples/ are correct. Every `ts` block runs: the blocks of a page, in order, are one module that imports
 * the package's entry points, and its output is equal to its `// →` comments, line by line. Every relative link and every
 * path in backticks exists. Every example prints what its opening comment says.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format } from "node:util";
import * as heed from "heed";
import * as nn from "heed/nn";
import * as reference from "heed/reference";
import * as train from "heed/train";
import * as view from "heed/view";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PLOTS } from "../tools/pictures/plots.mjs";
import { FIGURES, PLANS, SCREENSHOTS } from "../tools/pictures.mjs";
import { heed as command } from "./platforms/cli.ts";
import { FIXTURES } from "./runtimes/fixtures.mjs";
import { isBuilt } from "./support/built.ts";
import { inTurn, isItsTurn } from "./support/cases/count.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const read = (name: string) => readFileSync(join(root, name), "utf8");
const inFolder = (folder: string, ending: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);

const chapters = inFolder("docs", ".md").filter((name) => /\/\d\d-/.test(name));
const pages = ["README.md", ...inFolder("docs", ".md")];
const linked = [...pages, "CONTRIBUTING.md", "CHANGELOG.md", "THIRD-PARTY.md"];
const examples = ["", "/cluster", "/course"].flatMap((part) => inFolder(`examples${part}`, ".ts"));

/** What the npm package has: a link to another file would be dead there. */
const PACKED = /^(?:docs|examples)\b|^(?:README|CHANGELOG|THIRD-PARTY)\.md$|^LICENSE$/;

/** A fenced block of a page: its language, its lines, and the line of the page on which they begin, from 0. */
interface Block {
  readonly language: string;
  readonly lines: string[];
  readonly first: number;
}

function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  read(page)
    .split("\n")
    .forEach((line, n) => {
      const fence = /^```(.*)$/.exec(line);
      if (!fence) open?.lines.push(line);
      else if (open) open = undefined;
      else blocks.push((open = { language: fence[1], lines: [], first: n + 1 }));
    });
  return blocks;
}

/** The page whose tables have lines of heed, each with what it gives after an arrow. */
const COURSE = "docs/course.md";

/** The lines of heed in a row of three cells: each with what it gives, if the row says that. Commands are not lines of heed. */
const linesOfRow = (row: string) =>
  [...(/^\|[^|]+\|([^|]+)\|[^|]+\|$/.exec(row)?.[1] ?? "").matchAll(/`([^`]+)`(?: → `([^`]+)`)?/g)]
    .map(([, code, result]) => [code, result] as const)
    .filter(([code]) => !/^(?:heed|node) /.test(code));

/** The module of a page: its `ts` blocks at their line numbers, so that an error names the page's line. */
function moduleOf(page: string): string {
  const lines: string[] = [];
  for (const block of blocksOf(page).filter(({ language }) => language === "ts"))
    block.lines.forEach((line, n) => {
      // A page may import a file of the repository, by a path relative to the page.
      lines[block.first + n] = line.replace(
        /(from ")(\.\.?\/[^"]+)(")/,
        (_, before, path, after) => `${before}${resolve(root, dirname(page), path)}${after}`,
      );
    });
  if (page === COURSE)
    read(page)
      .split("\n")
      .forEach((row, n) => {
        const calls = linesOfRow(row).map(([code, result]) =>
          result === undefined ? `void (${code});` : `console.log(${code}); // → ${result}`,
        );
        if (calls.length > 0) lines[n] = calls.join("\n");
      });
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\nexport {};\n`;
}

/** The expected output of a page. */
const promisedBy = (code: string): string[] =>
  [...code.matchAll(/\/\/ → ?(.*)$/gm)].map(([, text]) => text.trimEnd());

/** What a call throws. */
function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("the call threw nothing");
}

/** Runs a module and returns the lines that it printed. */
async function printedBy(file: string): Promise<string[]> {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...values: unknown[]) => {
    printed.push(...format(...values).split("\n"));
  });
  await import(/* @vite-ignore */ pathToFileURL(file).href);
  return printed.map((line) => line.trimEnd());
}

const folder = mkdtempSync(join(tmpdir(), "heed-docs-"));
const fileOf = (page: string) => join(folder, page.replaceAll("/", "-").replace(".md", ".ts"));
afterAll(() => rmSync(folder, { recursive: true }));

const settings = { ...heed.configure() };
let warnings: string[] = [];
beforeEach(() => {
  warnings = [];
  heed.configure({ onWarning: (text) => warnings.push(text) });
  // The pages are about tiles and kernels, which the reference does not have, and an example has 16,384 positions.
  if (settings.backend === "reference") heed.configure({ backend: "auto", simd: "strict" });
});
afterEach(() => {
  vi.restoreAllMocks();
  heed.configure(settings);
});

const withCode = pages.filter((page) => blocksOf(page).some(({ language }) => language === "ts"));
writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
for (const page of withCode) writeFileSync(fileOf(page), moduleOf(page));

describe("the blocks of a page", () => {
  it.each(withCode)("%s prints what its comments say", async (page) => {
    const promised = promisedBy(moduleOf(page));
    expect(await printedBy(fileOf(page))).toEqual(promised);
    expect(promised.length).toBeGreaterThan(0);
    expect(warnings).toEqual([]);
  });

  it("have a language that the tests know", () => {
    // html, tsx, python and yaml are shown, not run.
    for (const page of pages)
      for (const { language, first } of blocksOf(page))
        expect(["ts", "sh", "text", "html", "tsx", "python", "yaml"], `${page}:${first}`).toContain(language);
  });

  it("are correctly typed", () => {
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: { typeRoots: [join(root, "node_modules/@types")] },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
    expect(stdout).toBe("");
  });
});

describe("README.md", () => {
  const blocks = blocksOf("README.md");
  const commands = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ lines }) => lines)
    .filter((line) => line.startsWith("heed "));

  it.each(commands)("%s", async (line) => {
    expect(await command(line.split(" ").slice(1))).toMatchObject({ code: 0, err: "" });
  });
});

describe("the pictures", () => {
  it.each([...PLOTS])("docs/images/%s is what heed's plots draw", async (name, plot) => {
    expect(await plot({ heed, reference, nn, train, view })).toBe(read(`docs/images/${name}`));
  });

  it("every chapter has a generated one, and every generated one is shown", () => {
    const generated = new Set([FIGURES, PLANS, PLOTS, SCREENSHOTS].flatMap((files) => [...files.keys()]));
    const shown = new Set<string>();
    for (const page of [...chapters, "docs/layers.md", "README.md"]) {
      const images = [...read(page).matchAll(/!\[[^\]]+\]\((?:docs\/)?images\/([\w.-]+)\)/g)].map(
        ([, name]) => name,
      );
      expect(images.filter((name) => generated.has(name)).length, page).toBeGreaterThan(0);
      for (const name of images) shown.add(name);
    }
    expect([...generated].filter((name) => !shown.has(name))).toEqual([]);
  });

  it.each([...FIGURES])("docs/images/%s is what heed figure draws", async (name, args) => {
    const drawing = join(folder, name);
    const at = (arg: string) => (arg.startsWith("models/") ? join(root, arg) : arg);
    expect(await command(["figure", ...args.map(at), "-o", drawing])).toMatchObject({ code: 0 });
    expect(readFileSync(drawing, "utf8")).toBe(read(`docs/images/${name}`));
  });

  it.each([...PLANS])("docs/images/%s is what heed explain --ranks draws", async (name, args) => {
    const drawing = join(folder, name);
    expect(await command(["explain", ...args, "-o", drawing])).toMatchObject({ code: 0 });
    expect(readFileSync(drawing, "utf8")).toBe(read(`docs/images/${name}`));
  });

  it("are each shown on a page", () => {
    const text = pages.map(read).join("\n");
    for (const name of readdirSync(join(root, "docs/images"))) expect(text).toContain(`images/${name})`);
  });
});

it("docs/runtimes.md has a row for each project of tests/runtimes, as its --write wrote it", () => {
  const [, table] = read("docs/runtimes.md").split("<!-- table -->");
  const rows = table.split("<!-- /table -->")[0].match(/^\| (?!runtime or).*$/gm) ?? [];
  const cells = rows.map((row) => row.split(/ \| ?/).map((cell) => cell.replace(/^\| |\|$/g, "").trim()));
  expect(cells.map(([name, right, , setup]) => ({ name, right, setup }))).toEqual(
    FIXTURES.map(({ name, setup = "" }) => ({ name, right: "yes", setup })),
  );
});

describe("the examples", () => {
  const outputOf = (name: string) => {
    const opening = /^\/\*\*([\s\S]*?)\*\//.exec(read(name))?.[1] ?? "";
    const [, output] = opening.split(/ \* Prints:\n/);
    return output.split("\n").flatMap((line) => /^ \* {3}(.*)$/.exec(line)?.slice(1) ?? []);
  };
  // Half of their JavaScript is run below, by turn, and tools/pack.mjs runs each in a new project.
  const typed = isBuilt
    ? examples.filter((name, at) => name.includes("/cluster/") || isItsTurn(at, 3))
    : examples;
  it.each(typed)("%s prints what its opening comment says", async (name) => {
    const promised = outputOf(name);
    expect(promised.length).toBeGreaterThan(0);
    expect(await printedBy(join(root, name))).toEqual(promised);
    expect(warnings).toEqual([]);
  });

  const plain = examples.filter((name) => !name.includes("/cluster/"));
  it.skipIf(!isBuilt).each(inTurn(plain, 2))(
    "%s is also JavaScript, which says how to run it and prints the same",
    async (name) => {
      const file = `dist/${name.replace(/ts$/, "js")}`;
      expect(read(file)).toContain(`\`node node_modules/heed/${file}`);
      expect(read(file)).not.toMatch(/Node ≥ 22/);
      expect(await printedBy(join(root, file))).toEqual(outputOf(name));
    },
  );

  it("are each linked from docs/README.md", () => {
    for (const name of examples) expect(read("docs/README.md")).toContain(`](../${name})`);
  });
});

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** A page without its fenced blocks. */
const proseOf = (page: string) => read(page).replaceAll(/^```[\s\S]*?^```$/gm, "");

describe("the words of a page", () => {
  it.each(linked)("%s has no broken link", (page) => {
    for (const [, target] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path, anchor] = target.split("#");
      const file = path === "" ? join(root, page) : resolve(root, dirname(page), path);
      expect(existsSync(file), `${page}: ${target}`).toBe(true);
      // tools/pack.mjs follows the links of the packed pages.
      if (page !== "CONTRIBUTING.md") expect(relative(root, file), `${page}: ${target}`).toMatch(PACKED);
      if (anchor === undefined) continue;
      const headings = [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
        anchorOf(text),
      );
      expect(headings, `${page}: ${target}`).toContain(anchor);
    }
  });

  it.each(pages)("%s names files that exist", (page) => {
    for (const [, path] of proseOf(page).matchAll(/`((?:src|docs|examples|tests|tools|bench)\/[^`\s*]*)`/g))
      expect(existsSync(join(root, path)), `${page}: ${path}`).toBe(true);
  });

  it.each(chapters)("%s ends with the file to open next", (page) => {
    expect(read(page).trim().split("\n## ").at(-1)).toMatch(/^Open next\n\n[\s\S]*`src\/[^`]+\.[jt]s`/);
  });

  it("docs/README.md lists every chapter, in order", () => {
    const listed = [...read("docs/README.md").matchAll(/\]\((\d\d-[^)]*)\)/g)].map(
      ([, name]) => `docs/${name}`,
    );
    expect(listed).toEqual(chapters);
  });

  it("docs/call.md has a heading for every option of the call, and no other", () => {
    const q = heed.zeros([1, 1]);
    const unknown = { "": 1 } as object;
    const [, names] = /expected one of (.*)$/.exec(
      String(thrownBy(() => heed.scaledDotProductAttention(q, q, q, unknown))),
    )!;
    const headings = [...read("docs/call.md").matchAll(/^## ([a-z]\w*(?:, \w+)*)$/gm)];
    expect(headings.flatMap(([, title]) => title.split(", ")).toSorted()).toEqual(
      names.split(", ").toSorted(),
    );
  });

  it("docs/03-masks.md has a row for every mask and score mod", () => {
    const exported = [...read("src/masks/index.ts").matchAll(/export \{([^}]*)\}/g)]
      .flatMap(([, names]) => names.split(","))
      .map((name) => name.trim())
      .filter((name) => /^[a-z]/.test(name) && !name.startsWith("type "));
    expect(exported.length).toBeGreaterThan(15);
    const rows = read("docs/03-masks.md")
      .split("\n")
      .filter((line) => line.startsWith("|"));
    for (const name of exported)
      expect(
        rows.some((row) => row.startsWith(`| \`${name}(`)),
        name,
      ).toBe(true);
  });
});
