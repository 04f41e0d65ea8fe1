/**
 * The shape of the code: lines by folder within the budget (tools/budget.mjs), files and functions that one can read at once, no circle
 * of imports, types included, one declaration for each exported type name, and no export that nobody reads. Read from the syntax trees,
 * so that it needs no build.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, it } from "vitest";
import { BUDGET, budgetTable, codeIn, linesOf } from "../tools/budget.mjs";
import { at, root } from "../tools/setup.mjs";

/** Largest number of lines of a file and of a function. A longer one has a comment `// long: REASON` above it. */
const [FILE, FUNCTION] = [450, 120];

/** Public names that two entry points share, and why. */
const PUBLIC_NAMESAKES: ReadonlyMap<string, string> = new Map([
  [
    "Gradients",
    "heed/backend: what a backend returns for one call; heed/train: what a tape returns for its tensors.",
  ],
  ["Operand", "heed/backend: an input of a call with its shape; heed/nn: a tensor or a number."],
  ["Operation", "heed/backend: the names of operations; heed/nn: an operation that a recorder sees."],
  ["Span", "heed/view: a range of positions; heed/train: a range of tokens of a sequence."],
  ["State", "heed: the state of attention that merges; heed/attention-view: the state of the element."],
]);

/** A node of a syntax tree, as far as the checks read it. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const FOLDERS = ["src", "explorer", "lab", ...(existsSync(at("ui")) ? ["ui"] : []), "bench", "tools"];
const files = FOLDERS.flatMap(codeIn).filter((name) => /(?<!\.d)\.(?:m?ts|m?js)$/.test(name));
const text = (name: string) => readFileSync(at(name), "utf8");
const trees = new Map(
  files.map((name) => [
    name,
    parseAst(text(name), { lang: /ts$/.test(name) ? "ts" : "js" }, name) as unknown as Node,
  ]),
);

/** Calls `visit` on every node below a node. */
function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (child !== null && typeof child === "object" && typeof child.type === "string") walk(child, visit);
}

describe("the budget of lines", () => {
  it.each(budgetTable())("$folder has $lines lines of at most $budget", ({ lines, budget }) => {
    expect(lines).toBeLessThanOrEqual(budget);
    // A budget that nothing needs is no budget.
    expect(budget).toBeLessThanOrEqual(Math.ceil((lines * 1.06) / 100) * 100 + 100);
  });

  it("names every folder of code", () => {
    const folders = readdirSync(at("src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const wanted = [...folders.map(({ name }) => `src/${name}`), ...FOLDERS.slice(1), "examples", "python"];
    expect([...BUDGET.keys()].toSorted()).toEqual(wanted.toSorted());
  });
});

describe("a reader can take in at once", () => {
  it("each file, or its first comment says why it is longer", () => {
    const long = files.filter((name) => linesOf(name) > FILE && !/^\/\/ long: .{10}/m.test(text(name)));
    expect(long.map((name) => `${name}: ${linesOf(name)} lines`)).toEqual([]);
  });

  it("each function, or a comment says why it is longer", () => {
    const long = [...trees].flatMap(([name, tree]) => {
      const code = text(name);
      const line = (offset: number) => code.slice(0, offset).split("\n").length;
      const hits: string[] = [];
      walk(tree, (node) => {
        if (!/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return;
        const [first, last] = [line(node.start), line(node.end)];
        const above = code
          .split("\n")
          .slice(Math.max(0, first - 4), first)
          .join("\n");
        if (last - first + 1 > FUNCTION && !/\/\/ long: .{10}/.test(above))
          hits.push(`${name}:${first}: ${last - first + 1} lines`);
      });
      return hits;
    });
    expect(long).toEqual([]);
  });
});

describe("names and imports", () => {
  it("an exported type name is declared once", () => {
    const declared = new Map<string, string[]>();
    for (const [name, tree] of trees)
      for (const node of tree.body as Node[]) {
        const declaration = node.type === "ExportNamedDeclaration" ? (node.declaration as Node | null) : null;
        if (
          declaration &&
          /^TS(?:Interface|TypeAlias)Declaration$|^ClassDeclaration$/.test(declaration.type)
        ) {
          const id = (declaration.id as Node).name as string;
          declared.set(id, [...(declared.get(id) ?? []), name]);
        }
      }
    const shared = [...declared].filter(([, names]) => new Set(names).size > 1);
    expect(shared.filter(([id]) => !PUBLIC_NAMESAKES.has(id))).toEqual([]);
    expect([...PUBLIC_NAMESAKES.keys()].filter((id) => shared.every(([name]) => name !== id))).toEqual([]);
    for (const id of PUBLIC_NAMESAKES.keys()) expect(declared.get(id), id).toHaveLength(2);
  });

  it("an exported function, class or constant is named in another file", () => {
    const readers = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
      cwd: root,
      encoding: "utf8",
    })
      .split("\n")
      .filter((name) => /\.(?:m?ts|m?js|html)$/.test(name) && existsSync(at(name)));
    const places = new Map<string, Set<string>>();
    for (const name of readers)
      for (const word of new Set(text(name).match(/[\w$]+/g)))
        places.set(word, (places.get(word) ?? new Set()).add(name));
    const alone: string[] = [];
    for (const [name, tree] of trees)
      for (const node of tree.body as Node[]) {
        const declaration = node.type === "ExportNamedDeclaration" ? (node.declaration as Node | null) : null;
        if (!declaration || !/^(?:Function|Class|Variable)Declaration$/.test(declaration.type)) continue;
        const declared = (declaration.declarations as Node[] | undefined) ?? [declaration];
        for (const { id } of declared) {
          const word = (id as Node).name as string | undefined;
          if (word !== undefined && places.get(word)!.size < 2) alone.push(`${name}: ${word}`);
        }
      }
    expect(alone).toEqual([]);
  });

  it("no file imports itself through others, types included", () => {
    const imports = new Map(
      [...trees].map(([name, tree]) => [
        name,
        (tree.body as Node[]).flatMap((node) => {
          const from = (node.source as { value?: unknown } | null | undefined)?.value;
          const path =
            typeof from === "string" && from.startsWith(".") ? join(dirname(name), from) : undefined;
          return path !== undefined && trees.has(path) ? [path] : [];
        }),
      ]),
    );
    const circles: string[] = [];
    const state = new Map<string, "open" | "done">();
    const stack: string[] = [];
    const enter = (name: string) => {
      state.set(name, "open");
      stack.push(name);
      for (const next of imports.get(name)!)
        if (state.get(next) === "open") circles.push([...stack.slice(stack.indexOf(next)), next].join(" → "));
        else if (!state.has(next)) enter(next);
      stack.pop();
      state.set(name, "done");
    };
    for (const name of imports.keys()) if (!state.has(name)) enter(name);
    expect(circles).toEqual([]);
  });
});

describe("the type check", () => {
  it("needs no build: what the build writes is loaded by an address that the compiler does not follow", () => {
    const tracked = execFileSync("git", ["ls-files", "*.ts", "*.mjs"], { cwd: root, encoding: "utf8" });
    const early = tracked
      .split("\n")
      .filter((name) => name && /(?:from |import\()"(?:\.\.\/)+dist\//.test(text(name)));
    expect(early).toEqual([]);
  });
});

describe("browser tests", () => {
  it("a file makes in beforeAll what its afterAll removes: a worker loads a file once and runs both for each group of its tests", () => {
    const specs = readdirSync(at("tests"), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".spec.mjs"),
    );
    expect(specs.length).toBeGreaterThan(20);
    const early = specs.filter((name) => {
      const code = text(join("tests", name));
      return (
        /^test\.afterAll/m.test(code) && /^(?:const|let) .*= (?:await )?(?:mkdtemp|spawn|start)/m.test(code)
      );
    });
    expect(early).toEqual([]);
  });
});
