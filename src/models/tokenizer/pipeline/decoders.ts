/** Decoders of tokenizer.json: from tokens to a list of texts, which are concatenated at the end. */
import { bytesOfToken } from "../bytes.ts";
import { joinPieces } from "../wordpiece.ts";
import { readPattern } from "./normalizers.ts";
import type { ConfigPart } from "./part.ts";

/** Turns tokens into texts. */
export type TokenDecoder = (tokens: readonly string[]) => readonly string[];

/** The decoder of a part. */
export function readDecoder(part: ConfigPart): TokenDecoder {
  switch (part.type) {
    case "Sequence": {
      const steps = part.parts("decoders").map(readDecoder);
      return (tokens) => steps.reduce((so, step) => step(so), tokens);
    }
    case "ByteLevel":
      return (tokens) => {
        const bytes = tokens.flatMap((token) => [
          ...(bytesOfToken(token) ?? new TextEncoder().encode(token)),
        ]);
        return [new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes))];
      };
    case "WordPiece": {
      const [prefix, cleanup] = [part.text("prefix"), part.flag("cleanup")];
      return (tokens) =>
        tokens.map((token, i) => joinPieces(i === 0 ? [token] : ["", token], prefix, cleanup));
    }
    case "Metaspace": {
      const mark = part.text("replacement");
      const adds = part.has("prepend_scheme")
        ? part.text("prepend_scheme") !== "never"
        : part.flag("add_prefix_space", true);
      return (tokens) =>
        tokens.map((token, i) => {
          const text = token.replaceAll(mark, " ");
          return i === 0 && adds && text.startsWith(" ") ? text.slice(1) : text;
        });
    }
    case "ByteFallback":
      return fallback;
    case "Fuse":
      return (tokens) => [tokens.join("")];
    case "Replace": {
      const matcher = readPattern(part);
      const content = part.text("content");
      return (tokens) =>
        tokens.map((token) => {
          let text = "";
          let done = 0;
          for (const [from, to] of matcher(token)) {
            text += token.slice(done, from) + content;
            done = to;
          }
          return text + token.slice(done);
        });
    }
    case "Strip": {
      const content = part.text("content");
      const [start, stop] = [part.size("start", 2 ** 16), part.size("stop", 2 ** 16)];
      return (tokens) =>
        tokens.map((token) => {
          let [from, to] = [0, token.length];
          for (let n = 0; n < start && token.startsWith(content, from) && from < to; n++)
            from += content.length;
          for (let n = 0; n < stop && to > from && token.slice(0, to).endsWith(content); n++)
            to -= content.length;
          return token.slice(from, Math.max(from, to));
        });
    }
    case "BPEDecoder": {
      const suffix = part.text("suffix");
      return (tokens) =>
        tokens.map((token, i) => token.replaceAll(suffix, i === tokens.length - 1 ? "" : " "));
    }
    default:
      return part.refuse("is not a decoder heed has");
  }
}

/** Decodes tokens such as `<0xE2>` as bytes; a run that is not UTF-8 gives one U+FFFD per byte. */
function fallback(tokens: readonly string[]): string[] {
  const out: string[] = [];
  let bytes: number[] = [];
  const flush = () => {
    if (bytes.length === 0) return;
    try {
      out.push(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes)));
    } catch {
      out.push(..."\ufffd".repeat(bytes.length));
    }
    bytes = [];
  };
  for (const token of tokens) {
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
    if (byte) bytes.push(Number.parseInt(byte[1], 16));
    else {
      flush();
      out.push(token);
    }
  }
  flush();
  return out;
}
