/**
 * What a link is without its text: the head of the cell over the other texts that the same model read, and the weight at the same
 * positions there. The other texts are opened once; those that go from the list are disposed of.
 */
import type { HeadStore } from "../../src/store/head-store.ts";
import { MAX_COMPARED } from "../../src/store/measures/key-sums.ts";
import { type HeadOverTexts, headsOverTexts, type TextOfHead } from "../../src/store/measures/over-texts.ts";
import type { Session } from "../app/session.ts";

type Source = Session["sources"][number];

/** The maximum number of other texts. */
const TEXTS = 8;

/** The other texts of a session, and what was measured in them. */
interface Others {
  readonly stores: Map<Source, Promise<HeadStore | undefined>>;
  readonly cache: Map<string, readonly TextOfHead[]>;
}

const others = new WeakMap<Session, Others>();

/** The cursor's head over the other texts of its model; undefined where there is none. */
export async function overTexts(
  session: Session,
  at: { readonly query: number; readonly key: number },
  signal?: AbortSignal,
): Promise<HeadOverTexts | undefined> {
  const { store, sources, state, ref } = session;
  const model = store?.report.model;
  if (store === undefined || model === undefined) return undefined;
  const { stores, cache } = othersOf(session);
  const { name, kind, layers, heads } = store.blocks[ref.block];
  const texts = [];
  for (const [n, source] of sources.entries()) {
    if (n === state.text || source.open === undefined || texts.length === TEXTS) continue;
    const opening =
      stores.get(source) ?? source.open(new AbortController().signal, () => {}).catch(() => undefined);
    stores.set(source, opening);
    const other = await opening;
    signal?.throwIfAborted();
    const block = other?.blocks.findIndex((one) => one.name === name) ?? -1;
    const twin = other?.blocks[block];
    // Heads of two models have nothing in common.
    if (other === undefined || twin === undefined || other.report.model !== model) continue;
    if (twin.kind !== kind || twin.heads !== heads || twin.layers.join() !== layers.join()) continue;
    if (twin.Nq * twin.Nk > MAX_COMPARED) continue;
    texts.push({ name: `${n}`, open: () => other, block });
  }
  if (texts.length === 0) return undefined;
  const [head] = await headsOverTexts(texts, { layer: ref.layer, head: ref.head, at, cache, signal });
  return head;
}

/** Those of the present list. */
function othersOf(session: Session): Others {
  const last = others.get(session);
  const isCurrent =
    last !== undefined && [...last.stores.keys()].every((one) => session.sources.includes(one));
  if (isCurrent) return last;
  for (const opening of last?.stores.values() ?? []) void opening.then((store) => store?.dispose());
  const now: Others = { stores: new Map(), cache: new Map() };
  others.set(session, now);
  return now;
}
