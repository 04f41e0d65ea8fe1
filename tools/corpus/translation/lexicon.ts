/** The tables of lexicon.txt, and how its words are inflected. */
import { readFileSync } from "node:fs";
import { withIng, withS } from "../everyday.mjs";

export type Gender = "m" | "f" | "n";
export type GrammaticalCase = "nominative" | "accusative" | "dative";
/** I, you, he or she, we, they. */
export type Person = 0 | 1 | 2 | 3 | 4;
export type Tense = "present" | "progressive" | "past" | "perfect" | "future" | "modal";

export interface Noun {
  readonly english: readonly [singular: string, plural: string];
  readonly gender: Gender;
  /** Undefined where the noun has no plural here. */
  readonly plural: string | undefined;
  readonly singular: readonly [nominative: string, other: string];
  readonly classes: readonly string[];
}

export interface Adjective {
  readonly english: string;
  readonly german: string;
  /** The form that endings follow. */
  readonly stem: string;
  readonly classes: readonly string[];
}

export interface Verb {
  readonly english: {
    readonly base: string;
    readonly third: string;
    readonly past: string;
    readonly participle: string;
    readonly ing: string;
    /** What follows the verb: "up" of "get up", "for" of "wait for". */
    readonly particle: readonly string[];
  };
  /** The present by person, without `prefix`. */
  readonly present: readonly string[];
  /** A separable prefix, or "". */
  readonly prefix: string;
  readonly infinitive: string;
  readonly participle: string;
  readonly auxiliary: "haben" | "sein";
  readonly subjects: readonly string[];
  /** none, place, direction, acc, dat, auf, an, give, that */
  readonly kind: string;
  readonly objects: readonly string[];
}

export interface Modal {
  readonly english: readonly string[];
  /** `do` for one that needs "do" in questions and negations, `no` for one that has neither here, or `-`. */
  readonly negation: string;
  readonly german: readonly string[];
}

const sections = new Map<string, string[]>();
for (const line of readFileSync(new URL("lexicon.txt", import.meta.url), "utf8").split("\n")) {
  const [, name] = /^\[(\w+)\]/.exec(line) ?? [];
  if (name) sections.set(name, []);
  else if (line !== "" && !line.startsWith("#")) [...sections.values()].at(-1)?.push(line);
}
const rows = (name: string, separator: string) =>
  (sections.get(name) ?? []).map((line) => line.split(separator).map((cell) => cell.trim()));

export const NOUNS: readonly Noun[] = rows("nouns", " ").map(([english, gender, german, plural, classes]) => {
  const [one, many = withS(one)] = english.split("/");
  const [nominative, other = nominative] = german.split("/");
  return {
    english: [one, many],
    gender: gender as Gender,
    singular: [nominative, other],
    plural: plural === "-" ? undefined : plural,
    classes: classes.split(","),
  };
});

export const ADJECTIVES: readonly Adjective[] = rows("adjectives", " ").map(([english, german, classes]) => {
  const [word, stem = word] = german.split("/");
  return { english, german: word, stem, classes: classes.split(",") };
});

export const VERBS: readonly Verb[] = rows("verbs", "|").flatMap((cells) => {
  // A separable infinitive has a "|" of its own.
  const [english, ...rest] = cells;
  const separable = !rest[0].includes(" ");
  const prefix = separable ? rest[0] : "";
  const [german, subjects, kind, objects = ""] = separable ? rest.slice(1) : rest;
  const [name, past, participle] = english.split(" ");
  const [base, ...particle] = name.split("_");
  const [infinitive, ich, du, er, second, auxiliary] = german.split(" ");
  return {
    english: { base, third: withS(base), past, participle, ing: withIng(base), particle },
    present: [ich, du, er, infinitive, infinitive],
    prefix,
    infinitive: prefix + infinitive,
    participle: second,
    auxiliary: auxiliary as Verb["auxiliary"],
    subjects: subjects.split(","),
    kind,
    objects: objects.split(","),
  };
});

export const MODALS: readonly Modal[] = rows("modals", " ").map(([english, negation, ich, du, er, wir]) => ({
  english: english.split("_"),
  negation,
  german: [ich, du, er, wir, wir],
}));

export interface Time {
  readonly english: readonly string[];
  readonly german: readonly string[];
  readonly tenses: readonly string[];
}
export const TIMES: readonly Time[] = rows("times", ":").map(([english, german, tenses]) => ({
  english: english.split(" "),
  german: german.split(" "),
  tenses: tenses.split(" "),
}));
export const FREQUENCIES = rows("frequencies", ":");
export const CONJUNCTIONS = rows("conjunctions", ":");

/** Forms of "haben" and "sein" by person. */
export const AUXILIARIES = {
  haben: ["habe", "hast", "hat", "haben", "haben"],
  sein: ["bin", "bist", "ist", "sind", "sind"],
} as const;
export const PRETERITES = {
  haben: ["hatte", "hattest", "hatte", "hatten", "hatten"],
  sein: ["war", "warst", "war", "waren", "waren"],
} as const;

export type Agreement = Gender | "plural";
type Endings = Readonly<Record<GrammaticalCase, Readonly<Record<Agreement, string>>>>;
const endings = (nominative: string, accusative: string, dative: string): Endings => {
  const row = (text: string) => {
    const [m, f, n, plural] = text.split(" ").map((one) => one.replace("-", ""));
    return { m, f, n, plural };
  };
  return { nominative: row(nominative), accusative: row(accusative), dative: row(dative) };
};
const ARTICLE = endings("der die das die", "den die das die", "dem der dem den");
const STRONG = endings("er e es e", "en e es e", "em er em en");
const EIN = endings("- e - e", "en e - e", "em er em en");
const WEAK = endings("e e e en", "en e e en", "en en en en");
const MIXED = endings("er e es en", "en e es en", "en en en en");

export interface Determiner {
  /** The English word in the singular and in the plural; undefined where there is none. */
  readonly english: readonly [string | undefined, string | undefined];
  readonly german: string;
  readonly kind: "article" | "strong" | "ein" | "number" | "none";
  /** Says which one: "nicht" follows such an object. */
  readonly definite: boolean;
}
const determiner = (
  english: Determiner["english"],
  german: string,
  kind: Determiner["kind"],
  definite = true,
): Determiner => ({ english, german, kind, definite });
export const THE = determiner(["the", "the"], "", "article");
export const A = determiner(["a", undefined], "ein", "ein", false);
export const NO = determiner(["no", "no"], "kein", "ein", false);
export const NONE = determiner(["", ""], "", "none", false);
export const DETERMINERS: readonly Determiner[] = [
  determiner(["this", "these"], "dies", "strong"),
  determiner(["every", undefined], "jed", "strong"),
  determiner(["my", "my"], "mein", "ein"),
  determiner(["your", "your"], "dein", "ein"),
  determiner(["his", "his"], "sein", "ein"),
  determiner(["her", "her"], "ihr", "ein"),
  determiner(["our", "our"], "unser", "ein"),
  determiner(["their", "their"], "ihr", "ein"),
  determiner([undefined, "two"], "zwei", "number", false),
  determiner([undefined, "three"], "drei", "number", false),
  determiner([undefined, "many"], "viel", "strong", false),
  determiner([undefined, "some"], "einig", "strong", false),
];

/** The German determiner before a noun; "" for none. */
export function determinerForm(
  { kind, german }: Determiner,
  number: Agreement,
  which: GrammaticalCase,
): string {
  if (kind === "article") return ARTICLE[which][number];
  if (kind === "number" || kind === "none") return german;
  return german + (kind === "ein" ? EIN : STRONG)[which][number];
}

/** An adjective between a determiner and a noun. */
export function adjectiveForm(
  adjective: Adjective,
  { kind, german }: Determiner,
  number: Agreement,
  which: GrammaticalCase,
): string {
  const isWeak = kind === "article" || german === "dies" || german === "jed";
  const table = isWeak ? WEAK : kind === "ein" ? MIXED : STRONG;
  return adjective.stem + table[which][number];
}

export function nounForm({ singular, plural }: Noun, number: Agreement, which: GrammaticalCase): string {
  if (number !== "plural") return singular[which === "nominative" ? 0 : 1];
  if (plural === undefined) throw new Error(`${singular[0]} has no plural`);
  return which === "dative" && !/[ns]$/.test(plural) ? `${plural}n` : plural;
}
