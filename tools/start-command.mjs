/**
 * The command that `npm start` runs for its arguments: without a text the five captured sentences in the explorer (`heed view`), with
 * one, or with an option of printing, `heed show`. Options of serving and of the engine change neither.
 */
import { parseArgs } from "node:util";

/** Options that do not decide what is shown. */
const NEUTRAL = /** @type {const} */ ({
  port: { type: "string" },
  host: { type: "string" },
  model: { type: "string" },
  "no-open": { type: "boolean" },
  all: { type: "boolean" },
  view: { type: "boolean" },
  simd: { type: "string" },
  threads: { type: "string" },
});
/** Engine options of `heed show`, and the variables by which `heed view` has them. */
const VARIABLES = /** @type {const} */ ({ simd: "HEED_SIMD", threads: "HEED_THREADS" });

/**
 * @param {readonly string[]} words the arguments of `npm start`
 * @returns {{ args: string[], env: Record<string, string> }} the arguments of `heed`, and variables to set
 */
export function startCommand(words) {
  const prints = words.some((word) => ["--no-view", "--json", "--help", "-h"].includes(word));
  const args = words.filter((word) => word !== "--no-view" && word !== "--view");
  const { tokens } = parseArgs({
    args,
    options: NEUTRAL,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const isNeutral = tokens.every((token) => token.kind === "option" && token.name in NEUTRAL);
  if (prints || !isNeutral) return { args: ["show", ...(prints ? [] : ["--view"]), ...args], env: {} };
  /** @type {Record<string, string>} */
  const env = {};
  const rest = [];
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const variable = VARIABLES[/** @type {keyof typeof VARIABLES} */ (token.name)];
    if (variable !== undefined && token.value !== undefined) env[variable] = token.value;
    else rest.push(token.rawName, ...(token.value === undefined ? [] : [token.value]));
  }
  return { args: ["view", ...rest], env };
}
