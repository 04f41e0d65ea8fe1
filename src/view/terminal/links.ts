/** The strongest links of a text: of all, or of each token. */

import { pad, widthOf } from "../../store/text/label.ts";
import { headName, mapOf, namesOf, shortened, strength, type TextPage } from "./page.ts";
import { dim, plain } from "./paint.ts";
import { heading } from "./terminal.ts";

/** Links in a summary, and the longest name of a token there and in the list of each token. */
const LINKS = 6;
const NAME = 16;
const SHORT_NAME = 14;

/** The weight of one query on one key, in the head where it is largest. */
export interface TextLink {
  readonly query: number;
  readonly key: number;
  readonly layer: number;
  readonly head: number;
  readonly weight: number;
}

/** The links of each row, the largest first: one per key, in the head where the weight is largest. */
export async function linksOf(page: TextPage): Promise<TextLink[][]> {
  const best = page.labels.query.map(() => new Map<number, TextLink>());
  for (const measured of page.heads) {
    const { weights, keys } = await mapOf(page, measured, "");
    const { layer, head } = measured.ref;
    best.forEach((links, query) => {
      for (let key = 0; key < keys; key++) {
        const weight = weights[query * keys + key];
        if (weight > (links.get(key)?.weight ?? 0)) links.set(key, { query, key, layer, head, weight });
      }
    });
  }
  return best.map((links) =>
    [...links.values()].sort(
      (a, b) => b.weight - a.weight || a.layer - b.layer || a.head - b.head || a.key - b.key,
    ),
  );
}

/** True for links between two different tokens of the text: no special tokens, and not to the first token. */
function isText({ block, words }: TextPage, { query, key }: TextLink): boolean {
  const [i, j] = words ? [words.query[query].start, words.key[key].start] : [query, key];
  const { special, kind, queryOffset } = block;
  return !special.query[i] && !special.key[j] && (kind === "cross" || (i + queryOffset !== j && j > 0));
}

/** The strongest links of the text, one per line. */
export function linkLines(page: TextPage, links: readonly (readonly TextLink[])[]): string[] {
  const { paint } = page;
  const all = links.flat();
  const text = all.filter((link) => isText(page, link));
  const distant = text.filter(({ query, key }) => page.block.kind === "cross" || Math.abs(query - key) >= 2);
  const [chosen, which] = (
    [
      [distant, "between tokens that are not neighbors"],
      [text, "between tokens"],
      [all, "of all tokens"],
    ] as const
  ).find(([list]) => list.length > 0 || list === all)!;
  const shown = chosen.toSorted((a, b) => b.weight - a.weight).slice(0, LINKS);
  const names = namesOf(page);
  const label = ({ query, key }: TextLink) =>
    `${shortened(names.query[query], NAME, paint)} ${plain("→", paint)} ${shortened(names.key[key], NAME, paint)}`;
  const width = Math.max(1, ...shown.map((link) => widthOf(label(link))));
  const isSingle = page.heads.length === 1;
  const note = isSingle ? ", in this head" : "; L1 H2: found in layer 1, head 2";
  return [
    ...heading("strongest links", which + note, page),
    ...shown.map((link) =>
      `${pad(label(link), width)}  ${strength(link.weight, paint)}  ${isSingle ? "" : dim(headName(link), paint)}`.trimEnd(),
    ),
  ];
}

/** The strongest links of each token. */
export function rowLinkLines(
  page: TextPage,
  links: readonly (readonly TextLink[])[],
  limit: number,
): string[] {
  const { columns, paint } = page;
  const names = namesOf(page);
  const width = Math.min(SHORT_NAME, Math.max(1, ...names.query.map(widthOf), ...names.key.map(widthOf)));
  const name = (text: string) => pad(shortened(text, width, paint), width);
  const headWidth = Math.max(6, ...page.heads.map(({ ref }) => headName(ref).length));
  const entry = (link: TextLink) =>
    `${name(names.key[link.key])} ${strength(link.weight, paint)} ${dim(headName(link).padEnd(headWidth), paint)}`;
  const entryWidth = width + 1 + 4 + 1 + headWidth + 3;
  const fit = Math.max(1, Math.min(limit, Math.floor((columns - width - 3) / entryWidth)));
  return [
    ...heading("strongest links", "what each token attends to most; L1 H2: in layer 1, head 2", page),
    ...links.map((row, query) =>
      `${name(names.query[query])} ${plain("→", paint)} ${row.slice(0, fit).map(entry).join("   ")}`.trimEnd(),
    ),
  ];
}
