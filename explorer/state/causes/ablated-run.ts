/**
 * The run of the model without the heads that are switched off. The model of the source computes it (src/view/element.ts,
 * `SourceModel`); the result is kept until the heads, the predicted token or the text change.
 */
import type { AblationResult } from "../../../src/view/element.ts";
import type { Session } from "../../app/session.ts";
import { latest, type WorkAnswer } from "../latest.ts";

/** The result of the run without the ablated heads; undefined if none is ablated, or while the model runs. */
export function ablationOf(session: Session): WorkAnswer<AblationResult> | undefined {
  const { model, state } = session;
  const request = { heads: state.ablated, position: model?.predicts === "none" ? null : state.predict };
  const isAsked = model !== undefined && state.ablated.length > 0;
  return latest(session, "ablated", isAsked ? JSON.stringify(request) : undefined, (signal) =>
    model!.ablate(request, { signal }),
  );
}
