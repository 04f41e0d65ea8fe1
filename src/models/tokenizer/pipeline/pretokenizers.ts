/** Pre-tokenizers of tokenizer.json, which split a text into chunks that no token crosses. */
import { escaped } from "../added.ts";
import { GPT2_CHUNKS } from "../bytes.ts";
import type { Aligned } from "./aligned.ts";
import type { Matcher } from "./matcher.ts";
import { readPattern, toBytes } from "./normalizers.ts";
import type { ConfigPart } from "./part.ts";

/** Splits a chunk into smaller ones. */
export type PreTokenizer = (chunk: Aligned) => Iterable<Aligned>;

/** What to do with the matches of a pattern between chunks. */
export type Behavior = "Removed" | "Isolated" | "MergedWithPrevious" | "MergedWithNext" | "Contiguous";
const BEHAVIORS: readonly string[] = [
  "Removed",
  "Isolated",
  "MergedWithPrevious",
  "MergedWithNext",
  "Contiguous",
];

/** A matcher for a regular expression of the engine. */
const matching = (regex: RegExp): Matcher =>
  function* (text) {
    for (const match of text.matchAll(regex)) yield [match.index, match.index + match[0].length];
  };
const SPACES = matching(/\p{White_Space}+/gu);
const SPACE = matching(/\p{White_Space}/gu);
const PUNCTUATION = matching(/[!-/:-@[-`{-~\p{P}]/gu);
const DIGITS = matching(/\p{N}+/gu);
const DIGIT = matching(/\p{N}/gu);
const WORDS = matching(
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu,
);

/** The pre-tokenizer of a part. */
export function readPreTokenizer(part: ConfigPart): PreTokenizer {
  switch (part.type) {
    case "Sequence": {
      const steps = part.parts("pretokenizers").map(readPreTokenizer);
      return (chunk) => steps.reduce<Aligned[]>((so, step) => so.flatMap((one) => [...step(one)]), [chunk]);
    }
    case "ByteLevel": {
      const prefix = part.flag("add_prefix_space");
      const cuts = part.flag("use_regex", true);
      return function* (chunk) {
        const text = prefix && chunk.text !== "" && !chunk.text.startsWith(" ") ? chunk.prepend(" ") : chunk;
        const words = cuts ? split(text, matching(GPT2_CHUNKS), "Isolated", false) : [text];
        for (const word of words) yield toBytes(word);
      };
    }
    case "Split": {
      const matcher = readPattern(part);
      const behavior = readBehavior(part);
      const invert = part.flag("invert", false);
      return (chunk) => split(chunk, matcher, behavior, invert);
    }
    case "Metaspace": {
      const mark = part.text("replacement");
      if ([...mark].length !== 1) part.refuse("replacement must be one character");
      // Files of earlier versions have add_prefix_space.
      const scheme = part.has("prepend_scheme")
        ? part.text("prepend_scheme")
        : part.flag("add_prefix_space", true)
          ? "always"
          : "never";
      if (!["always", "first", "never"].includes(scheme))
        part.refuse(`prepend_scheme must be always, first or never`);
      const cuts = part.flag("split", true);
      return (chunk) => {
        let text = chunk.replace(matching(/ /g)(chunk.text), mark);
        const wanted = scheme === "always" || (scheme === "first" && chunk.start === 0);
        if (wanted && !text.text.startsWith(mark)) text = text.prepend(mark);
        return cuts
          ? split(text, matching(new RegExp(escaped(mark), "gu")), "MergedWithNext", false)
          : [text];
      };
    }
    case "Whitespace":
      return (chunk) => split(chunk, WORDS, "Removed", true);
    case "WhitespaceSplit":
      return (chunk) => split(chunk, SPACES, "Removed", false);
    case "BertPreTokenizer":
      return function* (chunk) {
        for (const word of split(chunk, SPACE, "Removed", false))
          yield* split(word, PUNCTUATION, "Isolated", false);
      };
    case "Punctuation": {
      const behavior = part.has("behavior") ? readBehavior(part) : "Isolated";
      return (chunk) => split(chunk, PUNCTUATION, behavior, false);
    }
    case "Digits": {
      const each = part.flag("individual_digits");
      return (chunk) => split(chunk, each ? DIGIT : DIGITS, "Isolated", false);
    }
    case "CharDelimiterSplit": {
      const delimiter = part.text("delimiter");
      if ([...delimiter].length !== 1) part.refuse("delimiter must be one character");
      return (chunk) => split(chunk, matching(new RegExp(escaped(delimiter), "gu")), "Removed", false);
    }
    default:
      return part.refuse("is not a pre-tokenizer heed has");
  }
}

function readBehavior(part: ConfigPart): Behavior {
  const behavior = part.text("behavior");
  // Some files have the names in snake case.
  const name = behavior.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return BEHAVIORS.includes(name)
    ? (name as Behavior)
    : part.refuse(`behavior must be ${BEHAVIORS.join(", ")}, got ${behavior}`);
}

/** Splits at the matches of a pattern; with `invert`, at the text between them. */
function* split(chunk: Aligned, matcher: Matcher, behavior: Behavior, invert: boolean): Generator<Aligned> {
  const { text } = chunk;
  const ranges: { from: number; to: number; isMatch: boolean }[] = [];
  let done = 0;
  for (const [from, to] of matcher(text)) {
    if (from > done) ranges.push({ from: done, to: from, isMatch: invert });
    ranges.push({ from, to, isMatch: !invert });
    done = to;
  }
  if (done < text.length) ranges.push({ from: done, to: text.length, isMatch: invert });
  for (const { from, to } of joined(ranges, behavior)) if (to > from) yield chunk.slice(from, to);
}

type Range = { from: number; to: number; isMatch: boolean };

function joined(ranges: readonly Range[], behavior: Behavior): Range[] {
  switch (behavior) {
    case "Removed":
      return ranges.filter(({ isMatch }) => !isMatch);
    case "Isolated":
      return [...ranges];
    case "Contiguous": {
      const out: Range[] = [];
      for (const range of ranges) {
        const last = out[out.length - 1];
        if (last && last.isMatch === range.isMatch) last.to = range.to;
        else out.push({ ...range });
      }
      return out;
    }
    case "MergedWithPrevious": {
      const out: Range[] = [];
      let afterMatch = false;
      for (const range of ranges) {
        const last = out[out.length - 1];
        if (range.isMatch && !afterMatch && last) last.to = range.to;
        else out.push({ ...range });
        afterMatch = range.isMatch;
      }
      return out;
    }
    case "MergedWithNext": {
      const out: Range[] = [];
      let afterMatch = false;
      for (const range of [...ranges].reverse()) {
        const last = out[out.length - 1];
        if (range.isMatch && !afterMatch && last) last.from = range.from;
        else out.push({ ...range });
        afterMatch = range.isMatch;
      }
      return out.reverse();
    }
  }
}
