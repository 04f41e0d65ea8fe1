/**
 * The contrast of the cell that is shown: what the other rows of its head give the same key. Computed while the ledger is on screen, in
 * slices of time, and kept until another cell is shown.
 */
import { contrastOf, type LinkContrast } from "../../src/store/measures/contrast.ts";
import { MAX_COMPARED } from "../../src/store/measures/key-sums.ts";
import type { HeadOverTexts } from "../../src/store/measures/over-texts.ts";
import type { Session } from "../app/session.ts";
import { latest } from "./latest.ts";

/** The contrast of the shown cell; undefined while it is computed. A head that cannot be read is reported where it is drawn. */
export function evidenceAt(session: Session): LinkContrast | undefined {
  const { store, ref, shown, ready } = session;
  if (store === undefined || !ready) return undefined;
  const { query, key } = shown;
  return latest(session, "contrast", JSON.stringify([ref, query, key]), (signal) =>
    contrastOf(store, ref, query, key, { signal, maxCells: MAX_COMPARED }),
  )?.result;
}

/** Its head over the other texts of the same model; undefined while it is computed, and where there are none. */
export function beyondAt(session: Session): HeadOverTexts | undefined {
  const { ref, shown, ready, sources } = session;
  if (sources.length < 2 || !ready) return undefined;
  const { query, key } = shown;
  const question = JSON.stringify([ref, query, key, sources.length]);
  return latest(session, "beyond", question, async (signal) =>
    (await import("./beyond.ts")).overTexts(session, { query, key }, signal),
  )?.result;
}
