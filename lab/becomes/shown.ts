/** What each of the page's three pictures has: the shares of the first stop, the path through the layers, the steps of one layer. */
import type { LabView, Listings, PageDefinition } from "../frame/page.ts";
import type { Becomes, BecomesNumbers } from "./compute.ts";

export type BecomesView = LabView<Becomes, BecomesNumbers>;
type Definition = PageDefinition<Becomes, BecomesNumbers>;

export interface BecomesPicture
  extends Pick<Definition, "picture" | "label" | "caption" | "control" | "table">,
    Omit<Listings<Becomes, BecomesNumbers>, "names" | "highlight"> {
  /** Parts of the lines that the picture is about. */
  readonly highlight: readonly string[];
}
