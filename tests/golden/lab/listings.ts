/** The states in which the listings of the Lab's pages are run: the first state of each page and that of every stop. */
import { COMPUTATIONS } from "../../../lab/computations.ts";
import { type Change, changeOf, type Page, type State, type View } from "../../../lab/frame/page.ts";
import { PAGES } from "../../../lab/pages.ts";

/** A listing of a page in a state. */
export interface Listing {
  readonly name: string;
  readonly python: string;
  readonly typescript: string;
  /** What the page says that both print. */
  readonly printed: string;
}

/** What is shown of a page after changes of its first state. */
export async function viewOf(page: Page, ...changes: readonly (Change<State> | undefined)[]): Promise<View> {
  let state = page.check(page.initial);
  for (const change of changes) state = page.check({ ...state, ...changeOf(change, state) } as State);
  const { compute } = await COMPUTATIONS[page.name]();
  return { state, numbers: await compute(state), wide: true, used: false };
}

/** Every listing, without two that are alike. */
export async function listings(): Promise<Listing[]> {
  const found = new Map<string, Listing>();
  for (const entry of PAGES) {
    const page = await entry.load();
    for (const [i, step] of page.steps.entries()) {
      const view = await viewOf(page, step.state, step.predict?.show);
      const python = page.code.python(view);
      if (!found.has(python))
        found.set(python, {
          name: `${page.name}, stop ${i + 1}`,
          python,
          typescript: page.code.typescript(view),
          printed: page.code.printed(view),
        });
    }
  }
  return [...found.values()];
}

if (process.argv[1]?.endsWith("listings.ts")) {
  const all = await listings();
  process.stdout.write(JSON.stringify(all.map(({ name, python }) => ({ name, python }))));
  process.exit(0);
}
