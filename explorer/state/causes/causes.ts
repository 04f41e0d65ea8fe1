/**
 * Causes: what changes if a part of the model is turned off or replaced. The model of the source measures the parts of one layer after the
 * other, the cursor's layer first; a file without its model may have such results stored.
 */
import type { Block } from "../../../src/store/block.ts";
import type { StoredEffects, StoredScore } from "../../../src/store/formats/stored-evidence.ts";
import type { AblationResult, ModelAnswers, ModelQuestion, PartEffect } from "../../../src/view/element.ts";
import type { Session } from "../../app/session.ts";
import { latest, type WorkAnswer } from "../latest.ts";
import type { State } from "../state.ts";

/** What every part changes, as far as it is measured. */
export interface Causes extends Omit<ModelAnswers["effects"], "effects"> {
  /** The largest |change| first. */
  readonly effects: readonly PartEffect[];
  /** Layers that are measured, of all. */
  readonly done: number;
  readonly total: number;
}

type Measure = State["measure"];

/** What can be measured on a text: a prediction only where the model predicts tokens. */
export const measuresOf = ({ model }: Session): readonly Measure[] =>
  model?.predicts === "none" ? ["state", "text", "weight"] : ["prediction", "state", "text", "weight"];

/** The measure of a state that its model has. */
export function measureOf(session: Session): Measure {
  const { measure } = session.state;
  return measuresOf(session).includes(measure) ? measure : "state";
}

/** Whether a text has causes to show: a model that can be asked, or results in the file. */
export const hasCauses = ({ model, block }: Session): boolean =>
  model?.ask !== undefined || (block !== undefined && storedEffects(block).length > 0);

/** The effects that a file has. */
export const storedEffects = ({ evidence }: Block): readonly StoredEffects[] =>
  evidence.filter((one) => one.kind !== "score");

/** The effects of all parts; undefined before those of the first layer are there, or if nothing is asked. */
export function causesOf(session: Session, other: string | undefined): WorkAnswer<Causes> | undefined {
  const { model, block, state } = session;
  const { cause: change, layer, head, query, key, predict } = state;
  const isAsked =
    model?.ask !== undefined &&
    block !== undefined &&
    change !== "off" &&
    (change !== "patch" || other !== undefined);
  const measure = measureOf(session);
  const isLink = change === "link" || change === "renormalized";
  const depends = {
    ...{ change, measure, other: change === "patch" || measure !== "prediction" ? other : undefined },
    ...(measure === "weight" && { layer, head }),
    ...((measure === "state" || measure === "weight" || isLink) && { query }),
    ...((measure === "weight" || isLink) && { key }),
    ...(measure === "prediction" && { predict }),
  };
  return latest<Causes>(
    session,
    "causes",
    isAsked ? JSON.stringify(depends) : undefined,
    async (signal, partly) => {
      const layers = [layer, ...block!.layers.filter((one) => one !== layer)];
      let all: Causes | undefined;
      for (const [done, one] of layers.entries()) {
        const question: Extract<ModelQuestion, { of: "effects" }> = {
          ...{ of: "effects", layer: one, measure, position: predict, cell: { layer, head, query, key } },
          ...{
            change: change as Exclude<State["cause"], "off">,
            ...(depends.other !== undefined && { other }),
          },
        };
        const answer = await model!.ask!(question, { signal });
        signal.throwIfAborted();
        const effects = [...(all?.effects ?? []), ...answer.effects];
        effects.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
        all = { ...answer, effects, done: done + 1, total: layers.length };
        if (done + 1 < layers.length) partly(all);
      }
      return all!;
    },
  );
}

/** The score of the cell that is shown, as a sum: of the file if it has it, else of the model if it is asked. */
export function scoreAt(session: Session): WorkAnswer<ModelAnswers["score"] | StoredScore> | undefined {
  const { model, block, state, shown } = session;
  const { layer, head } = state;
  // A cell under the pointer only passes by.
  const { query, key } = session.hover === null ? shown : state;
  const stored = block?.evidence.find(
    (one): one is StoredScore =>
      one.kind === "score" &&
      one.layer === layer &&
      one.head === head &&
      one.query === query &&
      one.key === key,
  );
  const isAsked = state.why && stored === undefined && model?.ask !== undefined;
  const cell = { layer, head, query, key };
  const answer = latest(session, "score", isAsked ? JSON.stringify(cell) : undefined, (signal) =>
    model!.ask!({ of: "score", ...cell }, { signal }),
  );
  return stored ? { result: stored } : answer;
}

/** The result of the run without the ablated heads; undefined if none is ablated, or while the model runs. */
export function ablationOf(session: Session): WorkAnswer<AblationResult> | undefined {
  const { model, state } = session;
  const request = { heads: state.ablated, position: model?.predicts === "none" ? null : state.predict };
  const isAsked = model !== undefined && state.ablated.length > 0;
  return latest(session, "ablated", isAsked ? JSON.stringify(request) : undefined, (signal) =>
    model!.ablate(request, { signal }),
  );
}

/** What each component adds to the prediction: the logit of the most likely token minus that of the next one. Of decoders. */
export function logitsOf(session: Session): WorkAnswer<ModelAnswers["logits"]> | undefined {
  const { model, state } = session;
  const isAsked = state.ask !== "off" && model?.ask !== undefined && model.predicts === "next";
  return latest(session, "logits", isAsked ? String(state.predict) : undefined, (signal) =>
    model!.ask!({ of: "logits", position: state.predict }, { signal }),
  );
}
