/**
 * Regular expressions of tokenizer files, in the Oniguruma dialect that Hugging Face's tokenizers use. They are parsed here, and
 * never passed to the engine unparsed. A pattern with little backtracking (no repetition inside a repetition) becomes a regular
 * expression of the engine; other patterns, and possessive repetitions, run in a small backtracking matcher with a limit on its
 * steps.
 */
import { UnsupportedError } from "../../../core/errors.ts";
import { quote } from "../../../io/refuse.ts";

/** Maximum length of a pattern, depth of groups, and count of a repetition. */
const LONGEST = 4096;
const DEEPEST = 32;
const MOST = 1000;
/** Maximum steps of the matcher: a constant, and a number per UTF-16 unit of text. */
const STEPS = 100_000;
const STEPS_PER_UNIT = 500;

type Node =
  | { readonly kind: "set"; readonly source: string }
  | { readonly kind: "sequence"; readonly items: readonly Node[] }
  | { readonly kind: "either"; readonly items: readonly Node[] }
  | { readonly kind: "look"; readonly item: Node; readonly ahead: boolean; readonly negative: boolean }
  | { readonly kind: "anchor"; readonly source: string }
  | {
      readonly kind: "repeat";
      readonly item: Node;
      readonly least: number;
      readonly most: number;
      readonly mode: "greedy" | "lazy" | "possessive";
    };

/** Finds the matches of a pattern in order; empty ones are skipped. */
export type Matcher = (text: string) => Iterable<readonly [from: number, to: number]>;

/** A matcher for a pattern. Throws an UnsupportedError for syntax that heed does not support. */
export function compilePattern(pattern: string): Matcher {
  const node = new Parser(pattern).parse();
  if (isPlain(node)) return native(new RegExp(sourceOf(node), "gu"));
  return counted(node, pattern);
}

/** A matcher for a literal text. */
export function literal(content: string): Matcher {
  return function* (text) {
    if (content === "") return;
    for (let at = text.indexOf(content); at >= 0; at = text.indexOf(content, at + content.length))
      yield [at, at + content.length];
  };
}

function native(regex: RegExp): Matcher {
  return function* (text) {
    for (const match of text.matchAll(regex))
      if (match[0] !== "") yield [match.index, match.index + match[0].length];
  };
}

const SPACE = "\\p{White_Space}";
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

class Parser {
  readonly #pattern: string;
  readonly #characters: string[];
  #at = 0;
  #ignoreCase = false;
  #depth = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#characters = [...pattern];
    if (pattern.length > LONGEST)
      this.#refuse(`a pattern of ${pattern.length} characters; at most ${LONGEST} are read`);
  }

  parse(): Node {
    const node = this.#either();
    if (this.#at < this.#characters.length) this.#refuse("a ) without its (");
    return node;
  }

  #refuse(what: string): never {
    throw new UnsupportedError(
      "pattern",
      `tokenizer: the regular expression ${quote(this.#pattern)} is not one heed can run: ${what} (character ${this.#at})`,
      { pattern: this.#pattern },
    );
  }

  #next(text: string): boolean {
    const length = [...text].length;
    if (this.#characters.slice(this.#at, this.#at + length).join("") !== text) return false;
    this.#at += length;
    return true;
  }

  #either(): Node {
    if (++this.#depth > DEEPEST) this.#refuse(`groups deeper than ${DEEPEST}`);
    const items: Node[] = [this.#sequence()];
    while (this.#next("|")) items.push(this.#sequence());
    this.#depth--;
    return items.length === 1 ? items[0] : { kind: "either", items };
  }

  #sequence(): Node {
    const items: Node[] = [];
    while (this.#at < this.#characters.length && !"|)".includes(this.#characters[this.#at])) {
      const item = this.#atom();
      if (item) items.push(this.#repeated(item));
    }
    return items.length === 1 ? items[0] : { kind: "sequence", items };
  }

  #repeated(item: Node): Node {
    let node = item;
    for (;;) {
      let [least, most] = [0, Number.POSITIVE_INFINITY];
      const counted = /^\{(\d{0,5})(,?)(\d{0,5})\}/.exec(
        this.#characters.slice(this.#at, this.#at + 14).join(""),
      );
      if (this.#next("*")) least = 0;
      else if (this.#next("+")) least = 1;
      else if (this.#next("?")) most = 1;
      else if (counted && (counted[1] !== "" || counted[3] !== "")) {
        this.#at += counted[0].length;
        least = Number(counted[1]);
        most = counted[2] === "" ? least : counted[3] === "" ? Number.POSITIVE_INFINITY : Number(counted[3]);
        if (least > MOST || (most > MOST && most !== Number.POSITIVE_INFINITY) || least > most)
          this.#refuse(`the repetition ${counted[0]}`);
      } else return node;
      if (node.kind === "look" || node.kind === "anchor")
        this.#refuse("a repetition of something without width");
      const mode = this.#next("?") ? "lazy" : this.#next("+") ? "possessive" : "greedy";
      node = { kind: "repeat", item: node, least, most, mode };
    }
  }

  #atom(): Node | undefined {
    if (this.#next("(")) return this.#group();
    if (this.#next("[")) return { kind: "set", source: this.#set() };
    if (this.#next(".")) return { kind: "set", source: "[^\\n]" };
    // In this dialect both anchor to a line.
    if (this.#next("^")) return { kind: "anchor", source: "(?<![^\\n])" };
    if (this.#next("$")) return { kind: "anchor", source: "(?![^\\n])" };
    if (this.#next("\\")) {
      const anchors: Record<string, string> = { A: "(?<![^])", z: "(?![^])", Z: "(?=\\n?(?![^]))" };
      const letter = this.#characters[this.#at];
      if (Object.hasOwn(anchors, letter)) {
        this.#at++;
        return { kind: "anchor", source: anchors[letter] };
      }
      if (letter === "b" || letter === "B") {
        this.#at++;
        const [before, after] = [`(?<=[${WORD}])`, `(?=[${WORD}])`];
        const [notBefore, notAfter] = [`(?<![${WORD}])`, `(?![${WORD}])`];
        const source =
          letter === "b"
            ? `(?:${before}${notAfter}|${notBefore}${after})`
            : `(?:${before}${after}|${notBefore}${notAfter})`;
        return { kind: "anchor", source };
      }
      return { kind: "set", source: `[${this.#escape()}]` };
    }
    const character = this.#characters[this.#at];
    if ("*+?".includes(character)) this.#refuse(`nothing to repeat before ${character}`);
    this.#at++;
    return { kind: "set", source: `[${this.#literal(character)}]` };
  }

  #group(): Node | undefined {
    const outer = this.#ignoreCase;
    const inside = (): Node => {
      const node = this.#either();
      if (!this.#next(")")) this.#refuse("a ( without its )");
      this.#ignoreCase = outer;
      return node;
    };
    const look = (ahead: boolean, negative: boolean): Node => ({
      kind: "look",
      item: inside(),
      ahead,
      negative,
    });
    if (this.#next("?:")) return inside();
    if (this.#next("?=")) return look(true, false);
    if (this.#next("?!")) return look(true, true);
    if (this.#next("?<=")) return look(false, false);
    if (this.#next("?<!")) return look(false, true);
    if (this.#next("?>")) return { kind: "repeat", item: inside(), least: 1, most: 1, mode: "possessive" };
    if (this.#next("?i:")) {
      this.#ignoreCase = true;
      return inside();
    }
    // From here to the end of the enclosing group.
    if (this.#next("?i)")) {
      this.#ignoreCase = true;
      return undefined;
    }
    if (this.#characters[this.#at] === "?") this.#refuse("this kind of group");
    return inside();
  }

  /** The characters between [ and ], as a class in the engine's syntax. */
  #set(): string {
    const negative = this.#next("^");
    let source = "";
    for (let first = true; ; first = false) {
      if (this.#at >= this.#characters.length) this.#refuse("a [ without its ]");
      if (!first && this.#next("]")) break;
      if (this.#characters.slice(this.#at, this.#at + 2).join("") === "&&")
        this.#refuse("an intersection of classes");
      if (this.#next("[")) {
        if (this.#characters[this.#at] === ":") this.#refuse("a POSIX class");
        const inner = this.#set();
        if (inner.startsWith("[^")) this.#refuse("a negated class inside a class");
        source += inner.slice(1, -1);
        continue;
      }
      let item: string;
      if (this.#next("\\")) item = this.#escape();
      else item = this.#literal(this.#characters[this.#at++]);
      source += item;
      if (this.#characters[this.#at] === "-" && this.#characters[this.#at + 1] !== "]") {
        const low = this.#lastLiteral;
        if (low === undefined) continue;
        this.#at++;
        if (this.#next("\\")) this.#escape();
        else this.#literal(this.#characters[this.#at++]);
        const high = this.#lastLiteral;
        if (high === undefined || high.codePointAt(0)! < low.codePointAt(0)!) this.#refuse("this range");
        source = source.slice(0, source.length - item.length);
        source += `${this.#plain(low)}-${this.#plain(high!)}`;
        if (this.#ignoreCase && /[a-z]/i.test(low) && /[a-z]/i.test(high!))
          source += `${low.toLowerCase()}-${high!.toLowerCase()}${low.toUpperCase()}-${high!.toUpperCase()}`;
      }
    }
    return `[${negative ? "^" : ""}${source}]`;
  }

  #lastLiteral: string | undefined;

  #plain(character: string): string {
    return /[\p{L}\p{N} ]/u.test(character) ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`;
  }

  /** A character as an item of a class, in both cases if case is ignored. */
  #literal(character: string): string {
    this.#lastLiteral = character;
    if (!this.#ignoreCase) return this.#plain(character);
    const both = new Set([character, character.toLowerCase(), character.toUpperCase()]);
    // The long s and the Kelvin sign match s and k when case is ignored.
    if (both.has("s")) both.add("\u017f");
    if (both.has("k")) both.add("\u212a");
    return [...both]
      .filter((one) => [...one].length === 1)
      .map((one) => this.#plain(one))
      .join("");
  }

  /** An escape sequence, as items of a class. */
  #escape(): string {
    const letter = this.#characters[this.#at++];
    this.#lastLiteral = undefined;
    const classes: Record<string, string> = {
      s: SPACE,
      S: "\\P{White_Space}",
      d: "\\p{Nd}",
      D: "\\P{Nd}",
      w: WORD,
      h: "\\p{Hex_Digit}",
    };
    if (letter !== undefined && Object.hasOwn(classes, letter)) return classes[letter];
    const controls: Record<string, string> = {
      n: "\n",
      r: "\r",
      t: "\t",
      f: "\f",
      v: "\v",
      a: "\x07",
      e: "\x1b",
      "0": "\0",
    };
    if (letter !== undefined && Object.hasOwn(controls, letter)) return this.#literal(controls[letter]);
    const rest = this.#characters.slice(this.#at, this.#at + 48).join("");
    if (letter === "p" || letter === "P") {
      const name = /^\{(\^?)([A-Za-z_=-]{1,40})\}/.exec(rest);
      if (!name) this.#refuse("this property");
      this.#at += name![0].length;
      const negative = (letter === "P") !== (name![1] === "^");
      return `\\${negative ? "P" : "p"}{${this.#property(name![2])}}`;
    }
    const code = /^(?:x\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/.exec(letter + rest);
    if (code) {
      this.#at += code[0].length - 1;
      const point = Number.parseInt(code[1] ?? code[2] ?? code[3], 16);
      if (point > 0x10ffff) this.#refuse("this code point");
      return this.#literal(String.fromCodePoint(point));
    }
    if (letter === undefined || /[\p{L}\p{N}]/u.test(letter)) this.#refuse(`\\${letter ?? ""}`);
    return this.#literal(letter);
  }

  /** A Unicode property, by its name or as a script. */
  #property(name: string): string {
    for (const one of [name, `Script=${name}`])
      try {
        new RegExp(`\\p{${one}}`, "u");
        return one;
      } catch {
        // The engine does not have this name: try the next spelling.
      }
    return this.#refuse(`the property ${name}`);
  }
}

/** True if backtracking is limited: no repetition inside a repetition, none possessive. */
function isPlain(node: Node, inside = false): boolean {
  switch (node.kind) {
    case "set":
    case "anchor":
      return true;
    case "look":
      return isPlain(node.item, inside);
    case "repeat":
      return !inside && node.mode !== "possessive" && isPlain(node.item, node.most > 1);
    default:
      return node.items.every((item) => isPlain(item, inside)) && (node.kind !== "either" || !inside);
  }
}

/** The node in the engine's syntax. */
function sourceOf(node: Node): string {
  switch (node.kind) {
    case "set":
    case "anchor":
      return node.source;
    case "sequence":
      return node.items.map(sourceOf).join("");
    case "either":
      return `(?:${node.items.map(sourceOf).join("|")})`;
    case "look":
      return `(?${node.ahead ? "" : "<"}${node.negative ? "!" : "="}${sourceOf(node.item)})`;
    case "repeat": {
      const { least, most, mode, item } = node;
      const inner = item.kind === "set" ? sourceOf(item) : `(?:${sourceOf(item)})`;
      return `${inner}{${least},${most === Number.POSITIVE_INFINITY ? "" : most}}${mode === "lazy" ? "?" : ""}`;
    }
  }
}

/** The continuation of a match: true if the rest of the pattern matches from here. */
type Continue = (at: number) => boolean;
type Step = (at: number, then: Continue) => boolean;

/** The end of the first match at a position; −1 if there is none. */
function endOf(step: Step, at: number): number {
  let end = -1;
  step(at, (next) => {
    end = next;
    return true;
  });
  return end;
}

/** A backtracking matcher of closures that counts its steps. */
function counted(node: Node, pattern: string): Matcher {
  let text = "";
  let left = 0;
  let deep = 0;
  const count = () => {
    if (--left < 0 || deep > 4000)
      throw new UnsupportedError(
        "pattern-limit",
        `tokenizer: the regular expression ${quote(pattern)} takes too many steps on this text`,
        { pattern },
      );
  };
  const build = (it: Node): Step => {
    switch (it.kind) {
      case "set": {
        const regex = new RegExp(it.source, "uy");
        return (at, then) => {
          count();
          regex.lastIndex = at;
          return regex.test(text) && then(regex.lastIndex);
        };
      }
      case "anchor": {
        const regex = new RegExp(it.source, "uy");
        return (at, then) => {
          count();
          regex.lastIndex = at;
          return regex.test(text) && then(at);
        };
      }
      case "sequence": {
        const steps = it.items.map(build);
        const from = (n: number, at: number, then: Continue): boolean =>
          n === steps.length ? then(at) : steps[n](at, (next) => from(n + 1, next, then));
        return (at, then) => from(0, at, then);
      }
      case "either": {
        const steps = it.items.map(build);
        return (at, then) => steps.some((step) => step(at, then));
      }
      case "look": {
        if (it.ahead) {
          const step = build(it.item);
          return (at, then) => step(at, () => true) !== it.negative && then(at);
        }
        if (!isPlain(it.item))
          throw new UnsupportedError(
            "pattern",
            `tokenizer: the regular expression ${quote(pattern)} is not one heed can run: it looks back over repetitions`,
            { pattern },
          );
        const regex = new RegExp(`(?<=${sourceOf(it.item)})`, "uy");
        return (at, then) => {
          count();
          regex.lastIndex = at;
          return regex.test(text) !== it.negative && then(at);
        };
      }
      case "repeat": {
        const step = build(it.item);
        const { least, most, mode } = it;
        // Takes as many as it can, without backtracking.
        const possessive: Step = (at, then) => {
          let here = at;
          for (let n = 0; n < most; n++) {
            const end = endOf(step, here);
            if (end < 0 || end === here) {
              if (n < least) return false;
              break;
            }
            here = end;
          }
          return then(here);
        };
        if (mode === "possessive") return possessive;
        const from = (n: number, at: number, then: Continue): boolean => {
          count();
          deep++;
          const more = () =>
            n < most && step(at, (next) => (next > at || n < least) && from(n + 1, next, then));
          const enough = () => n >= least && then(at);
          const found = mode === "lazy" ? enough() || more() : more() || enough();
          deep--;
          return found;
        };
        return (at, then) => from(0, at, then);
      }
    }
  };
  const whole = build(node);
  return function* (given) {
    let at = 0;
    let budget = STEPS + STEPS_PER_UNIT * given.length;
    while (at < given.length) {
      // Another text may have been matched since the last result.
      [text, left, deep] = [given, budget, 0];
      const end = endOf(whole, at);
      budget = left;
      if (end > at) {
        yield [at, end];
        at = end;
      } else at += (given.codePointAt(at) as number) > 0xffff ? 2 : 1;
    }
  };
}
