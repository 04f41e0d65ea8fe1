/** The heads that the model runs without: how the cursor's head is switched. What such a run gives: ablated-run.ts. */
import type { Session } from "../app/session.ts";
import type { AblatedHead, State } from "./state.ts";

/** How a head takes part in the run: as it is, or replaced by zeros, by its mean, or by zeros at the cursor's query alone. */
export type HeadSetting = "on" | "off" | "mean" | "here";

/** The entry of a head among the ablated ones. */
export function ablatedHead(
  state: Pick<State, "ablated">,
  { layer, head }: Pick<State, "layer" | "head">,
): AblatedHead | undefined {
  return state.ablated.find((one) => one.layer === layer && one.head === head);
}

/** How the cursor's head is set; `elsewhere`: it is off at a token that is not the cursor's query. */
export function headSetting(state: State): HeadSetting | "elsewhere" {
  const found = ablatedHead(state, state);
  if (found === undefined) return "on";
  if (found.position !== null) return found.position === state.query ? "here" : "elsewhere";
  return found.replace === "mean" ? "mean" : "off";
}

/** Sets the cursor's head. */
export function setHead(session: Session, setting: HeadSetting): void {
  const { layer, head, query, ablated } = session.state;
  const rest = ablated.filter((one) => one.layer !== layer || one.head !== head);
  const replace = setting === "mean" ? "mean" : "zero";
  const position = setting === "here" ? query : null;
  session.set({ ablated: setting === "on" ? rest : [...rest, { layer, head, replace, position }] });
}
