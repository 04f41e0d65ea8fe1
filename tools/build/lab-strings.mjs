/**
 * A translation of the Lab is one file: a catalog, JSON of English text → translation. `node tools/build/lab-strings.mjs` prints the
 * catalog of all visible strings, each with the translation ""; `node tools/build/lab.mjs FOLDER CATALOG` builds the Lab with one. The
 * strings are read from the syntax trees of the pages, so that pages are written as plain text and load no catalog. `{0}`, `{1}` … are
 * the values in a text, which a translation may put in another order; an entry that is missing or "" stays English.
 */
import { readdirSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { at } from "../setup.mjs";

/** @typedef {{ type: string, start: number, end: number, [field: string]: any }} Node */

/** Files with visible strings. */
const SOURCES =
  /[\\/]lab[\\/](?!.*(?:[\\/](?:captures|others|sentences|style|packed|layer)|listing|\.test)\.ts).*\.ts$/;
/** Properties whose strings are code, addresses or names of states. */
const HIDDEN = new Set(
  "typescript python printed highlight names address inputs answer start common".split(" "),
);

/** Names of styles, of which a list is no text. */
const STYLES =
  /^(?:(?:\{\d+\}|[tlf](?:q|k|v|w|b|third|second|line|paper|hover)?|s\d+|bold|mono|end|mid|halo|soft|thin|dash|thick|grip|none|serif|free|cursor|link|solid|third|second|drag|across)(?:\{\d+\})*(?:\s+|$))+$/;
/** Lines of NumPy. */
const PROGRAM = /^[^.“?:]*(?:[@*]|\w\(|<=|>=)[^“?:]*$|===/;

/** Marks a literal, or a list of them, as text: single words are otherwise names of states. */
const TEXT = /\/\* text \*\/ $/;
/** Functions with arguments that are text: the third of `text`, the first of `check`, units of `numberOf`. */
const LABELS = new Map([
  ["text", [2]],
  ["check", [0]],
  ["numberOf", [1, 2]],
]);
/** @param {Node} node */
const isValue = (node) => node?.type === "Literal";

/** Text as it is seen, without markup. @param {string} text */
const seenText = (text) => text.replace(/<[^<>]*>|<[a-z][^<>]*$|^[^<>]*"\s*\/?>/g, " ");
/** Words in attributes that are read aloud or shown. @param {string} text */
const attributes = (text) =>
  [...text.matchAll(/(?:aria-label|aria-valuetext|title|placeholder|content)="([^"]*)/g)]
    .map(([, value]) => value)
    .join(" ");
/** @param {string} text */
const hasWords = (text) => /\p{L}{2}/u.test(seenText(text)) || /\p{L}{2}/u.test(attributes(text));

/** Whether a literal is text: it has a space or a capital letter, and is neither a path, a selector nor a style. @param {string} text */
const isText = (text) =>
  /\p{L}{2}/u.test(text) &&
  (/\s/.test(text) || /^[A-Z][a-z]+[.:?!]?$/.test(text)) &&
  !STYLES.test(text.trim()) &&
  !PROGRAM.test(text) &&
  !/^[.#[][\w-]|[{};]$|^\w+\(|^[\w-]+="|^(?:[a-z-]+ )*[a-z]+-[a-z]+$/.test(text) &&
  hasWords(text);

/**
 * The visible strings of a module: templates and literals, outermost first.
 * @param {string} code
 * @param {(node: Node, key: string, holes: Node[]) => void} report
 */
function visit(code, report) {
  /** Labels of values. @type {Set<Node>} */
  const labels = new Set();
  /** @param {Node} node @param {boolean} shown true where a single word is text, too: in a value of a template's text, and after TEXT */
  const walk = (node, shown) => {
    if (node.type === "ImportDeclaration" || (node.type.startsWith("TS") && !/Expression$/.test(node.type)))
      return;
    if (node.type === "Property" && HIDDEN.has(node.key.name)) return;
    if (node.type === "Property" && (node.key.name === "columns" || node.key.name === "rows"))
      return walk(node.value, true);
    if (node.type === "Property" && !node.computed) return walk(node.value, shown);
    if (TEXT.test(code.slice(Math.max(0, node.start - 11), node.start))) shown = true;
    // Keys of objects and values that are compared.
    if (node.type === "MemberExpression" && isValue(node.property)) return walk(node.object, shown);
    if (node.type === "BinaryExpression" && /^[!=]==$/.test(node.operator))
      return [node.left, node.right].filter((part) => !isValue(part)).forEach((part) => walk(part, false));
    if (node.type === "CallExpression") {
      if (/^(?:querySelector(?:All)?|closest|matches)$/.test(node.callee.property?.name ?? ""))
        return walk(node.callee, false);
      const place = LABELS.get(node.callee.name);
      return [node.callee, ...node.arguments].forEach((part, i) =>
        walk(part, place?.includes(i - 1) ?? false),
      );
    }
    // A value and its label, in a list of such pairs.
    if (node.type === "ArrayExpression")
      for (const pair of node.elements)
        if (pair?.type === "ArrayExpression" && pair.elements.length === 2 && pair.elements.every(isValue)) {
          labels.add(pair.elements[1]);
        }
    shown ||= labels.has(node);
    if (node.type === "TaggedTemplateExpression") {
      if (node.tag.name === "html" || node.tag.name === "svg") template(node.quasi, true);
      return;
    }
    if (node.type === "TemplateLiteral") return template(node, shown);
    if (node.type === "Literal" && typeof node.value === "string") {
      if (isText(node.value) || (shown && /^\p{L}{2}/u.test(node.value) && !node.value.includes("===")))
        report(node, node.value, []);
      return;
    }
    const inside =
      shown && /^(?:Conditional|Logical|Parenthesized|ArrowFunction|Array|TSAs)Expression$/.test(node.type);
    for (const [name, value] of Object.entries(node)) {
      const part =
        inside &&
        name !== "test" &&
        !(node.type === "LogicalExpression" && name === "left" && node.operator === "&&");
      for (const child of Array.isArray(value) ? value : [value])
        if (child !== null && typeof child === "object" && typeof child.type === "string") walk(child, part);
    }
  };
  /** @param {Node} node @param {boolean} shown */
  const template = (node, shown) => {
    const texts = node.quasis.map((/** @type {Node} */ quasi) => quasi.value.cooked);
    const key = texts.reduce(
      (/** @type {string} */ all, /** @type {string} */ text, /** @type {number} */ i) =>
        `${all}{${i - 1}}${text}`,
    );
    const isShown =
      hasWords(key) &&
      (shown || /[<>]|\s/.test(texts.join(""))) &&
      !/^[\w-]+="|^\s*[MLm]\{/.test(key) &&
      !STYLES.test(key.trim());
    if (isShown) report(node, key, node.expressions);
    let before = "";
    node.expressions.forEach((/** @type {Node} */ expression, /** @type {number} */ i) => {
      before += texts[i];
      const inTag = before.lastIndexOf("<") > before.lastIndexOf(">");
      walk(expression, (shown || isShown) && !inTag);
    });
  };
  walk(/** @type {any} */ (parseAst(code, { lang: "ts" })), false);
}

/** All visible strings, in the order of the files. @returns {string[]} */
export function labStrings() {
  const keys = new Set();
  for (const name of readdirSync(at("lab"), { recursive: true, encoding: "utf8" }).toSorted())
    if (SOURCES.test(`/lab/${name}`))
      visit(readFileSync(at(join("lab", name)), "utf8"), (_, key) => keys.add(key));
  return [...keys];
}

/**
 * The code of a module with the translations in place of the strings.
 * @param {string} code
 * @param {Readonly<Record<string, string>>} catalog
 */
export function translated(code, catalog) {
  /** @type {Map<number, { node: Node, text: string, holes: Node[] }>} */
  const targets = new Map();
  visit(code, (node, key, holes) => {
    if (catalog[key]) targets.set(node.start, { node, text: catalog[key], holes });
  });
  const starts = [...targets.keys()].toSorted((a, b) => a - b);
  /** @param {number} from @param {number} to @returns {string} */
  const emit = (from, to) => {
    let result = "";
    let done = from;
    for (const start of starts)
      if (start >= done && start < to) {
        const { node, text, holes } = /** @type {{ node: Node, text: string, holes: Node[] }} */ (
          targets.get(start)
        );
        result +=
          code.slice(done, start) +
          (node.type === "Literal" ? JSON.stringify(text) : templateOf(text, holes));
        done = node.end;
      }
    return result + code.slice(done, to);
  };
  /** @param {string} text @param {Node[]} holes */
  const templateOf = (text, holes) => {
    const named = new Set();
    const parts = text.split(/\{(\d+)\}/).map((part, i) => {
      if (i % 2 === 0) return part.replace(/[\\`$]/g, "\\$&");
      const hole = holes[Number(part)];
      if (hole === undefined) throw new Error(`the text has no value {${part}}: ${text}`);
      named.add(part);
      return `\${${emit(hole.start, hole.end)}}`;
    });
    if (named.size !== holes.length)
      throw new Error(`a translation has all ${holes.length} values of its text: ${text}`);
    return `\`${parts.join("")}\``;
  };
  return emit(0, code.length);
}

/** Translates the modules of a bundle. @param {Readonly<Record<string, string>>} catalog */
export const translation = (catalog) => ({
  name: "heed-lab-strings",
  /** @param {string} code @param {string} id */
  transform: (code, id) => (SOURCES.test(id) ? translated(code, catalog) : undefined),
});

/** Translates the modules that this process imports from now on. @param {Readonly<Record<string, string>>} catalog */
export const translateImports = (catalog) =>
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      return SOURCES.test(url) ? { ...loaded, source: translated(String(loaded.source), catalog) } : loaded;
    },
  });

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  console.log(JSON.stringify(Object.fromEntries(labStrings().map((key) => [key, ""])), undefined, 1));
