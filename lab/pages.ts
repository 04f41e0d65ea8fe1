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
    name: "arrows",
    title: "Arrows",
    point:
      "A query is an arrow, and so is every key. The farther a key reaches along the query, the higher its score, and the larger its share.",
    minutes: 7,
    needs: ["words"],
    load: () => of(import("./arrows/page.ts")),
  },
  {
    name: "steps",
    title: "Step by step",
    point:
      "The formula in eight small steps on four words. Every number can be changed, and every number says where it comes from.",
    minutes: 8,
    needs: ["arrows"],
    load: () => of(import("./steps/page.ts")),
  },
  {
    name: "scale",
    title: "Why √dₖ",
    point:
      "A dot product of long vectors is a sum of many numbers, so it spreads far from 0. Softmax of such scores gives all to one key. Dividing by √dₖ prevents that.",
    minutes: 6,
    needs: ["steps"],
    load: () => of(import("./scale/page.ts")),
  },
  {
    name: "saturation",
    title: "Saturation",
    point:
      "Softmax of eight numbers shares attention out. Softmax of the same numbers × 100 gives it all to one, and nothing can be learned any more.",
    minutes: 8,
    needs: ["scale"],
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
  {
    name: "heads",
    title: "Many heads",
    point:
      "A layer looks in many ways at once. Each head has its own shares and its own output, and an average of the shares belongs to none of them.",
    minutes: 7,
    needs: ["words", "steps"],
    load: () => of(import("./heads/page.ts")),
  },
  {
    name: "shapes",
    title: "Shapes",
    point:
      "Two boxes can be multiplied where they share an edge. Know the edges, and you know every shape, its cost, and where a program breaks.",
    minutes: 7,
    needs: ["steps", "heads"],
    load: () => of(import("./shapes/page.ts")),
  },
  {
    name: "cost",
    title: "Cost",
    point:
      "Twice as many words are four times the work, because every word meets every word. The memory need not grow like that: the scores are computed, used and discarded, a tile at a time.",
    minutes: 7,
    needs: ["shapes"],
    load: () => of(import("./cost/page.ts")),
  },
  {
    name: "variants",
    title: "Variants",
    point:
      "There are ways to save the n² of attention. One is exact, two are approximations, and which of the two is better depends on the data.",
    minutes: 9,
    needs: ["masks", "saturation"],
    load: () => of(import("./variants/page.ts")),
  },
  {
    name: "scorers",
    title: "Dot, scaled, additive",
    point:
      "Three ways to score a query and a key. One saturates, one avoids that by a division, and one does not saturate at first but runs a small network for every pair.",
    minutes: 7,
    needs: ["saturation"],
    load: () => of(import("./scorers/page.ts")),
  },
  {
    name: "before",
    title: "Before transformers",
    point:
      "Attention was made for a network that reads and writes letter by letter. It learns where to look in seconds, here, while you watch.",
    minutes: 8,
    needs: ["words"],
    load: () => of(import("./before/page.ts")),
  },
  {
    name: "learned",
    title: "Learned",
    point:
      "Nobody tells a head where to look. It begins by looking everywhere, and training turns it, step by step, to the word that makes the next word less surprising.",
    minutes: 7,
    needs: ["words", "saturation"],
    load: () => of(import("./learned/page.ts")),
  },
  {
    name: "explanation",
    title: "Is attention an explanation?",
    point:
      "A large weight says where a head looked. It does not say that what it saw there made a difference. The second can be measured too.",
    minutes: 7,
    needs: ["words", "masks"],
    load: () => of(import("./explanation/page.ts")),
  },
];
