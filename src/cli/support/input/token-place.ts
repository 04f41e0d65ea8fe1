/** A token of a text by its number or its word, for options such as `--query`. */
import { UsageError } from "../line/command.ts";

/**
 * The position of a token: a number from 0, or a word that one token of the text has.
 *
 * @throws UsageError where no token or several have the word
 */
export function tokenPlace(option: string, value: unknown, tokens: readonly string[]): number {
  const text = String(value ?? "").trim();
  if (value === undefined || text === "")
    throw new UsageError(`--${option} is missing: the word of a token, or its number from 0`);
  const listed = tokens.map((token, n) => `${n} ${token.trim()}`).join(", ");
  if (/^\d+$/.test(text)) {
    if (Number(text) < tokens.length) return Number(text);
    throw new UsageError(
      `--${option} must be 0 to ${tokens.length - 1}, got ${text}; the tokens are ${listed}`,
    );
  }
  const places = [...tokens.keys()].filter((n) => tokens[n].trim().toLowerCase() === text.toLowerCase());
  if (places.length === 1) return places[0];
  throw new UsageError(
    places.length === 0
      ? `--${option}: no token is ${JSON.stringify(text)}; the tokens are ${listed}`
      : `--${option}: tokens ${places.join(" and ")} are ${JSON.stringify(text)}; give one of the numbers`,
  );
}

/**
 * A link of a head, LAYER.HEAD:QUERY:KEY, with the tokens as in `tokenPlace`.
 *
 * @throws UsageError for another form, and where a token is missing or ambiguous
 */
export function headLinkPlace(option: string, value: unknown, tokens: readonly string[]) {
  const match = /^(\d+)\.(\d+):(.*)$/s.exec(String(value));
  if (!match)
    throw new UsageError(
      `--${option} is LAYER.HEAD:QUERY:KEY, such as 0.4:flies:time, got ${JSON.stringify(value)}`,
    );
  const [, layer, head, link] = match;
  return { layer: Number(layer), head: Number(head), ...linkPlace(option, link, tokens) };
}

/**
 * The two tokens of a link, QUERY:KEY, each as in `tokenPlace`.
 *
 * @throws UsageError for another form, and where a token is missing or ambiguous
 */
export function linkPlace(
  option: string,
  value: unknown,
  tokens: readonly string[],
): { readonly query: number; readonly key: number } {
  const [query, key, ...more] = String(value).split(":");
  if (key === undefined || more.length > 0)
    throw new UsageError(
      `--${option} is QUERY:KEY, the words or numbers of two tokens, such as flies:time, got ${JSON.stringify(value)}`,
    );
  return { query: tokenPlace(option, query, tokens), key: tokenPlace(option, key, tokens) };
}
