/** The link of the reader's own sentence that a page shows, in words. What computes it is in own.ts, which pages load on first use. */
import { html, type TemplateResult } from "../../ui/markup.ts";
import { MAX_CHARACTERS } from "../frame/words.ts";

/** The link of a head: its place, and what may be said about it. */
export interface OwnLink {
  /** Layers of the model, and heads of each. */
  readonly layers: number;
  readonly heads: number;
  readonly layer: number;
  readonly head: number;
  /** The piece that looks, and the one it looks at. */
  readonly from: number;
  readonly to: number;
  /** "link" where its weight is more than what the head gives from every word, or at every distance. */
  readonly verdict: "link" | "stripe" | "offset" | "spread";
  /** True if the sentence is longer than what is read of it. */
  readonly cut: boolean;
}

/** The model that reads sentences in the page. */
export const OWN_MODEL = "heed’s small encoder";

/** What a verdict says of a link. */
const VERDICTS: Readonly<Record<OwnLink["verdict"], string>> = {
  link: "is more than this head gives it from other words, or at this distance",
  stripe: "is nothing special: in this head, the other words give it about as much",
  offset: "is nothing special: this head looks at that distance, whatever word is there",
  spread: "is no more than heads of random numbers have",
};

/** The model and the head of the reader's own sentence, and what may be said about its strongest link. */
export function ownCaption(link: OwnLink, nameOf: (token: number) => string): string {
  const { layer, head, from, to, verdict } = link;
  return `Read by ${OWN_MODEL}, layer ${layer}, head ${head}. That ${nameOf(from)} looks at ${to === from ? "itself" : nameOf(to)} ${VERDICTS[verdict]}.`;
}

/** A link to the explorer that opens the same model, text, head and cell; `pieces`: how many pieces of the text are read, where that is limited. */
export const ownExplorer = (
  text: string,
  { layer, head }: Pick<OwnLink, "layer" | "head">,
  query: number,
  key: number,
  pieces?: number,
): TemplateResult =>
  html`<a class="own-link" href="own/index.html?text=${encodeURIComponent(text)}${pieces === undefined ? "" : `&pieces=${pieces}`}#v1/head?l=${layer}&h=${head}&i=${query}&j=${key}&at=${query}.${key}">See it in the explorer</a>`;

/** What is said of a sentence that is longer than what is read of it. */
export const cutNote = (cut: boolean, pieces?: number): string =>
  !cut
    ? ""
    : pieces === undefined
      ? ` Only the first ${MAX_CHARACTERS} characters of your sentence are read.`
      : ` Only the first ${pieces} pieces of your sentence are read.`;

/** The heads to choose from: counted through all layers, and −1 for the one with the link of the largest contrast. */
export const headChoices = ({ layers, heads }: OwnLink): readonly (readonly [number, string])[] => [
  [-1, "the head with the largest contrast"],
  ...Array.from(
    { length: layers * heads },
    (_, i) => [i, `layer ${Math.floor(i / heads)}, head ${i % heads}`] as const,
  ),
];
