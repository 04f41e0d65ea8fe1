/**
 * Regular expressions of tokenizer files, in the Oniguruma dialect that Hugging Face's tokenizers use. They are parsed here, and
 * never passed to the engine unparsed. A pattern with little backtracking (no repetition inside a repetition) becomes a regular
 * expression of the engine; other patterns, and possessive repetitions, run in a small backtracking matcher with a limit on its
 * steps.
 */
import { UnsupportedError } from "../../../core/errors.ts";
import { quote } from "../../../io/refuse.ts";
import { counted, isPlain, type Matcher, type PatternNode, sourceOf } from "./matcher.ts";

/** Maximum length of a pattern, depth of groups, and count of a repetition. */
const LONGEST = 4096;
const DEEPEST = 32;
const MOST = 1000;
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

  parse(): PatternNode {
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

  #either(): PatternNode {
    if (++this.#depth > DEEPEST) this.#refuse(`groups deeper than ${DEEPEST}`);
    const items: PatternNode[] = [this.#sequence()];
    while (this.#next("|")) items.push(this.#sequence());
    this.#depth--;
    return items.length === 1 ? items[0] : { kind: "either", items };
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = [];
    while (this.#at < this.#characters.length && !"|)".includes(this.#characters[this.#at])) {
      const item = this.#atom();
      if (item) items.push(this.#repeated(item));
    }
    return items.length === 1 ? items[0] : { kind: "sequence", items };
  }

  #repeated(item: PatternNode): PatternNode {
    let node = item;
    for (;;) {
      let [minimum, maximum] = [0, Number.POSITIVE_INFINITY];
      const counted = /^\{(\d{0,5})(,?)(\d{0,5})\}/.exec(
        this.#characters.slice(this.#at, this.#at + 14).join(""),
      );
      if (this.#next("*")) minimum = 0;
      else if (this.#next("+")) minimum = 1;
      else if (this.#next("?")) maximum = 1;
      else if (counted && (counted[1] !== "" || counted[3] !== "")) {
        this.#at += counted[0].length;
        minimum = Number(counted[1]);
        maximum =
          counted[2] === "" ? minimum : counted[3] === "" ? Number.POSITIVE_INFINITY : Number(counted[3]);
        if (minimum > MOST || (maximum > MOST && maximum !== Number.POSITIVE_INFINITY) || minimum > maximum)
          this.#refuse(`the repetition ${counted[0]}`);
      } else return node;
      if (node.kind === "look" || node.kind === "anchor")
        this.#refuse("a repetition of something without width");
      const mode = this.#next("?") ? "lazy" : this.#next("+") ? "possessive" : "greedy";
      node = { kind: "repeat", item: node, minimum, maximum, mode };
    }
  }

  #atom(): PatternNode | undefined {
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

  #group(): PatternNode | undefined {
    const outer = this.#ignoreCase;
    const inside = (): PatternNode => {
      const node = this.#either();
      if (!this.#next(")")) this.#refuse("a ( without its )");
      this.#ignoreCase = outer;
      return node;
    };
    const look = (ahead: boolean, negative: boolean): PatternNode => ({
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
    if (this.#next("?>"))
      return { kind: "repeat", item: inside(), minimum: 1, maximum: 1, mode: "possessive" };
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
