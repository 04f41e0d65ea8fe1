/** The states in which the listings of the Lab's pages are run: the first state of each page and that of every step of its text. */
import type { LabState } from "../../../lab/frame/fields.ts";
import { type Change, changeOf, type LabView } from "../../../lab/frame/page.ts";
import type { PageComputation } from "../../../lab/frame/runtime/messages.ts";
import { loadPage } from "../../../lab/pages.ts";

/** More states in which listings are run: what a reader can drag. */
const DRAGGED: Readonly<Record<string, readonly Change<LabState>[]>> = {
  becomes: [{ shares: [3, 42, 0, 1, 2, 1, 4, 47] }],
};

/** A listing of a page in a state. */
export interface Listing {
  readonly name: string;
  readonly python: string;
  readonly typescript: string;
  /** What the page says that both print. */
  readonly printed: string;
}

/** What is shown of a page, by its name, after changes of its first state. */
export async function viewOf(
  name: string,
  ...changes: readonly (Change<LabState> | undefined)[]
): Promise<LabView> {
  const page = await loadPage(name);
  let state = page.check(page.initial);
  for (const change of changes) state = page.check({ ...state, ...changeOf(change, state) } as LabState);
  const { compute }: PageComputation = await import(`../../../lab/${name}/compute.ts`);
  return { state, numbers: await compute(state), wide: true, changed: false };
}

/** Every listing of a page, without two that are alike. */
export async function listingsOf(name: string): Promise<Listing[]> {
  const page = await loadPage(name);
  const listings = new Map<string, Listing>();
  const steps = page.steps.map(({ state, predict }) => [state, predict?.show]);
  for (const [i, changes] of [...steps, ...(DRAGGED[name] ?? []).map((one) => [one])].entries()) {
    const view = await viewOf(name, ...changes);
    const python = page.code.python(view);
    if (!listings.has(python))
      listings.set(python, {
        name: `${name}, ${i < steps.length ? `step ${i + 1}` : "dragged"}`,
        python,
        typescript: page.code.typescript(view),
        printed: page.code.printed(view),
      });
  }
  return [...listings.values()];
}

if (process.argv[1]?.endsWith("listings.ts")) {
  const listings = await listingsOf(process.argv[2]);
  process.stdout.write(JSON.stringify(listings.map(({ name, python }) => ({ name, python }))));
  process.exit(0);
}
