/**
 * Pairs of an English and a German sentence, from the words of lexicon.txt. The order of words changes as it does in German: the finite
 * verb is second ("today the man sees …" → "heute sieht der Mann …") and last in a subordinate clause, infinitives and participles are last
 * in a main clause, prefixes separate, "do" disappears. The English past becomes the perfect, as in speech; "you" is "du".
 *
 * A word is written `text#keys`: an English and a German word with a common key translate each other.
 */
import type { Generator } from "../../../src/core/random/generator.ts";
import {
  type Clause,
  contracted,
  englishClause,
  germanClause,
  nounPhrase,
  type Phrase,
  type Pronoun,
  predicate,
  pronoun,
  type TaggedWords,
  tag,
} from "./clauses.ts";
import {
  A,
  ADJECTIVES,
  type Adjective,
  CONJUNCTIONS,
  DETERMINERS,
  type Determiner,
  FREQUENCIES,
  MODALS,
  type Modal,
  NO,
  NONE,
  NOUNS,
  type Noun,
  type Tense,
  THE,
  TIMES,
  VERBS,
  type Verb,
} from "./lexicon.ts";

/** A pair of sentences, and the combinations of words in it: "dog+sleep". */
export interface Pair {
  readonly english: readonly string[];
  readonly german: readonly string[];
  readonly combinations: readonly string[];
}

const PRONOUNS: readonly Pronoun[] = [
  ["I", "me", 0, "ich", "mich", "mir"],
  ["you", "you", 1, "du", "dich", "dir"],
  ["he", "him", 2, "er", "ihn", "ihm"],
  ["she", "her", 2, "sie", "sie", "ihr"],
  ["we", "us", 3, "wir", "uns", "uns"],
  ["they", "them", 4, "sie", "sie", "ihnen"],
];
const NAMES = ["Anna", "Peter", "Maria", "Thomas"];

/** Writes sentences with a generator of random numbers. */
export class Grammar {
  readonly #random: Generator;
  #key = 0;
  #combinations: string[] = [];

  constructor(random: Generator) {
    this.#random = random;
  }

  /** The next pair, with the end mark and the capital of a sentence in half of them. */
  next(): Pair {
    this.#key = 0;
    this.#combinations = [];
    const { english, german, isQuestion } = this.#sentence();
    // "I" and names do not say whether the German text begins with a capital: then it does.
    const isCapital = this.#chance(isQuestion ? 0.7 : 0.5) || /^[A-Z]/.test(english[0]);
    const hasMark = this.#chance(0.5);
    const finish = (words: TaggedWords) => {
      const [first, ...rest] = words;
      const all = [isCapital ? first[0].toUpperCase() + first.slice(1) : first, ...rest];
      return hasMark ? [...all, isQuestion ? "?" : "."] : all;
    };
    return { english: finish(english), german: finish(german), combinations: this.#combinations };
  }

  #chance = (share: number) => this.#random.uniform() < share;
  #pick = <T>(items: readonly T[]): T => items[Math.floor(this.#random.uniform() * items.length)];

  #sentence(): { english: TaggedWords; german: TaggedWords; isQuestion: boolean } {
    const kind = this.#random.uniform();
    if (kind < 0.2) return { ...this.#question(), isQuestion: true };
    if (kind < 0.36) return { ...this.#withSubordinate(), isQuestion: false };
    if (kind < 0.46) return { ...this.#withThat(), isQuestion: false };
    if (kind > 0.96) return { ...this.#fragment(kind < 0.98), isQuestion: false };
    const clause = this.#clause({});
    const relative = kind < 0.54 && clause.subject.noun !== undefined && clause.subject.person !== 0;
    if (relative && this.#isPerson(clause.subject))
      return { ...this.#withRelative(clause), isQuestion: false };
    return { ...this.#statement(clause), isQuestion: false };
  }

  #isPerson = ({ noun }: Phrase) =>
    NOUNS.some((it) => it.english[0] === noun && it.classes.includes("person"));

  /** A noun with its determiner, or a subordinate clause alone. */
  #fragment(isNoun: boolean): { english: TaggedWords; german: TaggedWords } {
    if (isNoun) {
      const { english, german } = this.#phrase([this.#pick(["person", "animal", "thing", "place"])], {
        isSubject: true,
      });
      return { english, german: german("nominative") };
    }
    const [english, german] = this.#pick(CONJUNCTIONS);
    const clause = this.#clause({ short: true, tenses: ["present", "progressive", "modal"] });
    return {
      english: [`${english}#c`, ...englishClause(clause)],
      german: germanClause(clause, "last", [`${german}#c`]),
    };
  }

  /** A main clause, with the subject, a time or a place first. */
  #statement(clause: Clause): { english: TaggedWords; german: TaggedWords } {
    const { time, place, verb, mark } = clause;
    const front = this.#random.uniform();
    const isFree = verb !== undefined && verb.kind !== "direction" && verb.kind !== "place";
    if (time && front < 0.6) {
      const comma = this.#chance(0.15) ? [","] : [];
      return {
        english: [...tag(time.english, `t${mark}`), ...comma, ...englishClause(clause, { time: false })],
        german: germanClause(clause, "second", tag(time.german, `t${mark}`)),
      };
    }
    if (place && isFree && front < 0.2)
      return {
        english: [...place.english, ...englishClause(clause, { place: false })],
        german: germanClause(clause, "second", place.german),
      };
    return { english: englishClause(clause), german: germanClause(clause, "second") };
  }

  #question(): { english: TaggedWords; german: TaggedWords } {
    const kind = this.#random.uniform();
    if (kind < 0.5) {
      const clause = this.#clause({ question: true });
      return { english: englishClause(clause, { question: true }), german: germanClause(clause, "first") };
    }
    if (kind < 0.75) {
      const [english, german] = this.#pick([
        ["where", "wo"],
        ["why", "warum"],
        ["when", "wann"],
      ]);
      const clause = this.#clause({ question: true, without: german === "wo" ? "place" : "time" });
      return {
        english: [`${english}#w`, ...englishClause(clause, { question: true })],
        german: germanClause(clause, "second", [`${german}#w`]),
      };
    }
    if (kind < 0.87) {
      const subject = pronoun(["who", "who", 2, "wer", "wen", "wem"], "w");
      const clause = this.#clause({ subject, positive: true });
      return { english: englishClause(clause), german: germanClause(clause, "second") };
    }
    const clause = this.#clause({ question: true, kinds: ["acc"], positive: true });
    const isPerson = clause.object !== undefined && this.#isPerson(clause.object);
    const [english, german] = isPerson ? ["who", "wen"] : ["what", "was"];
    this.#combinations = this.#combinations.slice(0, 1);
    const { object: _, ...rest } = clause;
    return {
      english: [`${english}#w`, ...englishClause(rest, { question: true })],
      german: germanClause(rest, "second", [`${german}#w`]),
    };
  }

  #withSubordinate(): { english: TaggedWords; german: TaggedWords } {
    const conjunction = this.#pick(CONJUNCTIONS);
    const [english, german, tenses] = conjunction;
    const only: readonly Tense[] | undefined =
      tenses === "present" ? ["present", "progressive", "modal"] : undefined;
    const main = this.#clause({ tenses: only && [...only, "future"], short: true });
    const second = this.#clause({ tenses: only, short: true });
    const sub = {
      english: [`${english}#c`, ...englishClause(second)],
      german: germanClause(second, "last", [`${german}#c`]),
    };
    if (this.#chance(0.4))
      return {
        english: [...sub.english, ",", ...englishClause(main)],
        german: [...sub.german, ",", ...germanClause(main, "second", [])],
      };
    // "he sleeps, but she works": no change of the order.
    if (this.#chance(0.2)) {
      const [word, translation, comma] = this.#pick([
        ["but", "aber", ","],
        ["and", "und", ""],
      ]);
      return {
        english: [...englishClause(main), ...(comma ? [comma] : []), `${word}#c`, ...englishClause(second)],
        german: [
          ...germanClause(main, "second"),
          ...(comma ? [comma] : []),
          `${translation}#c`,
          ...germanClause(second, "second"),
        ],
      };
    }
    return {
      english: [...englishClause(main), ...sub.english],
      german: [...germanClause(main, "second"), ",", ...sub.german],
    };
  }

  #withThat(): { english: TaggedWords; german: TaggedWords } {
    const verb = this.#pick(VERBS.filter(({ kind }) => kind === "that"));
    const main = this.#clause({ verb, tenses: ["present", "past"], short: true });
    const inner = this.#clause({ short: true });
    const isOpen = main.negated && verb.infinitive === "wissen";
    return {
      english: [...englishClause(main), isOpen ? "whether#c" : "that#c", ...englishClause(inner)],
      german: [
        ...germanClause(main, "second"),
        ",",
        ...germanClause(inner, "last", [isOpen ? "ob#c" : "dass#c"]),
      ],
    };
  }

  /** "the man who sees the dog sleeps" */
  #withRelative(clause: Clause): { english: TaggedWords; german: TaggedWords } {
    const { subject } = clause;
    const relative: Phrase = { ...subject, german: () => [] };
    const inner = this.#clause({ subject: relative, short: true });
    const who = { m: "der", f: "die", n: "das", plural: "die" }[subject.gender];
    const joined: Phrase = {
      ...subject,
      englishSubject: [...subject.englishSubject, "who#r", ...predicate(inner)],
      german: (which) => [...subject.german(which), ",", ...germanClause(inner, "last", [`${who}#r`]), ","],
    };
    const main = { ...clause, subject: joined, time: undefined };
    return { english: englishClause(main), german: germanClause(main, "second") };
  }

  #clause(it: {
    readonly subject?: Phrase;
    readonly verb?: Verb;
    readonly question?: boolean;
    readonly without?: "place" | "time";
    readonly kinds?: TaggedWords;
    readonly tenses?: readonly Tense[];
    readonly short?: boolean;
    readonly positive?: boolean;
  }): Clause {
    const mark = `${++this.#key}`;
    const isBe = !it.verb && !it.kinds && this.#chance(0.12);
    const isAnimate = (one: Verb) => it.subject === undefined || one.subjects.includes("person");
    const verb = isBe
      ? undefined
      : (it.verb ??
        this.#pick(
          VERBS.filter(
            (one) =>
              one.kind !== "that" &&
              isAnimate(one) &&
              (it.kinds === undefined || it.kinds.includes(one.kind)) &&
              !(it.without === "place" && (one.kind === "place" || one.kind === "direction")),
          ),
        ));
    let { tense, modal } = this.#tense(it.tenses);
    if (verb && tense === "past" && verb.english.past === verb.english.base) tense = "perfect";
    // No progressive of a state; no perfect of "have" and "be".
    const isState = /^(?:have|be|know|like|love|need|understand|believe|hear|see)$/.test(
      verb?.english.base ?? "be",
    );
    if (isState && tense === "progressive") tense = "present";
    if ((verb === undefined || verb.english.base === "have") && tense === "perfect") tense = "past";
    if (verb === undefined && modal?.negation === "do") [tense, modal] = ["present", undefined];
    let negated = it.positive !== true && this.#chance(0.2);
    if (modal?.negation === "no" && (negated || it.question)) modal = MODALS[0];
    const subject = it.subject ?? this.#subject(verb, negated, it.question === true);
    if (subject.english[0]?.startsWith("no#")) negated = false;
    const objects = this.#objects(verb, subject, negated);
    const needsPlace =
      verb?.kind === "place" || (verb === undefined && this.#chance(0.3) && it.without !== "place");
    const maybePlace = verb !== undefined && !it.short && verb.kind !== "direction" && this.#chance(0.25);
    const place =
      it.without === "place"
        ? undefined
        : verb?.kind === "direction"
          ? this.#direction()
          : needsPlace || maybePlace
            ? this.#place()
            : undefined;
    const adjective = verb === undefined && !needsPlace ? this.#adjective(subject) : undefined;
    const name = { progressive: "present", modal: "future" }[tense as string] ?? tense;
    const hasTime = it.without !== "time" && this.#chance(it.short ? 0.12 : it.question ? 0.25 : 0.4);
    const time = hasTime ? this.#pick(TIMES.filter(({ tenses }) => tenses.includes(name))) : undefined;
    const isFrequent = !negated && !it.question && tense !== "progressive" && this.#chance(time ? 0.03 : 0.1);
    const frequency =
      isFrequent && !subject.english[0]?.startsWith("no#") ? this.#pick(FREQUENCIES) : undefined;
    if (verb && subject.noun) this.#combinations.push(`${subject.noun}+${verb.english.base}`);
    if (verb && objects.object?.noun) this.#combinations.push(`${verb.english.base}+${objects.object.noun}`);
    for (const phrase of [subject, objects.object])
      if (phrase?.adjective) this.#combinations.push(`${phrase.adjective}+${phrase.noun}`);
    return { subject, verb, tense, modal, negated, ...objects, place, adjective, time, frequency, mark };
  }

  #tense(only: readonly Tense[] | undefined): { tense: Tense; modal: Modal | undefined } {
    const all: readonly Tense[] = [
      "present",
      "present",
      "progressive",
      "past",
      "past",
      "perfect",
      "modal",
      "modal",
      "future",
    ];
    const tense = this.#pick(only ? all.filter((one) => only.includes(one)) : all);
    if (tense === "future") return { tense, modal: MODALS[1] };
    return { tense, modal: tense === "modal" ? this.#pick(MODALS.filter((_, n) => n !== 1)) : undefined };
  }

  #subject(verb: Verb | undefined, negated: boolean, isQuestion: boolean): Phrase {
    const classes = verb?.subjects ?? ["person", "animal", "thing", "place"];
    if (classes.includes("person") && this.#chance(isQuestion ? 0.6 : 0.4)) {
      // Each verb has forms of its own for "I" and "du".
      const [first, second] = PRONOUNS;
      const likely = this.#chance(0.4) ? [isQuestion || this.#chance(0.5) ? second : first] : PRONOUNS;
      return pronoun(this.#pick(likely), `n${++this.#key}`);
    }
    return this.#phrase([this.#pick(classes)], { isSubject: true, negated });
  }

  #objects(
    verb: Verb | undefined,
    subject: Phrase,
    negated: boolean,
  ): { object?: Phrase; receiver?: Phrase } {
    if (verb === undefined || ["none", "place", "direction", "that"].includes(verb.kind)) return {};
    const isFree = verb.kind !== "give" && verb.objects.includes("person");
    const person = (): Phrase => {
      // "I see me" and "we see me" are left out.
      const first = [0, 3].includes(subject.person) ? [0, 3] : [subject.person];
      const others = PRONOUNS.filter(([, , person]) => person === 2 || !first.includes(person));
      return pronoun(this.#pick(others), `n${++this.#key}`);
    };
    if (verb.kind === "give") {
      const receiver = this.#chance(0.35) ? person() : this.#phrase(["person"], { negated: true });
      return { receiver, object: this.#phrase([this.#pick(verb.objects)], { negated }) };
    }
    if (isFree && this.#chance(0.25)) return { object: person() };
    return {
      object: this.#phrase([this.#pick(verb.objects)], {
        negated,
        onlyDefinite: verb.kind !== "acc" && negated,
      }),
    };
  }

  /** A noun with its determiner, in a negated clause one that "nicht" or "kein" can negate. */
  #phrase(
    classes: TaggedWords,
    it: { readonly isSubject?: boolean; readonly negated?: boolean; readonly onlyDefinite?: boolean },
  ): Phrase {
    const n = ++this.#key;
    const [one] = classes;
    if (one === "person" && this.#chance(0.08)) {
      const name = this.#pick(NAMES);
      const word = [`${name}#n${n}`];
      return {
        person: 2,
        english: word,
        englishSubject: word,
        german: () => word,
        kind: "definite",
        gender: "m",
        noun: undefined,
        adjective: undefined,
      };
    }
    const noun = this.#pick(NOUNS.filter((noun) => noun.classes.includes(one)));
    const isMass = noun.classes.includes("mass");
    const isPlural = noun.plural !== undefined && !isMass && this.#chance(0.28);
    let determiner = this.#determiner(isPlural, isMass, it);
    if (noun.classes.includes("sight") && noun.plural === undefined) determiner = THE;
    const adjective = this.#chance(0.25) ? this.#adjectiveOf(noun) : undefined;
    return nounPhrase(determiner, adjective, noun, isPlural, n);
  }

  #determiner(
    isPlural: boolean,
    isMass: boolean,
    {
      isSubject,
      negated,
      onlyDefinite,
    }: { readonly isSubject?: boolean; readonly negated?: boolean; readonly onlyDefinite?: boolean },
  ): Determiner {
    const x = this.#random.uniform();
    if (isMass && x < 0.5) return NONE;
    if (x < 0.5) return THE;
    if (!isSubject && !onlyDefinite && x < 0.66 && isPlural) return NONE;
    if (!isMass && !isPlural && x < 0.68 && !(isSubject && negated) && !onlyDefinite) return A;
    if (!negated && x > 0.97 && !isMass) return NO;
    const possible = DETERMINERS.filter(
      ({ english, definite, german }) =>
        english[isPlural ? 1 : 0] !== undefined &&
        !(negated && (!definite || german === "jed")) &&
        !(isMass && german === "jed"),
    );
    return this.#pick(possible);
  }

  #adjectiveOf(noun: Noun): Adjective | undefined {
    const possible = ADJECTIVES.filter(({ classes }) => classes.some((one) => noun.classes.includes(one)));
    return possible.length > 0 ? this.#pick(possible) : undefined;
  }

  /** The adjective of "the dog is old". */
  #adjective({ noun, person }: Phrase): Adjective {
    const match = NOUNS.find(({ english }) => english[0] === noun);
    const classes = match && person !== 0 ? match.classes : ["person"];
    return this.#pick(ADJECTIVES.filter((one) => one.classes.some((name) => classes.includes(name))));
  }

  #place(): { english: TaggedWords; german: TaggedWords } {
    const key = ++this.#key;
    const phrase = this.#phrase(["place"], { negated: true, onlyDefinite: this.#chance(0.85) });
    const x = this.#random.uniform();
    const [english, german] =
      x < 0.75 ? ["in", "in"] : x < 0.9 ? ["behind", "hinter"] : ["in front of", "vor"];
    return {
      english: [...tag(english.split(" "), `p${key}`), ...phrase.english],
      german: contracted([`${german}#p${key}`, ...phrase.german("dative")]),
    };
  }

  #direction(): { english: TaggedWords; german: TaggedWords } {
    const key = ++this.#key;
    const phrase = this.#phrase(["place"], { negated: true, onlyDefinite: this.#chance(0.85) });
    return {
      english: [`to#p${key}`, ...phrase.english],
      german: contracted([`in#p${key}`, ...phrase.german("accusative")]),
    };
  }
}
