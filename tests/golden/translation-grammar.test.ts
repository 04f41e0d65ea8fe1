/** The grammar of the translation task: sentences whose German was written by hand, and what holds for all pairs. */
import { expect, test } from "vitest";
import { Generator } from "../../src/core/random/generator.ts";
import {
  type Clause,
  englishClause,
  germanClause,
  keysOf,
  nounPhrase,
  type Phrase,
  pronoun,
  tag,
  wordsOf,
} from "../../tools/corpus/translation/clauses.ts";
import { Grammar } from "../../tools/corpus/translation/grammar.ts";
import {
  A,
  ADJECTIVES,
  DETERMINERS,
  MODALS,
  NONE,
  NOUNS,
  THE,
  TIMES,
  VERBS,
} from "../../tools/corpus/translation/lexicon.ts";

const noun = (name: string) => NOUNS.find(({ english }) => english[0] === name)!;
const adjective = (name: string) => ADJECTIVES.find(({ english }) => english === name)!;
const verb = (name: string, kind?: string) =>
  VERBS.find(({ english, kind: its }) => english.base === name && (kind ?? its) === its)!;
const modal = (name: string) => MODALS.find(({ english }) => english[0] === name)!;
const time = (name: string) => TIMES.find(({ english }) => english.join(" ") === name)!;
const determiner = (name: string) => [THE, A, ...DETERMINERS].find(({ english }) => english.includes(name))!;
/** "the old dog", "two dogs", "milk" */
function phrase(text: string): Phrase {
  const words = text.split(" ");
  const last = words.at(-1)!;
  const one = NOUNS.find(({ english }) => english.includes(last))!;
  const isPlural = one.english[1] === last;
  const middle = words.length === 3 ? adjective(words[1]) : undefined;
  return nounPhrase(words.length > 1 ? determiner(words[0]) : NONE, middle, one, isPlural, 1);
}
const I = pronoun(["I", "me", 0, "ich", "mich", "mir"], "n1");
const you = pronoun(["you", "you", 1, "du", "dich", "dir"], "n1");
const him = pronoun(["he", "him", 2, "er", "ihn", "ihm"], "n2");
const clause = (it: Partial<Clause> & { verb: Clause["verb"]; subject: Phrase }): Clause => ({
  tense: "present",
  modal: undefined,
  negated: false,
  mark: "1",
  ...it,
});
const texts = (english: readonly string[], german: readonly string[]) => [
  wordsOf(english).join(" "),
  wordsOf(german).join(" "),
];

const [man, dog] = [phrase("the man"), phrase("the dog")];
const sees = clause({ subject: man, verb: verb("see"), object: dog });
const today = time("today");
const opens = clause({ subject: phrase("the woman"), verb: verb("open"), object: phrase("the door") });
const sleeps = clause({ subject: dog, verb: verb("sleep") });

test.each<[english: readonly string[], german: readonly string[], wanted: string, translation: string]>([
  [englishClause(sees), germanClause(sees, "second"), "the man sees the dog", "der Mann sieht den Hund"],
  // The finite verb is second.
  [[...today.english, ...englishClause({ ...sees, time: today }, { time: false })], germanClause({ ...sees, time: today }, "second", tag(today.german, "t1")), "today the man sees the dog", "heute sieht der Mann den Hund"],
  // It is last in a subordinate clause.
  [["because", ...englishClause(sleeps)], germanClause(sleeps, "last", ["weil"]), "because the dog sleeps", "weil der Hund schläft"],
  [englishClause(opens), germanClause(opens, "last", ["dass"]), "the woman opens the door", "dass die Frau die Tür aufmacht"],
  // Participles and infinitives end a clause; prefixes separate.
  ...[
    [clause({ subject: I, verb: verb("see"), object: phrase("the old house"), tense: "perfect" }), "I have seen the old house", "ich habe das alte Haus gesehen"],
    [clause({ subject: I, verb: verb("go"), tense: "past" }), "I went", "ich bin gegangen"],
    [{ ...opens, negated: true }, "the woman does not open the door", "die Frau macht die Tür nicht auf"],
    [{ ...opens, tense: "modal" as const, modal: modal("can"), negated: true }, "the woman can not open the door", "die Frau kann die Tür nicht aufmachen"],
    [{ ...opens, tense: "modal" as const, modal: modal("want") }, "the woman wants to open the door", "die Frau will die Tür aufmachen"],
    [{ ...opens, tense: "past" as const }, "the woman opened the door", "die Frau hat die Tür aufgemacht"],
    // The place of "nicht", and "kein".
    [{ ...sees, negated: true, time: today }, "the man does not see the dog today", "der Mann sieht heute den Hund nicht"],
    [{ ...sees, negated: true, object: phrase("a dog") }, "the man does not see a dog", "der Mann sieht keinen Hund"],
    [{ ...sees, negated: true, object: phrase("dogs") }, "the man does not see dogs", "der Mann sieht keine Hunde"],
    [clause({ subject: man, verb: undefined, adjective: adjective("tired"), negated: true }), "the man is not tired", "der Mann ist nicht müde"],
    // Cases.
    [clause({ subject: man, verb: verb("give"), receiver: phrase("the child"), object: phrase("a apple") }), "the man gives the child an apple", "der Mann gibt dem Kind einen Apfel"],
    [clause({ subject: man, verb: verb("give"), receiver: him, object: phrase("a book"), time: today }), "the man gives him a book today", "der Mann gibt ihm heute ein Buch"],
    [clause({ subject: phrase("the women"), verb: verb("help"), object: phrase("the boys") }), "the women help the boys", "die Frauen helfen den Jungen"],
    [clause({ subject: phrase("two men"), verb: verb("thank"), object: phrase("the student") }), "two men thank the student", "zwei Männer danken dem Studenten"],
    [clause({ subject: man, verb: verb("wait", "auf"), object: phrase("the bus") }), "the man waits for the bus", "der Mann wartet auf den Bus"],
    [clause({ subject: man, verb: verb("drink"), object: phrase("milk"), frequency: ["often", "oft"] }), "the man often drinks milk", "der Mann trinkt oft Milch"],
  ].map(([it, wanted, translation]) => [englishClause(it as Clause), germanClause(it as Clause, "second"), wanted, translation] as [readonly string[], readonly string[], string, string]),
  // "do" disappears in a question.
  [englishClause({ ...sees, subject: you }, { question: true }), germanClause({ ...sees, subject: you }, "first"), "do you see the dog", "siehst du den Hund"],
  [englishClause({ ...sees, subject: you, tense: "past" }, { question: true }), germanClause({ ...sees, subject: you, tense: "past" }, "first"), "did you see the dog", "hast du den Hund gesehen"],
])("%#: %s", (english, german, ...wanted) => {
  expect(texts(english, german)).toEqual(wanted);
}); // biome-ignore format: one sentence a line

test.each([
  // Endings of determiners and adjectives, by case and gender.
  ["the old man", "der alte Mann", "den alten Mann", "dem alten Mann"],
  ["an old man", "ein alter Mann", "einen alten Mann", "einem alten Mann"],
  ["a young woman", "eine junge Frau", "eine junge Frau", "einer jungen Frau"],
  ["a small child", "ein kleines Kind", "ein kleines Kind", "einem kleinen Kind"],
  ["this white horse", "dieses weiße Pferd", "dieses weiße Pferd", "diesem weißen Pferd"],
  ["our expensive car", "unser teures Auto", "unser teures Auto", "unserem teuren Auto"],
  ["two old dogs", "zwei alte Hunde", "zwei alte Hunde", "zwei alten Hunden"],
  ["many new houses", "viele neue Häuser", "viele neue Häuser", "vielen neuen Häusern"],
  ["my small cats", "meine kleinen Katzen", "meine kleinen Katzen", "meinen kleinen Katzen"],
  ["the young student", "der junge Student", "den jungen Studenten", "dem jungen Studenten"],
  ["the dark kitchen", "die dunkle Küche", "die dunkle Küche", "der dunklen Küche"],
])("%s", (english, ...cases) => {
  const { german } = phrase(english.replace(/^an /, "a "));
  expect(
    (["nominative", "accusative", "dative"] as const).map((which) => wordsOf(german(which)).join(" ")),
  ).toEqual(cases);
});

test("every pair has the same marks in both languages, and an English sentence has one translation", () => {
  const grammar = new Grammar(new Generator(5));
  const translations = new Map<string, string>();
  for (let n = 0; n < 4000; n++) {
    const { english, german } = grammar.next();
    const [source, target] = [wordsOf(english).join(" "), wordsOf(german).join(" ")];
    expect(translations.get(source) ?? target).toBe(target);
    translations.set(source, target);
    expect(`${source} ${target}`).not.toMatch(/undefined|#| {2}/);
    expect(/[.?]$/.exec(target)?.[0]).toBe(/[.?]$/.exec(source)?.[0]);
    expect(/^\p{Lu}/u.test(target)).toBe(/^\p{Lu}/u.test(source));
    // Every German word but commas translates some English word.
    const keys = new Set(keysOf(english).flat());
    for (const [i, its] of keysOf(german).entries())
      if (/\p{L}/u.test(german[i]))
        expect(
          its.some((key) => keys.has(key)),
          `${german[i]} in ${target}`,
        ).toBe(true);
  }
  expect(noun("dog").plural).toBe("Hunde");
});
