/**
 * The public surface: every export of every entry point with its declaration, without bodies and comments, in one file that is read in a
 * review. `npm run api` writes it; tests/api.test.ts compares it, so that no export, option or default changes unnoticed. Read from
 * the syntax trees of the source, so that it needs no build: unlike in `.d.ts` files, the defaults of arguments are there.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { entryPoints } from "../build/entry-points.mjs";
import { at, root } from "../setup.mjs";

/** Where the surface is kept. */
export const SURFACE = "tests/golden/api.txt";

/** @typedef {{ type: string, start: number, end: number, [field: string]: any }} Node */
/** @typedef {{ text: string, body: Node[] }} Source */

/** @type {Map<string, Source>} */
const sources = new Map();

/** @param {string} path @returns {Source} */
function sourceOf(path) {
  const cached = sources.get(path);
  if (cached) return cached;
  const text = readFileSync(path, "utf8");
  const { body } = /** @type {{ body: Node[] }} */ (
    /** @type {unknown} */ (parseAst(text, { lang: "ts" }, path))
  );
  const source = { text, body };
  sources.set(path, source);
  return source;
}

/** @param {string} path @param {Node} node */
const target = (path, node) => join(dirname(path), node.source.value);

/**
 * The exported names of a file, each with the declarations it stands for.
 * @param {string} path @returns {Map<string, string[]>}
 */
function exportsOf(path) {
  /** @type {Map<string, string[]>} */
  const names = new Map();
  for (const node of sourceOf(path).body) {
    if (node.type === "ExportAllDeclaration")
      for (const [name, texts] of exportsOf(target(path, node))) names.set(name, texts);
    if (node.type !== "ExportNamedDeclaration") continue;
    for (const { local, exported } of node.specifiers)
      names.set(
        exported.name,
        node.source ? (exportsOf(target(path, node)).get(local.name) ?? []) : declared(path, local.name),
      );
    if (node.declaration) for (const name of namesOf(node.declaration)) names.set(name, declared(path, name));
  }
  return names;
}

/** @param {Node} declaration @returns {string[]} */
const namesOf = (declaration) =>
  declaration.type === "VariableDeclaration"
    ? declaration.declarations.map((/** @type {Node} */ one) => one.id.name)
    : [declaration.id.name];

/**
 * The declarations of a name in a file; those of the file that it is imported from.
 * @param {string} path @param {string} name @returns {string[]}
 */
function declared(path, name) {
  const { text, body } = sourceOf(path);
  /** @type {Node[]} */
  const nodes = [];
  for (const node of body) {
    if (node.type === "ImportDeclaration")
      for (const { local, imported } of node.specifiers)
        if (local.name === name) return exportsOf(target(path, node)).get(imported?.name ?? name) ?? [];
    const declaration = node.declaration ?? node;
    if (/Declaration$|^TSDeclareFunction$/.test(declaration.type) && declaration.id?.name === name)
      nodes.push(declaration);
    if (declaration.type === "VariableDeclaration")
      nodes.push(...declaration.declarations.filter((/** @type {Node} */ one) => one.id.name === name));
  }
  // The signature of an implementation is not public where there are overloads.
  const overloads = nodes.filter(({ type }) => type === "TSDeclareFunction");
  return (overloads.length > 0 ? overloads : nodes).map((node) => signature(text, node));
}

/** A text without comments, on one line. @param {string} text */
const line = (text) =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/([([{]) | (?=[)\]}])/g, "$1")
    .replaceAll(/,(?=[)\]}])/g, "")
    .trim();

/** @param {string} text @param {Node} node @returns {string} */
function signature(text, node) {
  /** @param {number} end */
  const until = (end) => line(text.slice(node.start, end));
  switch (node.type) {
    case "FunctionDeclaration":
      return until(node.body.start);
    case "ClassDeclaration":
      return [
        until(node.body.start),
        ...node.body.body.flatMap((/** @type {Node} */ one) => member(text, one)),
      ].join("\n    ");
    case "TSInterfaceDeclaration":
      return [
        until(node.body.start),
        ...node.body.body.map((/** @type {Node} */ one) =>
          line(text.slice(one.start, one.end)).replace(/;$/, ""),
        ),
      ].join("\n    ");
    case "VariableDeclarator": {
      const { id, init } = node;
      const body = init?.type === "ArrowFunctionExpression" ? init.body.start : node.end;
      return `const ${until(id.typeAnnotation ? id.end : body).replace(/ =>$/, "")}`;
    }
    default:
      return until(node.end).replace(/;$/, "");
  }
}

/** A public member of a class, without its body. @param {string} text @param {Node} node @returns {string[]} */
function member(text, node) {
  if (
    node.key?.type === "PrivateIdentifier" ||
    node.accessibility === "private" ||
    node.type === "StaticBlock"
  )
    return [];
  const before = text.slice(0, node.start).trimEnd();
  const comment = before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : "";
  if (comment.includes("@internal")) return [];
  const isOverload = node.value?.type === "TSEmptyBodyFunctionExpression";
  const end = isOverload ? node.end : (node.value?.body?.start ?? node.value?.start ?? node.end);
  const declaration = line(text.slice(node.start, end));
  return [declaration.replace(/ ?[=;]$/, "")];
}

/** The surface as a text. */
export function surface() {
  const modules = entryPoints.flatMap(({ name, source }) => {
    if (name === undefined || name.startsWith("heed/attention-view/")) return [];
    // The types of the element are in src/.
    const path = name === "heed/attention-view" ? at("src/view/element.ts") : source;
    const [comment] = /\/\*\*[\s\S]*?\*\//.exec(sourceOf(path).text) ?? [""];
    const lines = [...exportsOf(path)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, texts]) => {
        if (texts.length === 0) throw new Error(`${relative(root, path)}: no declaration of ${id}`);
        return texts.map((text) => `  ${text}`).join("\n");
      });
    return [`${name}${/@beta\b/.test(comment) ? " (beta)" : ""}\n${lines.join("\n")}\n`];
  });
  return modules.join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(at(SURFACE), surface());
