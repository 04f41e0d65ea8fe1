/** The pages of the Lab in their order. What is here is enough to list them; each is loaded when it is opened. */
import type { Page } from "./frame/page.ts";
import type { Entry } from "./frame/render.ts";

/** A page and how it is loaded. */
export interface PageEntry extends Entry {
  load(): Promise<Page>;
}

// biome-ignore lint/suspicious/noExplicitAny: each page has a state of its own, which only that page reads
const of = (module: Promise<{ page: Page<any, any> }>): Promise<Page> =>
  module.then(({ page }) => page as Page);

/** Every page. Titles and points repeat those of the pages, which a test compares. */
export const PAGES: readonly PageEntry[] = [
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
      "The formula in eight small steps, on four words. You can change every number and see where each one comes from.",
    minutes: 8,
    needs: ["arrows"],
    load: () => of(import("./steps/page.ts")),
  },
  {
    name: "scale",
    title: "Why √dₖ",
    point:
      "A dot product of long vectors is a sum of many numbers, so it spreads far from 0. Softmax of such scores gives nearly everything to one key. Dividing by √dₖ prevents that.",
    minutes: 6,
    needs: ["steps"],
    load: () => of(import("./scale/page.ts")),
  },
  {
    name: "saturation",
    title: "Saturation",
    point:
      "Softmax of eight numbers gives each of them some attention. Softmax of the same numbers × 100 gives it all to one, and learning stops.",
    minutes: 8,
    needs: ["scale"],
    load: () => of(import("./saturation/page.ts")),
  },
  {
    name: "masks",
    title: "Masks",
    point:
      "A mask says which words a word may look at. Hidden words get a share of exactly 0. If a row may look at nothing, programs give different answers.",
    minutes: 9,
    needs: ["words"],
    load: () => of(import("./masks/page.ts")),
  },
  {
    name: "heads",
    title: "Many heads",
    point:
      "A layer looks in many ways at the same time. Each head has its own shares and its own output. The average of all the shares describes none of the heads.",
    minutes: 7,
    needs: ["words", "steps"],
    load: () => of(import("./heads/page.ts")),
  },
  {
    name: "shapes",
    title: "Shapes",
    point:
      "Two boxes can be multiplied if they share an edge. If you know the edges, you know every shape, its cost, and where a program breaks.",
    minutes: 7,
    needs: ["steps", "heads"],
    load: () => of(import("./shapes/page.ts")),
  },
  {
    name: "cost",
    title: "Cost",
    point:
      "Twice as many words mean four times the work, because every word is compared with every word. Memory does not have to grow like that: scores can be computed, used and discarded one tile at a time.",
    minutes: 7,
    needs: ["shapes"],
    load: () => of(import("./cost/page.ts")),
  },
  {
    name: "variants",
    title: "Variants",
    point:
      "There are ways around the n² of attention. One is exact and saves memory. Two are approximations; which is better depends on the data.",
    minutes: 9,
    needs: ["masks", "saturation"],
    load: () => of(import("./variants/page.ts")),
  },
  {
    name: "scorers",
    title: "Dot, scaled, additive",
    point:
      "Three ways to score a query against a key. One saturates. One avoids that with a division. One does not saturate at first, but runs a small network for every pair.",
    minutes: 7,
    needs: ["saturation"],
    load: () => of(import("./scorers/page.ts")),
  },
  {
    name: "before",
    title: "Before transformers",
    point:
      "Attention was invented for networks that read and write one step at a time. Here such a network learns where to look, in seconds, while you watch.",
    minutes: 8,
    needs: ["words"],
    load: () => of(import("./before/page.ts")),
  },
  {
    name: "learned",
    title: "Learned",
    point:
      "Nobody tells a head where to look. It begins by looking everywhere. Step by step, training turns it toward the word that makes the next word less surprising.",
    minutes: 7,
    needs: ["words", "saturation"],
    load: () => of(import("./learned/page.ts")),
  },
  {
    name: "explanation",
    title: "Is attention an explanation?",
    point:
      "A large weight says where a head looked. It does not say that what it found there made a difference. That can be measured too.",
    minutes: 7,
    needs: ["words", "masks"],
    load: () => of(import("./explanation/page.ts")),
  },
];
