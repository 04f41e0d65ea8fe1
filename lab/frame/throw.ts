/** The seed of a page's random numbers, and "Throw again", which goes to the next. */
import { html } from "../../ui/markup.ts";
import { integer } from "./fields.ts";

/** The seed. */
export const seed = integer(1, 1, 9999);

/** The change to the next seed. */
export const throwAgain = ({ state }: { readonly state: { readonly seed: number } }) => ({
  seed: (state.seed % 9999) + 1,
});

/** The button, and the seed beside it. */
export const throwControl = (now: number) =>
  html`<span class="choice-text"><button type="button" data-act="throw">Throw again</button> seed ${now}</span>`;
