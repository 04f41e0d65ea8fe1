/**
 * Examples in doc comments use a few names that they do not declare. The site prints their declarations above the example, and the
 * tests run every example with the same lines.
 */

/** A declaration, by each name that it declares. @type {readonly (readonly [readonly string[], string])[]} */
const DECLARATIONS = [
  [["q", "k", "v"], "const [q, k, v] = [1, 2, 3].map((seed) => randn([1, 2, 4, 8], { seed }));"],
  [["x"], "const x = randn([2, 3, 8], { seed: 4 });"],
  [["text"], 'const text = "the old ship sailed over the old sea to the river. ".repeat(40);'],
  [["encoder"], 'const encoder = await readModel(locateShipped("encoder"));'],
  [["decoder"], 'const decoder = await readModel(locateShipped("decoder"));'],
  [["store"], 'const store = await openStore("run.safetensors");'],
];

/** True if an example uses a name and does not declare it. @param {string} code @param {string} name */
function isFree(code, name) {
  // In a list of names: of a declaration, or of a function's parameters.
  const list = `[^=;()]*\\b${name}\\b[^=;()]*`;
  const declares = new RegExp(
    `\\b(?:const|let|class|function|of) +${name}\\b|\\bconst (?:\\[${list}\\]|\\{${list}\\}) =|\\(${list}\\) =>|\\b${name} =>`,
  );
  return !declares.test(code) && new RegExp(`(?<![.\\w])${name}(?!\\w|\\s*:)`).test(code);
}

/** The declarations of the names that an example uses, one per line; "" if it declares all of them. @param {string} code */
export function preludeOf(code) {
  // Without comments and texts.
  const bare = code.replace(/\/\/.*$/gm, "").replace(/"[^"\n]*"|`[^`]*`/g, '""');
  return DECLARATIONS.filter(([names]) => names.some((name) => isFree(bare, name)))
    .map(([, line]) => `${line}\n`)
    .join("");
}
