/**
 * Runs parsed regular expressions (pattern.ts): as one of the engine where backtracking is limited, otherwise by closures that
 * count their steps.
 */
import { UnsupportedError } from "../../../core/errors.ts";
import { quote } from "../../../io/refuse.ts";

/** Maximum steps of the matcher: a constant, and a number per UTF-16 unit of text. */
const STEPS = 100_000;
const STEPS_PER_UNIT = 500;

/** A part of a parsed pattern; `set` and `anchor` are in the engine's syntax. */
export type PatternNode =
  | { readonly kind: "set"; readonly source: string }
  | { readonly kind: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly kind: "either"; readonly items: readonly PatternNode[] }
  | { readonly kind: "look"; readonly item: PatternNode; readonly ahead: boolean; readonly negative: boolean }
  | { readonly kind: "anchor"; readonly source: string }
  | {
      readonly kind: "repeat";
      readonly item: PatternNode;
      readonly minimum: number;
      readonly maximum: number;
      readonly mode: "greedy" | "lazy" | "possessive";
    };

/** Finds the matches of a pattern in order; empty ones are skipped. */
export type Matcher = (text: string) => Iterable<readonly [from: number, to: number]>;

/** True if backtracking is limited: no repetition inside a repetition, none possessive. */
export function isPlain(node: PatternNode, inside = false): boolean {
  switch (node.kind) {
    case "set":
    case "anchor":
      return true;
    case "look":
      return isPlain(node.item, inside);
    case "repeat":
      return !inside && node.mode !== "possessive" && isPlain(node.item, node.maximum > 1);
    default:
      return node.items.every((item) => isPlain(item, inside)) && (node.kind !== "either" || !inside);
  }
}

/** The node in the engine's syntax. */
export function sourceOf(node: PatternNode): string {
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
      const { minimum, maximum, mode, item } = node;
      const inner = item.kind === "set" ? sourceOf(item) : `(?:${sourceOf(item)})`;
      return `${inner}{${minimum},${maximum === Number.POSITIVE_INFINITY ? "" : maximum}}${mode === "lazy" ? "?" : ""}`;
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
export function counted(node: PatternNode, pattern: string): Matcher {
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
  const build = (it: PatternNode): Step => {
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
        const { minimum, maximum, mode } = it;
        // Takes as many as it can, without backtracking.
        const possessive: Step = (at, then) => {
          let here = at;
          for (let n = 0; n < maximum; n++) {
            const end = endOf(step, here);
            if (end < 0 || end === here) {
              if (n < minimum) return false;
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
            n < maximum && step(at, (next) => (next > at || n < minimum) && from(n + 1, next, then));
          const enough = () => n >= minimum && then(at);
          const matched = mode === "lazy" ? enough() || more() : more() || enough();
          deep--;
          return matched;
        };
        return (at, then) => from(0, at, then);
      }
    }
  };
  const root = build(node);
  return function* (input) {
    let at = 0;
    let budget = STEPS + STEPS_PER_UNIT * input.length;
    while (at < input.length) {
      // Another text may have been matched since the last result.
      [text, left, deep] = [input, budget, 0];
      const end = endOf(root, at);
      budget = left;
      if (end > at) {
        yield [at, end];
        at = end;
      } else at += (input.codePointAt(at) as number) > 0xffff ? 2 : 1;
    }
  };
}
