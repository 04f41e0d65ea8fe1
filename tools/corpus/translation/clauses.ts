/** Clauses in English and in German: where each word is, and the forms of verbs. */
import {
  A,
  type Adjective,
  type Agreement,
  AUXILIARIES,
  adjectiveForm,
  type Determiner,
  determinerForm,
  type GrammaticalCase,
  type Modal,
  NO,
  NONE,
  type Noun,
  nounForm,
  type Person,
  PRETERITES,
  type Tense,
  type Time,
  type Verb,
} from "./lexicon.ts";

export type TaggedWords = readonly string[];

/** A subject or an object in both languages. */
export interface Phrase {
  readonly person: Person;
  readonly english: TaggedWords;
  /** As a subject where English distinguishes it. */
  readonly englishSubject: TaggedWords;
  german(which: GrammaticalCase, options?: { negated?: boolean }): TaggedWords;
  readonly kind: "pronoun" | "definite" | "indefinite" | "other";
  readonly gender: Agreement;
  /** The noun, for the pairs that are held out. */
  readonly noun: string | undefined;
  readonly adjective: string | undefined;
}

/** One verb with what belongs to it. */
export interface Clause {
  readonly subject: Phrase;
  /** Undefined for "be". */
  readonly verb: Verb | undefined;
  readonly tense: Tense;
  readonly modal: Modal | undefined;
  readonly negated: boolean;
  readonly receiver?: Phrase;
  readonly object?: Phrase;
  readonly place?: { readonly english: TaggedWords; readonly german: TaggedWords };
  readonly adjective?: Adjective;
  readonly time?: Time;
  readonly frequency?: TaggedWords;
  /** Marks the keys of this clause. */
  readonly mark: string;
}

/** A pronoun: as a subject and as an object in English, its person, and its cases in German. */
export type Pronoun = readonly [subject: string, object: string, person: Person, ...german: string[]];

const VOWEL = /^[aeiou]/;
const CASES: readonly GrammaticalCase[] = ["nominative", "accusative", "dative"];

/** A noun with its determiner and an adjective; `n` numbers its keys. */
export function nounPhrase(
  determiner: Determiner,
  adjective: Adjective | undefined,
  noun: Noun,
  isPlural: boolean,
  n: number,
): Phrase {
  const words = [
    determiner.english[isPlural ? 1 : 0] ?? "",
    adjective?.english ?? "",
    noun.english[isPlural ? 1 : 0],
  ];
  if (words[0] === "a" && VOWEL.test(words[1] || words[2])) words[0] = "an";
  const english = words
    .map((word, i) => (word ? `${word}#${"dan"[i]}${n}` : ""))
    .filter((word) => word !== "");
  const number: Agreement = isPlural ? "plural" : noun.gender;
  const kind =
    determiner === A || determiner === NONE ? "indefinite" : determiner.definite ? "definite" : "other";
  return {
    person: isPlural ? 4 : 2,
    english,
    englishSubject: english,
    kind,
    gender: number,
    noun: noun.english[0],
    adjective: adjective?.english,
    german(which, { negated = false } = {}) {
      const isNo = negated && kind === "indefinite";
      const used = isNo ? NO : determiner;
      const first = determinerForm(used, number, which);
      return [
        ...(first ? [`${first}#d${n}${isNo ? ",not" : ""}`] : []),
        ...(adjective ? [`${adjectiveForm(adjective, used, number, which)}#a${n}`] : []),
        `${nounForm(noun, number, which)}#n${n}`,
      ];
    },
  };
}

export const tag = (words: TaggedWords, key: string): string[] => words.map((word) => `${word}#${key}`);

/** "in dem" → "im", "in das" → "ins" */
export function contracted([first, second, ...rest]: TaggedWords): string[] {
  const [[preposition, a], [article, b]] = [first.split("#"), second.split("#")];
  const short =
    preposition !== "in" ? undefined : article === "dem" ? "im" : article === "das" ? "ins" : undefined;
  return short ? [`${short}#${a},${b}`, ...rest] : [first, second, ...rest];
}

export function pronoun([subject, object, person, ...german]: Pronoun, key: string): Phrase {
  return {
    person,
    english: [`${object}#${key}`],
    englishSubject: [`${subject}#${key}`],
    german: (which) => [`${german[CASES.indexOf(which)]}#${key}`],
    kind: "pronoun",
    gender: "m",
    noun: undefined,
    adjective: undefined,
  };
}

const BE = {
  present: ["am", "are", "is", "are", "are"],
  past: ["was", "were", "was", "were", "were"],
} as const;

/** The English verb: the finite word that a question moves, if there is one, and the rest. */
function englishVerb(clause: Clause, isSplit: boolean): { finite: TaggedWords; rest: TaggedWords } {
  const { subject, verb, tense, modal, mark } = clause;
  const { person } = subject;
  const [v, x] = [`v${mark}`, `x${mark}`];
  const third = person === 2;
  const {
    base,
    third: withS,
    past,
    participle,
    ing,
    particle,
  } = verb?.english ?? {
    ...{ base: "be", third: "is", past: "was", participle: "been", ing: "being", particle: [] },
  };
  const main = (word: string, key = v) => [`${word}#${key}`, ...tag(particle, v)];
  if (modal) {
    const [word, to] = modal.english;
    if (to === undefined) return { finite: [`${word}#${x}`], rest: main(base) };
    const parts = (first: string) => [`${first}#${x}`, `${to}#${x}`, ...main(base)];
    if (isSplit) return { finite: [`${third ? "does" : "do"}#${x}`], rest: parts(word) };
    return { finite: [], rest: parts(third ? { have: "has", want: "wants" }[word]! : word) };
  }
  if (verb === undefined)
    return { finite: [`${BE[tense === "past" ? "past" : "present"][person]}#${v}`], rest: [] };
  if (tense === "perfect") return { finite: [`${third ? "has" : "have"}#${x}`], rest: main(participle) };
  if (tense === "progressive") return { finite: [`${BE.present[person]}#${v}`], rest: main(ing) };
  if (tense === "past") {
    const isOne = base === "have";
    if (isSplit) return { finite: [`did#${isOne ? v : x}`], rest: main(base) };
    return { finite: [], rest: main(past, isOne ? v : `${v},${x}`) };
  }
  if (isSplit) return { finite: [`${third ? "does" : "do"}#${v}`], rest: main(base) };
  return { finite: [], rest: main(third ? withS : base) };
}

/** All after the English subject. */
export function predicate(clause: Clause, { time = true, place = true } = {}): TaggedWords {
  const { verb, negated, frequency, adjective, mark } = clause;
  const { finite, rest } = englishVerb(clause, negated);
  return [
    ...finite,
    ...(negated ? ["not#not"] : []),
    ...(frequency ? [`${frequency[0]}#f${mark}`] : []),
    ...rest,
    ...objectsAndPlace(clause, place),
    ...(verb === undefined && adjective ? [`${adjective.english}#a${mark}`] : []),
    ...(time && clause.time ? tag(clause.time.english, `t${mark}`) : []),
  ];
}

const objectsAndPlace = ({ receiver, object, place }: Clause, withPlace: boolean): TaggedWords => [
  ...(receiver?.english ?? []),
  ...(object?.english ?? []),
  ...(withPlace && place ? place.english : []),
];

export function englishClause(
  clause: Clause,
  {
    time = true,
    place = true,
    question = false,
  }: { time?: boolean; place?: boolean; question?: boolean } = {},
): TaggedWords {
  if (!question) return [...clause.subject.englishSubject, ...predicate(clause, { time, place })];
  const { finite } = englishVerb(clause, true);
  // The same words with the finite one first.
  const { subject, negated, adjective, mark } = clause;
  const { rest } = englishVerb(clause, true);
  return [
    ...finite,
    ...subject.englishSubject,
    ...(negated ? ["not#not"] : []),
    ...rest,
    ...objectsAndPlace(clause, place),
    ...(adjective ? [`${adjective.english}#a${mark}`] : []),
    ...(time && clause.time ? tag(clause.time.english, `t${mark}`) : []),
  ];
}

/** The German verb: its finite word, its prefix, and what is last in a main clause. */
function germanVerb({ subject, verb, tense, modal, mark }: Clause): {
  finite: string;
  prefix: string;
  end: TaggedWords;
} {
  const { person } = subject;
  const [v, x] = [`v${mark}`, `x${mark}`];
  if (modal)
    return {
      finite: `${modal.german[person]}#${x}`,
      prefix: "",
      end: [`${verb?.infinitive ?? "sein"}#${v}`],
    };
  const preterite =
    verb === undefined ? PRETERITES.sein : verb.infinitive === "haben" ? PRETERITES.haben : undefined;
  if (tense === "past" && preterite) return { finite: `${preterite[person]}#${v}`, prefix: "", end: [] };
  if (verb === undefined) return { finite: `${AUXILIARIES.sein[person]}#${v}`, prefix: "", end: [] };
  if (tense === "past" || tense === "perfect")
    return {
      finite: `${AUXILIARIES[verb.auxiliary][person]}#${x}`,
      prefix: "",
      end: [`${verb.participle}#${v}`],
    };
  return { finite: `${verb.present[person]}#${v}`, prefix: verb.prefix, end: [] };
}

/**
 * A German clause. The finite verb is second after `first` (the subject by default), first in a question, or last after the conjunction
 * `first`. Then subject, pronouns, time, receiver, definite object, negation or frequency, other objects, place, and the end of the verb.
 */
export function germanClause(
  clause: Clause,
  order: "first" | "second" | "last",
  first?: TaggedWords,
): TaggedWords {
  const { subject, verb, negated, receiver, object, place, adjective, time, frequency, mark } = clause;
  const { finite, prefix, end } = germanVerb(clause);
  const preposition = verb?.kind === "auf" || verb?.kind === "an" ? verb.kind : undefined;
  const objectCase: GrammaticalCase = verb?.kind === "dat" ? "dative" : "accusative";
  const isKein = negated && object?.kind === "indefinite" && preposition === undefined;
  const objectWords = object?.german(objectCase, { negated: isKein }) ?? [];
  const isEarly = object !== undefined && preposition === undefined;
  const isFirstTime = first !== undefined && time !== undefined && first[0]?.endsWith(`#t${mark}`);
  const isFirstPlace = place !== undefined && first === place.german;
  const negation = negated && !isKein ? ["nicht#not"] : [];
  const middle = [
    ...(receiver?.kind === "pronoun" ? receiver.german("dative") : []),
    ...(isEarly && object.kind === "pronoun" ? objectWords : []),
    ...(time && !isFirstTime ? tag(time.german, `t${mark}`) : []),
    ...(receiver && receiver.kind !== "pronoun" ? receiver.german("dative") : []),
    ...(isEarly && object.kind === "definite" ? objectWords : []),
    ...negation,
    ...(frequency ? [`${frequency[1]}#f${mark}`] : []),
    ...(isEarly && (object.kind === "indefinite" || object.kind === "other") ? objectWords : []),
    ...(preposition ? [`${preposition}#v${mark}`, ...objectWords] : []),
    ...(place && !isFirstPlace ? place.german : []),
    ...(adjective ? [`${adjective.german}#a${mark}`] : []),
  ];
  const nominative = subject.german("nominative");
  if (order === "last") {
    const [word, key] = finite.split("#");
    return [...(first ?? []), ...nominative, ...middle, ...end, `${prefix}${word}#${key}`];
  }
  const last = [...(prefix ? [`${prefix}#v${mark}`] : []), ...end];
  if (order === "first") return [finite, ...nominative, ...middle, ...last];
  if (first === undefined) return [...nominative, finite, ...middle, ...last];
  return [...first, finite, ...nominative, ...middle, ...last];
}

/** The text of words with keys. */
export const wordsOf = (words: TaggedWords): string[] => words.map((word) => word.split("#")[0]);

/** The keys of words. */
export const keysOf = (words: TaggedWords): string[][] =>
  words.map((word) => (word.split("#")[1] ?? "").split(",").filter((key) => key !== ""));
