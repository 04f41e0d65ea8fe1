/**
 * The everyday sentences of the encoder's training: those that the tables of everyday.txt give, in seeded random order, each once.
 * What people, animals and things are and do is in the tables, whose notation is at their top; this file inflects the words.
 */
import { readFileSync } from "node:fs";
import { Generator } from "../../src/core/random/generator.ts";

/** The words for `$he $him $his $self $was $is $has $does`, by the pronoun of a person. @type {Record<string, string>} */
const PRONOUNS = {
  he: "he him his himself was is has does",
  she: "she her her herself was is has does",
  they: "they them their themselves were are have do",
  we: "we us our ourselves were are have do",
  you: "you you your yourself were are have do",
  I: "I me my myself was am have do",
};

/**
 * The lists and tables of a text. The weight of a table is its number of pairs, and that of a sentence with choices is 8.
 * @param {string} text
 */
function read(text) {
  const lists = /** @type {Map<string, string[]>} */ (new Map());
  const tables = /** @type {{ frames: string[], pairs: string[][], weight: number }[]} */ ([]);
  for (const line of text.split("\n")) {
    const [, name, items] = /^@(\w+) (.*)$/.exec(line) ?? [];
    const row = /^([^#>@[-].*?) :(.*)$/.exec(line);
    const table = tables[tables.length - 1];
    if (name) lists.set(name, [...(lists.get(name) ?? []), ...items.split(", ")]);
    else if (line.startsWith("[")) tables.push({ frames: [], pairs: [], weight: 0 });
    else if (line.startsWith("> ")) table.frames.push(line.slice(2));
    else if (line.startsWith("- ")) tables.push({ frames: [line.slice(2)], pairs: [[]], weight: 8 });
    else if (row) {
      const [left, right] = row.slice(1).map((cell) => cell.split(",").map((item) => item.trim()));
      table.pairs.push(...left.flatMap((a) => right.map((b) => [a, b])));
      table.weight = table.pairs.length;
    } else if (!/^(#.*)?$/.test(line)) throw new Error(`everyday.txt: cannot read the line "${line}"`);
  }
  return { lists, tables };
}

/** @param {string} word */
export const withS = (word) =>
  ({ have: "has", do: "does", go: "goes", be: "is" })[word] ??
  (/(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word.replace(/([^aeiou])y$/, "$1ie")}s`);

/** The last consonant is doubled: stop, stopped. @param {string} word */
const stem = (word) => (/^[^aeiou]*[aeiou][bdgkmnprt]$/.test(word) ? word + word.slice(-1) : word);

/** @param {string} word */
const withEd = (word) => (word.endsWith("e") ? `${word}d` : `${stem(word).replace(/([^aeiou])y$/, "$1i")}ed`);

/** @param {string} word */
export const withIng = (word) =>
  `${word === "begin" ? "beginn" : word.endsWith("ie") ? `${word.slice(0, -2)}y` : /[^eoy]e$/.test(word) ? word.slice(0, -1) : stem(word)}ing`;

/**
 * Different sentences in random order.
 * @param {number} count
 * @param {number} [seed]
 */
export function everyday(count, seed = 1) {
  const { lists, tables } = read(readFileSync(new URL("everyday.txt", import.meta.url), "utf8"));
  const generator = new Generator(seed, 0);
  /** @param {string} name */
  const listOf = (name) => {
    const list = lists.get(name);
    if (!list) throw new Error(`everyday.txt: there is no list {${name}}`);
    return list;
  };
  /** @template T @param {readonly T[]} items */
  const pick = (items) => items[generator.below(items.length)];
  /** @param {string} text @returns {string} */
  const choose = (text) =>
    text.includes("{")
      ? choose(
          text.replace(/\{([^{}]*)\}/g, (_, body) =>
            pick(body.includes("|") ? body.split("|") : listOf(body)),
          ),
        )
      : text;
  const [plurals, pasts] = ["irregular", "verbs"].map(
    (name) => new Map(listOf(name).map((entry) => /** @type {[string, string]} */ (entry.split(" ")))),
  );
  const mass = new Set(listOf("mass"));
  const people = listOf("people").map((entry) => entry.split("/"));
  const named = people.filter(([name, pronoun]) => name !== pronoun);
  /** The form of a word, in a sentence about several people or one. @type {Record<string, (word: string, several: boolean) => string>} */
  const FORMS = {
    ed: (word) => pasts.get(word) ?? withEd(word),
    ing: withIng,
    es: withS,
    s: (word, several) => (several ? word : withS(word)),
    pl: (word) => plurals.get(word) ?? withS(word),
  };
  /** Marks the first word of a verb's phrase, or the last one of a noun, for `FORMS`. @param {string} item @param {string} [form] */
  const marked = (item, form) => {
    if (form === "a") return `${mass.has(item) ? "some" : "a"} ${item}`;
    return form ? item.replace(form === "pl" ? /\w+$/ : /^\w+/, (word) => `${word}~${form}`) : item;
  };
  let total = 0;
  const ends = tables.map(({ weight }) => (total += weight));
  const sentence = () => {
    const ticket = generator.below(total);
    const { frames, pairs } = tables[ends.findIndex((end) => ticket < end)];
    const [a, b] = pick(pairs);
    const [person, pronoun] = pick(people);
    const [other] = pick(named.filter(([name]) => name !== person));
    const [he, him, his, self, was, is, has, does] = PRONOUNS[pronoun].split(" ");
    /** @type {Record<string, string>} */
    const words = { P: person, Q: other, he, him, his, self, was, is, has, does };
    const frame = choose(pick(frames));
    const text = choose(
      frame.replace(/\$([ab])\b(?:~(\w+))?/g, (_, key, form) => marked(key === "a" ? a : b, form)),
    )
      .replace(/\$(\w+)/g, (_, name) => words[name])
      .replace(/(\w+)~(\w+)/g, (_, word, form) => FORMS[form](word, is !== "is"))
      .replace(/\b([Aa]) (?=[aeiou])(?!one|use|uni)/g, "$1n ")
      .replace(/\b([Aa]) (?=hour)/g, "$1n ");
    return text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");
  };
  const sentences = /** @type {Set<string>} */ (new Set());
  while (sentences.size < count) sentences.add(sentence());
  return [...sentences];
}
