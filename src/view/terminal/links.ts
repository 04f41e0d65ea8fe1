/** The strongest links of a text: those of the largest contrast, or of each token those of the largest weight. */

import type { HeadRef } from "../../store/block.ts";
import { contrastRows, randomContrast } from "../../store/measures/contrast.ts";
import { pad, widthOf } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { headName, mapOf, namesOf, overPage, shortened, strength, type TextPage } from "./page.ts";
import { dim, plain } from "./paint.ts";
import { heading } from "./terminal.ts";

/** Links in a summary, and the longest name of a token there and in the list of each token. */
const LINKS = 6;
const NAME = 16;
const SHORT_NAME = 14;

/** Maximum number of cells of all heads that are read for contrasts; in longer texts some rows are left out. */
const CELLS = 2 ** 22;

/** The weight of one query on one key, in the head where the weight or its contrast is largest. */
export interface TextLink {
  readonly query: number;
  readonly key: number;
  readonly layer: number;
  readonly head: number;
  readonly weight: number;
  /** What the links are sorted by: the weight or the contrast. */
  readonly value: number;
}

/** The links of each row, the largest first: one per key, in the head where the weight or its contrast is largest. */
export async function linksOf(page: TextPage, by: "weight" | "contrast"): Promise<TextLink[][]> {
  const best = page.labels.query.map(() => new Map<number, TextLink>());
  for (const measured of page.heads) {
    const { weights, keys } = await mapOf(page, measured, "");
    const { layer, head } = measured.ref;
    const values = by === "weight" ? weights : overPage(page, await contrastsOf(page, measured.ref));
    best.forEach((links, query) => {
      for (let key = 0; key < keys; key++) {
        const [weight, value] = [weights[query * keys + key], values[query * keys + key]];
        if (weight > 0 && value > (links.get(key)?.value ?? -1))
          links.set(key, { query, key, layer, head, weight, value });
      }
    });
  }
  return best.map((links) =>
    [...links.values()].sort(
      (a, b) => b.value - a.value || a.layer - b.layer || a.head - b.head || a.key - b.key,
    ),
  );
}

/** The contrast of every cell of a head; −1 where no other row may attend to the key. */
async function contrastsOf({ store, block, heads }: TextPage, ref: HeadRef): Promise<Float64Array> {
  const all = new Float64Array(block.Nq * block.Nk).fill(-1);
  for await (const { i, contrast } of contrastRows(store, ref, { maxCells: CELLS / heads.length }))
    all.set(
      contrast.map((x) => (Number.isNaN(x) ? -1 : x)),
      i * block.Nk,
    );
  return all;
}

/** True for links between two different tokens of the text: no special tokens, and not to the first token. */
function isText({ block, words }: TextPage, { query, key }: TextLink): boolean {
  const [i, j] = words ? [words.query[query].start, words.key[key].start] : [query, key];
  const { special, kind, queryOffset } = block;
  return !special.query[i] && !special.key[j] && (kind === "cross" || (i + queryOffset !== j && j > 0));
}

/** The links of the text with the largest contrast, one per line: those that are above chance, which one link in a hundred of a random head is. */
export function linkLines(page: TextPage, links: readonly (readonly TextLink[])[]): string[] {
  const { paint } = page;
  const all = links.flatMap((row) => row.filter(({ value }) => value >= randomContrast(row.length)));
  const text = all.filter((link) => isText(page, link));
  const distant = text.filter(({ query, key }) => page.block.kind === "cross" || Math.abs(query - key) >= 2);
  const [chosen, which] = (
    [
      [distant, "between tokens that are not neighbors"],
      [text, "between tokens"],
      [all, "of all tokens"],
    ] as const
  ).find(([list]) => list.length > 0 || list === all)!;
  const shown = chosen.toSorted((a, b) => b.value - a.value).slice(0, LINKS);
  const names = namesOf(page);
  const label = ({ query, key }: TextLink) =>
    `${shortened(names.query[query], NAME, paint)} ${plain("→", paint)} ${shortened(names.key[key], NAME, paint)}`;
  const width = Math.max(1, ...shown.map((link) => widthOf(label(link))));
  const isSingle = page.heads.length === 1;
  const where = isSingle ? ", in this head" : "; L1 H2: found in layer 1, head 2";
  const note = `${where}; contrast: the weight minus what the head gives anyway`;
  return [
    ...heading(
      "strongest links",
      all.length > 0 ? which + note : "none is above those of random heads",
      page,
    ),
    ...shown.map((link) =>
      `${pad(label(link), width)}  ${strength(link.weight, paint)}  contrast ${plain(formatNumber(link.value, { digits: 2 }), paint).padEnd(6)}  ${isSingle ? "" : dim(headName(link), paint)}`.trimEnd(),
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
