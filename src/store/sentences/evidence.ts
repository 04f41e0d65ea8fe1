/**
 * What may be said about one link, in one clause. A weight alone is no evidence: "flies gives time 80 % of its attention" is a finding
 * where the other tokens give it 4 %, and none where they give it 78 %. The claim is never stronger than the verdict of
 * `measures/contrast.ts`.
 */

import { checkArgument, checkCount, isList } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import type { Block } from "../block.ts";
import { checkObject } from "../check.ts";
import { CLEAR, type LinkContrast } from "../measures/contrast.ts";
import type { HeadOverTexts } from "../measures/over-texts.ts";
import { type Num, num } from "../text/number.ts";

/** The link that is described: its verdict and its baselines, and the cell. */
export interface DescribedLink extends LinkContrast {
  readonly query: number;
  readonly key: number;
}

/**
 * The clause as texts and numbers, without a period; empty where no other row may attend to the key.
 *
 * @param name of the key, as the page or the terminal writes it
 * @param beyond the same head over other texts, with the same positions as `at`: what the link is without this text
 * @example
 * const link = await tellingLink(store);
 * evidenceOf(store.blocks[0], link, "“time”"); // ["the other tokens give “time” ", { text: "4.3 %", … }, " on average"]
 */
export function evidenceOf(
  block: Block,
  link: DescribedLink,
  name: string,
  beyond?: HeadOverTexts,
): (string | Num)[] {
  checkArgument(isList(block?.queryTokens), "evidenceOf", "a block, store.blocks[0]", block);
  const isLink = typeof link?.verdict === "string" || typeof link?.weight === "number";
  checkArgument(isLink, "evidenceOf", "a link with its contrast, as tellingLink returns it", link);
  if (beyond !== undefined)
    checkObject("evidenceOf", "a head over texts, as headsOverTexts returns it", beyond);
  const here = baselineOf(block, link, name);
  return here.length === 0 || beyond === undefined ? here : [...here, ...beyondOf(link, beyond)];
}

/** What the link is without this text: the same positions in other texts, and, of a link that may be claimed, whether the head has one there. */
function beyondOf({ verdict }: DescribedLink, { at, contrast, holds }: HeadOverTexts): (string | Num)[] {
  const count = (n: number, source: string) => num(n, source);
  const noun = (n: number) => (n === 1 ? " other text" : " other texts");
  const places: (string | Num)[] =
    at === undefined || at.texts === 0
      ? []
      : [
          "in ",
          count(at.texts, "headsOverTexts.at.texts"),
          `${noun(at.texts)} the same positions get `,
          num(at.mean, "headsOverTexts.at.mean", { style: "percent" }),
          ...(at.texts > 1 ? [" on average"] : []),
        ];
  const links: (string | Num)[] =
    verdict !== "link" || contrast.texts === 0
      ? []
      : [
          "this head has a link above chance in ",
          count(holds, "headsOverTexts.holds"),
          " of ",
          count(contrast.texts, "headsOverTexts.contrast.texts"),
          noun(contrast.texts),
        ];
  const clauses = [places, links].filter((parts) => parts.length > 0);
  return clauses.flatMap((parts, n) => [n === 0 ? "; " : ", and ", ...parts]);
}

/** What the head gives without this query. */
function baselineOf(block: Block, link: DescribedLink, name: string): (string | Num)[] {
  const { verdict, even, others, offset, contrast, common } = link;
  const percent = (x: number, source: string) => num(x, source, { style: "percent" });
  const tokens = common === 1 ? "every token looks" : `${common > 0.5 ? "most" : "some"} tokens look`;
  if (verdict === "offset") {
    const steps = link.key - (link.query + block.queryOffset);
    const place = NEAR[steps] ?? `the token ${Math.abs(steps)} ${steps < 0 ? "before" : "after"} it`;
    return [`${tokens} at ${place}: on average the others give it `, percent(offset, "contrast.offset")];
  }
  if (verdict === "stripe") {
    return [`${tokens} at ${name}: on average the others give it `, percent(others, "contrast.others")];
  }
  const isOffset = !(others >= offset) && !Number.isNaN(offset);
  // A weight below the mean of the others is no link that one could take for a finding.
  const end = verdict === "spread" && contrast > 0 ? ` on average; ${CHANCE}` : " on average";
  if (isOffset && verdict === "spread")
    return ["at this distance the others give ", percent(offset, "contrast.offset"), end];
  if (Number.isNaN(others)) return [];
  return [
    `the other tokens give ${name} `,
    percent(others, "contrast.others"),
    end,
    // The larger baseline of a position head is not left out of what is said of its strongest links.
    ...(isOffset && offset >= CLEAR * even
      ? [", and ", percent(offset, "contrast.offset"), " to the token at this distance"]
      : []),
  ];
}

const NEAR: Readonly<Record<number, string>> = {
  "-1": "the previous token",
  0: "itself",
  1: "the next token",
};
/** Of a link that is not claimed: its contrast is below that of one link in a hundred of a head of random queries and keys. */
const CHANCE = "random heads have such links";

/**
 * The clause as text.
 *
 * @example
 * const link = await tellingLink(store);
 * evidenceText(store.blocks[0], link, "“time”"); // "the other tokens give “time” 4.3 % on average"
 */
export function evidenceText(
  block: Block,
  link: DescribedLink,
  name: string,
  beyond?: HeadOverTexts,
): string {
  checkCount("evidenceText", arguments, 4);
  checkKind("evidenceText", "name", "a text", name);
  return evidenceOf(block, link, name, beyond)
    .map((part) => (typeof part === "string" ? part : part.text))
    .join("");
}
