/**
 * The package itself: what it depends on, what it publishes, what its source must not do, and how large its exports are.
 * biome.json says which folder may import which (`noRestrictedImports`, `noImportCycles`); these tests only check that every
 * folder has its block. tools/pack.mjs reads the packed tarball.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, it } from "vitest";
import { entryPoints, importsOf } from "../tools/build/entry-points.mjs";
import { at, NODES, root } from "../tools/setup.mjs";
import { LIMITS, sizes } from "../tools/size.mjs";
import { itBuilt } from "./support/built.ts";

const manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));

/** Every file in a folder and its subfolders, as paths inside the repository. */
function filesIn(folder: string): string[] {
  return readdirSync(at(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
}

const sources = filesIn("src").filter((name) => /\.(ts|js)$/.test(name));
const shipped = sources.filter((name) => !name.includes(".test."));
const read = (name: string) => readFileSync(at(name), "utf8");

/** The code of a file without comments and without the text of plain strings. Template strings stay: they may hold code. */
function codeOf(name: string): string {
  return read(name).replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g,
    (match) => (match.startsWith("/") ? " " : '""'),
  );
}

/** The files of `names` whose code matches. */
const matching = (names: string[], pattern: RegExp) => names.filter((name) => pattern.test(codeOf(name)));

describe("package.json", () => {
  it("has no runtime dependency", () => {
    for (const kind of ["dependencies", "optionalDependencies", "bundleDependencies"])
      expect(manifest[kind], kind).toBeUndefined();
    // A program that uses the React component has React already. heed/cluster calls MPI through koffi, readPicture jpeg-js for a JPEG.
    const peers = ["jpeg-js", "koffi", "react"];
    expect(Object.keys(manifest.peerDependencies)).toEqual(peers);
    expect(manifest.peerDependenciesMeta).toEqual(
      Object.fromEntries(peers.map((name) => [name, { optional: true }])),
    );
  });

  it("has the version, license and repository fields of models/package.json", () => {
    const models = JSON.parse(read("models/package.json"));
    const { repository, ...same } = models;
    for (const field of ["version", "license", "homepage", "bugs"])
      expect(same[field], field).toEqual(manifest[field]);
    expect(repository).toEqual(manifest.repository && { ...manifest.repository, directory: "models" });
    const fields = [manifest.repository, manifest.homepage, manifest.bugs];
    expect(fields.filter((field) => field !== undefined).length, "all of them or none").toBeOneOf([
      0,
      fields.length,
    ]);
  });

  it("has no script that npm runs automatically", () => {
    const lifecycle = /^(pre|post)|^(install|prepare|publish|pack|prepublishOnly|dependencies)$/;
    expect(Object.keys(manifest.scripts).filter((name) => lifecycle.test(name))).toEqual([]);
  });

  it("pins every development dependency to one version", () => {
    for (const [name, version] of Object.entries(manifest.devDependencies))
      expect(version, name).toMatch(/^(npm:[a-z-]+@)?\d+\.\d+\.\d+$/);
  });

  it("agrees with the lock file, which names no registry", () => {
    const lock = JSON.parse(read("package-lock.json"));
    expect(lock.packages[""].devDependencies).toEqual(manifest.devDependencies);
    for (const [name, entry] of Object.entries<{ resolved?: string; integrity?: string; version?: string }>(
      lock.packages,
    )) {
      expect(entry.resolved, name).toBeUndefined();
      if (name !== "") expect(entry.integrity, name).toMatch(/^sha512-/);
    }
  });

  it("pins the Node that the platform checks call 24", () => {
    expect(manifest.devDependencies.node).toBe(NODES.get(24));
  });

  it("has a source for every entry point", () => {
    for (const { source } of entryPoints) expect(existsSync(source), relative(root, source)).toBe(true);
    expect(existsSync(at("src/cli/main.ts"))).toBe(true);
  });

  itBuilt("exports only files that the build makes", () => {
    const targets = Object.values<string | Record<string, string>>(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [target] : Object.values(target),
    );
    for (const target of [...targets, ...Object.values<string>(manifest.bin)])
      expect(existsSync(at(target)), target).toBe(true);
  });

  it("tsconfig.json maps every entry point to its source", () => {
    const { paths } = JSON.parse(read("tsconfig.json")).compilerOptions;
    const wanted = entryPoints.filter(({ name }) => name !== undefined);
    expect(
      Object.fromEntries(wanted.map(({ name, source }) => [name, [`./${relative(root, source)}`]])),
    ).toEqual(paths);
  });
});

describe("the API reference", () => {
  it("has a page for each module", () => {
    const { entryPoints: pages } = JSON.parse(read("tools/site/typedoc.json"));
    const wanted = entryPoints.flatMap(({ name, source }) =>
      // The wrappers export one component each; the element's types are in src/.
      name === undefined || name.startsWith("heed/attention-view/")
        ? []
        : name === "heed/attention-view"
          ? "src/view/element.ts"
          : relative(root, source),
    );
    expect(pages.map((page: string) => page.replace("../../", "")).sort()).toEqual(wanted.sort());
  });
});

/** The part of a Biome override that the tests read. */
interface Rules {
  style?: { noRestrictedImports?: { options: { patterns: { group: string[]; message: string }[] } } };
}

describe("the source", () => {
  it("imports no package at run time", () => {
    const foreign = shipped.flatMap((name) =>
      importsOf(read(name))
        .filter((from) => !from.startsWith("./") && !from.startsWith("../") && !from.startsWith("node:"))
        .map((from) => `${name}: ${from}`),
    );
    expect(foreign).toEqual([]);
  });

  it("imports Node's modules statically in the command line, its server and the worker threads of cluster and locks only", () => {
    const builtin = shipped.filter(
      (name) =>
        !/^src\/(cli|server)\/|^src\/(?:cluster\/mpi|io\/filesystem)\/[\w-]+\.js$/.test(name) &&
        /(?:^|\n)(?:import|export)\s(?!type\s)[^;]*?from\s*"node:/.test(read(name)),
    );
    expect(builtin).toEqual([]);
  });

  it("computes the rows of pictures with heed/reference: no other exponential of a score", () => {
    const pictures = [...shipped, ...filesIn("explorer"), ...filesIn("ui")].filter(
      (name) => /^(src\/(store|view)|explorer|ui)\//.test(name) && !name.includes(".test."),
    );
    expect(matching(pictures, /\bMath\.exp\(/).toSorted()).toEqual([
      "explorer/app/panels/inspector.ts", // e^entropy
      "explorer/canvas/gestures.ts", // zoom
      "explorer/state/tables.ts", // e^entropy
      "explorer/views/lines/layout.ts", // length of a line
      "explorer/views/lines/pointing.ts", // zoom
      "src/store/measures/measures.ts", // e^entropy
      "src/store/sentences/report.ts", // whether given weights are logarithms
    ]);
  });

  it("names no global of Node's in code that pages run", () => {
    const anywhere = shipped.filter((name) => !/^src\/(cli|server|io|models|cluster)\//.test(name));
    expect(
      matching(anywhere, /(?<![.\w])(?:process\s*\.|Buffer\b|require\s*\(|__dirname|setImmediate)/),
    ).toEqual([]);
  });

  it("runs no code made from text, starts no process, and opens no connection", () => {
    expect(matching(shipped, /\beval\s*\(|\bnew\s+Function\b|(?<![.\w])Function\s*\(/)).toEqual([]);
    const text = (pattern: RegExp) => shipped.filter((name) => pattern.test(read(name)));
    expect(text(/["'`](?:node:)?(?:vm|tls|https|http2|dgram|dns|inspector)["'`]/)).toEqual([]);
    // The local server listens, and names the type of a socket; the command line opens the user's browser.
    expect(text(/["'`](?:node:)?(?:net|http)["'`]/)).toEqual([
      "src/server/responses.ts",
      "src/server/server.ts",
    ]);
    expect(text(/["'`](?:node:)?child_process["'`]/)).toEqual([
      "src/cli/support/explorer/explore.ts",
      // The GPU is examined in a process whose warnings are not printed.
      "src/cli/support/run/device.ts",
    ]);
    // What `heed pull` asks for, and nothing else, comes from elsewhere.
    const local = shipped.filter((name) => name !== "src/models/hub/client.ts");
    expect(matching(local, /\bfetch\s*\(|\bXMLHttpRequest\b|\bnew\s+WebSocket\b/)).toEqual([]);
  });

  it("draws no unseeded random number", () => {
    expect(matching(shipped, /Math\s*\.\s*random|getRandomValues|randomUUID/)).toEqual([]);
  });

  it("is erased, not compiled: no enum, no namespace, no parameter property", () => {
    expect(matching(sources, /(?:^|\n)\s*(?:export\s+)?(?:const\s+)?(?:enum|namespace)\s+\w+\s*\{/)).toEqual(
      [],
    );
  });

  it("has no doc comment inside a template: the build removes lines that look like one", () => {
    const texts = (node: unknown): string[] => {
      if (typeof node !== "object" || node === null) return [];
      const { type, value } = node as { type?: string; value?: { raw: string } };
      return type === "TemplateElement" && value ? [value.raw] : Object.values(node).flatMap(texts);
    };
    const commentsIn = (code: string) =>
      texts(parseAst(code, { lang: "ts" })).filter((text) => /^[ \t]*\/\*\*/m.test(text));
    expect(commentsIn("const a = `one\n/** two */\n`;")).toHaveLength(1);
    const scripts = shipped.filter((name) => read(name).includes("`"));
    expect(scripts.filter((name) => commentsIn(read(name)).length > 0)).toEqual([]);
  });

  it("keeps folders and files small enough to read", () => {
    const folders = ["ui", "explorer", "lab", "tests", "tools", "bench"];
    const files = [...sources, ...folders.flatMap(filesIn)].filter(
      (name) => /\.(ts|mjs|js)$/.test(name) && !name.includes("/node_modules/"),
    );
    const perFolder = new Map<string, number>();
    for (const name of files.filter((name) => !name.includes(".test."))) {
      const folder = name.split("/").slice(0, -1).join("/");
      perFolder.set(folder, (perFolder.get(folder) ?? 0) + 1);
    }
    // More than about fifteen files are grouped by subject. The commands are one subject, a file each.
    perFolder.delete("src/cli/commands");
    expect([...perFolder].filter(([, count]) => count > 16)).toEqual([]);
    const lines = (name: string) => read(name).split("\n").length;
    const measured = files.filter((name) => !name.startsWith("lab/"));
    expect(measured.map((name) => [name, lines(name)] as const).filter(([, count]) => count > 700)).toEqual(
      [],
    );
    // A family of hyphenated names is a folder: lines-axis, lines-edges, lines-values → lines/.
    const families = new Map<string, number>();
    for (const name of files.filter((name) => !name.includes(".test."))) {
      const prefix = /^(.*\/[a-z]+)-[a-z-]+\.(?:ts|mjs|js)$/.exec(name)?.[1];
      if (prefix) families.set(prefix, (families.get(prefix) ?? 0) + 1);
    }
    expect([...families].filter(([, count]) => count > 4)).toEqual([]);
  });

  it("opens every file with a comment that says what it is", () => {
    const bare = shipped.filter((name) => !/^(?:#![^\n]*\n)?\s*(?:\/\*\*|\/\/)/.test(read(name)));
    expect(bare).toEqual([]);
  });

  const overrides: { includes: string[]; linter: { rules: Rules } }[] = JSON.parse(
    read("biome.json"),
  ).overrides;
  const imports = overrides.flatMap(({ includes, linter }) => {
    const rule = linter.rules.style?.noRestrictedImports;
    return rule ? [{ includes, ...rule.options.patterns[0] }] : [];
  });

  it("has import rules for every folder", () => {
    const folders = new Set(shipped.map((name) => name.split("/").slice(0, -1).join("/")));
    folders.delete("src");
    const without = [...folders].filter(
      (folder) =>
        !imports.some(({ includes }) =>
          includes.some((glob) => {
            const base = glob.replace(/(?:\/\*+)+$/, "");
            return glob === `${folder}/*` || (glob.endsWith("/**") && `${folder}/`.startsWith(`${base}/`));
          }),
        ),
    );
    expect(without).toEqual([]);
  });

  it("keeps the import rules of CONTRIBUTING.md and biome.json the same", () => {
    const written = [
      ...read("CONTRIBUTING.md").matchAll(/^\| `(src\/\w+|ui|explorer|lab)` \|[^|]*\|([^|]*)\|$/gm),
    ].map(([, folder, cell]) => [folder, [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)] as const);
    const enforced = written.map(([folder]) => {
      const groups = imports.filter(({ includes }) =>
        includes.some((glob) => glob.replace(/(?:\/\*+)+$/, "") === folder),
      );
      expect(groups.length, folder).toBeGreaterThan(0);
      const allowed = groups.map(({ group }) =>
        group
          .filter((glob) => glob.startsWith("!"))
          .map((glob) => glob.replace(/^!(?:\.\.\/)+(?:src\/)?/, "").replace(/\/\*\*$/, "")),
      );
      for (const one of allowed) expect(one.toSorted(), folder).toEqual(allowed[0].toSorted());
      return [folder, allowed[0]] as const;
    });
    const sorted = (rules: readonly (readonly [string, readonly string[]])[]) =>
      rules.map(([folder, names]) => [folder, names.toSorted()]);
    expect(sorted(written)).toEqual(sorted(enforced));
    expect(written.length).toBeGreaterThan(10);
  });
});

describe("the size of an entry point", () => {
  it("is limited as docs/runtimes.md says", () => {
    const [, table] = /<!-- sizes -->([\s\S]*)<!-- \/sizes -->/.exec(read("docs/runtimes.md")) ?? [];
    const rows = [...(table ?? "").matchAll(/^\| ([^|]+) \|[^|]+\| ([\d.]+) kB \|$/gm)];
    expect(rows.length).toBeGreaterThan(4);
    for (const [row, name, size] of rows) expect(LIMITS[name], row).toBe(Number(size) * 1000);
  });

  itBuilt("stays within the size table of tools/size.mjs", async () => {
    const table = await sizes();
    expect(table.filter(({ name }) => name.startsWith("the Lab, ")).length).toBe(30);
    for (const { name, gzip, limit } of table)
      expect(gzip, `${name}: bytes, gzip`).toBeLessThanOrEqual(limit);
  });
});
