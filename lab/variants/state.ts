/** The first state of the page on variants, and names that its drawings share. */
import { element } from "../../src/view/plot/svg.ts";
import { integer, numbers, oneOf, type StateFields } from "../frame/fields.ts";
import type { LabView } from "../frame/page.ts";
import { seed } from "../frame/throw.ts";
import { number, percent, superscript } from "../frame/words.ts";
import type { Variants, VariantsNumbers } from "./compute.ts";
import { TILES } from "./shown.ts";

/** What the drawing functions get. */
export type VariantsView = LabView<Variants, VariantsNumbers>;

/** Kinds of data: made, and two trained heads. */
export const KINDS = ["random", "local", "sink", "previous", "average"];
/** Their names on buttons and rows. */
export const KIND_NAMES = /* text */ ["random", "local", "one sink", "trained A", "trained B"];
/** The same on buttons. */
export const KIND_LABELS = /* text */ ["random", "local", "sink", "A", "B"];
/** Where something holds, at the start of a sentence. */
export const KIND_PLACES = [
  "On random data",
  "On local data",
  "On data with one sink",
  "In trained head A",
  "In trained head B",
];
/** What each is. */
export const KIND_NOTES = [
  "normal numbers, no structure",
  "every word looks nearby",
  "every word looks at word 0",
  "looks at the previous word",
  "takes an average of the text",
];
/** The four ways. */
export const WAYS = ["Whole matrix", "Flash", "Longformer", "Performer"] as const;
/** Their marks in the picture. */
export const WAY_KEYS = ["whole", "flash", "longformer", "performer"] as const;
/** Their names where there is little space. */
export const SHORT = /* text */ ["matrix", "Flash", "Longf.", "Perf."] as const;

/** The factors of the scores, and the lengths of the race. */
export const SPREADS = [1, 0.5, 0.25];
export const SIZES = [512, 2048, 4096];
/** What is shown, and its button. */
export const SHOWN = [
  ["errors", "errors"],
  ["tiles", "tiles"],
  ["cost", "cost"],
] as const;

/** What a reader can change. */
export const fields: StateFields<Variants> = {
  data: oneOf(KINDS, "local"),
  visited: { ...numbers([0, 1, 2], integer(0, 0, KINDS.length - 1), () => true), address: "seen" },
  spread: oneOf(SPREADS),
  budget: integer(1, 0, 2),
  show: oneOf(SHOWN.map(([name]) => name)),
  tile: integer(0, 0, TILES),
  n: oneOf(SIZES, 2048),
  race: integer(0, 0, 1e6),
  seed,
};

/** The mark of a way: Flash is a disk, Longformer a square, Performer a triangle; the whole matrix has none. */
export function wayMark(way: number, x: number, y: number, r: number): string {
  if (way === 0) return "";
  if (way === 1) return element("circle", { cx: x, cy: y, r, class: "link" });
  const corners = way === 2 ? [-1, -1, 1, -1, 1, 1, -1, 1] : [-1.15, 1, 1.15, 1, 0, -1.1];
  const points = corners
    .map((corner, at) => ((at % 2 === 0 ? x : y) + 0.9 * r * corner).toFixed(1))
    .join(" ");
  return element("polygon", { points, class: "link" });
}

/** Index of the chosen kind. */
export const kindOf = ({ state }: VariantsView) => KINDS.indexOf(state.data);
/** A factor of the scores as a fraction. */
export const spreadText = (spread: number) => (spread === 1 ? "1" : spread === 0.5 ? "½" : "¼");
/** An error as a share of the output: 180 %, 2.4 %, 3·10⁻⁷. */
export const wrong = (error: number) =>
  error >= 1e-4
    ? percent(error)
    : `${number(error * 10 ** -Math.floor(Math.log10(error)), 2)}·10${superscript(Math.floor(Math.log10(error)))}`;
/** Names with their errors, the most exact first. */
export const ranking = ({ numbers: n }: VariantsView) =>
  [2, 3].sort((a, b) => n.ways[a].error - n.ways[b].error);
