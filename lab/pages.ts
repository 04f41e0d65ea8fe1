/** The pages of the Lab in their order. What is here is enough to list them; each is loaded when it is opened. */
import type { Page } from "./frame/page.ts";
import type { Entry } from "./frame/render.ts";

/** A page and how it is loaded. */
export interface Listed extends Entry {
  load(): Promise<Page>;
}

// biome-ignore lint/suspicious/noExplicitAny: each page has a state of its own, which only that page reads
const of = (module: Promise<{ page: Page<any, any> }>): Promise<Page> =>
  module.then(({ page }) => page as Page);

/** Every page. Titles and points repeat those of the pages, which a test compares. */
export const PAGES: readonly Listed[] = [
  {
    name: "words",
    title: "Words",
    point:
      "A word looks at the other words of its sentence. How much it looks at each is a share, and the shares add up to 100 %.",
    minutes: 7,
    needs: [],
    load: () => of(import("./words/page.ts")),
  },
  {
    name: "saturation",
    title: "Saturation",
    point:
      "Softmax of eight numbers shares attention out. Softmax of the same numbers × 100 gives it all to one, and nothing can be learned any more.",
    minutes: 8,
    needs: ["words"],
    load: () => of(import("./saturation/page.ts")),
  },
  {
    name: "masks",
    title: "Masks",
    point:
      "A mask says who may look at whom. Hidden words get a share of exactly 0, and a row that may look at nobody is where programs differ.",
    minutes: 9,
    needs: ["words"],
    load: () => of(import("./masks/page.ts")),
  },
];
