/**
 * The models of tokenizer.json, which turn a chunk into tokens: BPE in all its variants (over bytes, over characters with an
 * unknown token or byte fallback, with marks at word ends), WordPiece, whole words, and Unigram (Kudo 2018, arXiv 1804.10959).
 */
import type { Json } from "../../../io/json.ts";
import { cached } from "../cutter.ts";
import { endOfIds, join } from "../joins.ts";
import { longestPiece } from "../wordpiece.ts";
import { type ConfigPart, shown } from "./part.ts";

/** A token of a chunk: its id, and the UTF-16 units of the chunk that it covers. */
export interface Cut {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

/** A vocabulary, and the function that turns a chunk into its tokens. */
export interface TokenModel {
  readonly vocab: ReadonlyMap<string, number>;
  cut(chunk: string): readonly Cut[];
  /** The id of a word that a vocabulary of whole words does not have. */
  readonly unknownWord?: number;
  /** A fact that a user should know. */
  readonly note?: string;
}

/** Ids are below this. */
const MAX_ID = 2 ** 22;

/** The model of a part. */
export function readTokenModel(part: ConfigPart): TokenModel {
  // Files of early versions have no type: the fields identify the model.
  const type =
    part.type ||
    (part.has("merges")
      ? "BPE"
      : part.has("max_input_chars_per_word")
        ? "WordPiece"
        : Array.isArray(part.value("vocab"))
          ? "Unigram"
          : "WordLevel");
  const read = { BPE: readBpe, WordPiece: readWordPiece, WordLevel: readWordLevel, Unigram: readUnigram };
  if (!Object.hasOwn(read, type)) return part.refuse(`model type ${type} is not one heed has`);
  const model = read[type as keyof typeof read](part);
  return { ...model, cut: cached(model.cut) };
}

function readVocabulary(part: ConfigPart): Map<string, number> {
  const vocab = part.entries("vocab");
  vocab.forEach((id, token) => {
    checkId(part, token, id);
  });
  return vocab as Map<string, number>;
}

function checkId(part: ConfigPart, token: string, id: Json): void {
  if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= MAX_ID)
    part.refuse(`the id of ${shown(token)} must be an integer from 0 to ${MAX_ID - 1}, got ${shown(id)}`);
}

/** Ids of the byte tokens `<0x00>` … `<0xFF>`; undefined unless all are in the vocabulary. */
function byteTokens(vocab: ReadonlyMap<string, number>): readonly number[] | undefined {
  const ids = Array.from({ length: 256 }, (_, byte) =>
    vocab.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`),
  );
  return ids.every((id) => id !== undefined) ? (ids as number[]) : undefined;
}

function readBpe(part: ConfigPart): TokenModel {
  const vocab = readVocabulary(part);
  const dropout = part.has("dropout") && part.value("dropout") !== 0;
  const prefix = part.text("continuing_subword_prefix", "");
  const suffix = part.text("end_of_word_suffix", "");
  const fuse = part.flag("fuse_unk", false);
  const ignoreMerges = part.flag("ignore_merges", false);
  const bytes = part.flag("byte_fallback", false) ? byteTokens(vocab) : undefined;
  const unknownToken = part.has("unk_token") ? part.text("unk_token") : undefined;
  const unknown = unknownToken === undefined ? undefined : vocab.get(unknownToken);
  if (unknownToken !== undefined && unknown === undefined)
    part.refuse(`unk_token ${shown(unknownToken)} is not in the vocabulary`);
  const size = endOfIds(vocab);
  const merges = part.list("merges");
  const rank = new Map<number, number>();
  const product = new Int32Array(merges.length);
  merges.forEach((merge, place) => {
    const pair = typeof merge === "string" ? merge.split(" ") : merge;
    if (!Array.isArray(pair) || pair.length !== 2 || pair.some((one) => typeof one !== "string"))
      return part.refuse(`merge ${place} must be two tokens, got ${shown(merge)}`);
    const [a, b] = pair as [string, string];
    const spelling = a + (b.startsWith(prefix) ? b.slice(prefix.length) : b);
    const [left, right, id] = [vocab.get(a), vocab.get(b), vocab.get(spelling)];
    if (left === undefined || right === undefined || id === undefined)
      return part.refuse(
        `merge ${place} of ${shown(a)} and ${shown(b)} has a token that is not in the vocabulary`,
      );
    // If a pair is listed twice the later rank counts, as in the original.
    rank.set(left * size + right, place);
    product[place] = id;
  });

  return {
    vocab,
    ...(dropout && {
      note: "tokenizer.json has BPE dropout, which leaves out merges at random; heed applies all merges",
    }),
    cut(chunk) {
      if (chunk === "") return [];
      const id = ignoreMerges ? vocab.get(chunk) : undefined;
      if (id !== undefined) return [{ id, from: 0, to: chunk.length }];
      const symbols: number[] = [];
      const starts: number[] = [];
      const ends: number[] = [];
      let open = -1;
      const put = (id: number, from: number, to: number) => {
        symbols.push(id);
        starts.push(from);
        ends.push(to);
      };
      let at = 0;
      for (const character of chunk) {
        const end = at + character.length;
        const spelling = (at > 0 ? prefix : "") + character + (end === chunk.length ? suffix : "");
        const id = vocab.get(spelling);
        if (id !== undefined) {
          put(id, at, end);
          open = -1;
        } else if (bytes) {
          for (const byte of new TextEncoder().encode(spelling)) put(bytes[byte], at, end);
          open = -1;
        } else if (unknown !== undefined) {
          if (fuse && open >= 0) ends[open] = end;
          else {
            open = symbols.length;
            put(unknown, at, end);
          }
        }
        at = end;
      }
      const { ids, lengths } = join(Int32Array.from(symbols), { rank, product, size });
      let first = 0;
      return ids.map((id, i) => {
        const from = starts[first];
        first += lengths[i];
        return { id, from, to: ends[first - 1] };
      });
    },
  };
}

function readWordPiece(part: ConfigPart): TokenModel {
  const vocab = readVocabulary(part);
  const prefix = part.text("continuing_subword_prefix");
  const limit = part.size("max_input_chars_per_word", 2 ** 20);
  const unknown = unknownOf(part, vocab);
  const longest = longestPiece(vocab);
  return {
    vocab,
    cut(chunk) {
      const all = { id: unknown, from: 0, to: chunk.length };
      const characters = [...chunk];
      if (characters.length > limit) return [all];
      const cuts: Cut[] = [];
      for (let at = 0, unit = 0; at < characters.length; ) {
        let piece = at === 0 ? "" : prefix;
        let [id, stop, stopUnit] = [-1, at, unit];
        for (let end = at, to = unit; end < characters.length && piece.length <= longest; ) {
          piece += characters[end];
          to += characters[end++].length;
          const match = vocab.get(piece);
          if (match !== undefined) [id, stop, stopUnit] = [match, end, to];
        }
        if (id < 0) return [all];
        cuts.push({ id, from: unit, to: stopUnit });
        [at, unit] = [stop, stopUnit];
      }
      return cuts;
    },
  };
}

function readWordLevel(part: ConfigPart): TokenModel {
  const vocab = readVocabulary(part);
  const unknown = unknownOf(part, vocab);
  return {
    vocab,
    unknownWord: unknown,
    cut: (chunk) => [{ id: vocab.get(chunk) ?? unknown, from: 0, to: chunk.length }],
  };
}

function unknownOf(part: ConfigPart, vocab: ReadonlyMap<string, number>): number {
  const token = part.text("unk_token");
  return vocab.get(token) ?? part.refuse(`unk_token ${shown(token)} is not in the vocabulary`);
}

/** Penalty of an unknown character relative to the worst piece. */
const UNKNOWN_PENALTY = 10;

function readUnigram(part: ConfigPart): TokenModel {
  const list = part.list("vocab");
  if (list.length >= MAX_ID) part.refuse(`a vocabulary of ${list.length} pieces`);
  const vocab = new Map<string, number>();
  const scores = new Float64Array(list.length);
  let longest = 0;
  let worst = Number.POSITIVE_INFINITY;
  list.forEach((entry, id) => {
    const [piece, score] = Array.isArray(entry) ? entry : [];
    if (typeof piece !== "string" || typeof score !== "number")
      return part.refuse(`piece ${id} must be [text, score], got ${shown(entry)}`);
    vocab.set(piece, id);
    scores[id] = score;
    worst = Math.min(worst, score);
    longest = Math.max(longest, piece.length);
  });
  const unknown = part.has("unk_id") ? part.size("unk_id", list.length - 1) : undefined;
  const bytes = part.flag("byte_fallback", false) ? byteTokens(vocab) : undefined;
  // Length of the longest piece by its first character, which limits the lookups.
  const reach = new Map<string, number>();
  for (const piece of vocab.keys()) {
    const head = String.fromCodePoint(piece.codePointAt(0) ?? 0);
    reach.set(head, Math.max(reach.get(head) ?? 0, piece.length));
  }

  return {
    vocab,
    cut(chunk) {
      const n = chunk.length;
      if (n === 0) return [];
      // best[end]: the highest sum of scores of a segmentation of the first `end` units; begin[end], piece[end]: its last piece.
      const best = new Float64Array(n + 1);
      const begin = new Int32Array(n + 1).fill(-1);
      const piece = new Int32Array(n + 1);
      for (let at = 0; at < n; ) {
        const width = (chunk.codePointAt(at) as number) > 0xffff ? 2 : 1;
        let single = false;
        const limit = Math.min(n, at + (reach.get(chunk.slice(at, at + width)) ?? 0));
        for (let end = at + width; end <= limit; ) {
          const id = vocab.get(chunk.slice(at, end));
          if (id !== undefined) {
            const sum = best[at] + scores[id];
            if (begin[end] < 0 || sum > best[end]) {
              best[end] = sum;
              begin[end] = at;
              piece[end] = id;
            }
            if (end === at + width) single = true;
          }
          end += (chunk.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
        }
        if (!single) {
          if (unknown === undefined) return part.refuse("a character is unknown, and there is no unk_id");
          const end = at + width;
          const sum = best[at] + worst - UNKNOWN_PENALTY;
          if (begin[end] < 0 || sum > best[end]) {
            best[end] = sum;
            begin[end] = at;
            piece[end] = unknown;
          }
        }
        at += width;
      }
      const cuts: Cut[] = [];
      for (let end = n; end > 0; end = begin[end]) {
        const last = cuts[cuts.length - 1];
        // Neighboring unknown characters are one piece.
        if (last && piece[end] === unknown && last.id === unknown)
          cuts[cuts.length - 1] = { ...last, from: begin[end] };
        else cuts.push({ id: piece[end], from: begin[end], to: end });
      }
      cuts.reverse();
      if (!bytes) return cuts;
      return cuts.flatMap((cut) =>
        cut.id !== unknown
          ? [cut]
          : Array.from(new TextEncoder().encode(chunk.slice(cut.from, cut.to)), (byte) => ({
              ...cut,
              id: bytes[byte],
            })),
      );
    },
  };
}
