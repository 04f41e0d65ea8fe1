/** The heads that are switched off, and the setting of the cursor's head. The run without them: causes.ts. */
import type { Session } from "../../app/session.ts";
import type { State, SwitchedHead } from "../state.ts";

/** The output of a head: unchanged, or replaced by zeros, by its mean, or by zeros at the cursor's query only. */
export type HeadSetting = "on" | "off" | "mean" | "here";

/** The entry of a head in the list of ablated heads, if any. */
export function ablatedHead(
  state: Pick<State, "ablated">,
  { layer, head }: Pick<State, "layer" | "head">,
): SwitchedHead | undefined {
  return state.ablated.find((one) => one.layer === layer && one.head === head);
}

/** A head as an address writes it: `4.7`, `4.8m` for its mean, `2.1.5` at token 5 only. */
export const ablatedCode = ({ layer, head, replace, position }: SwitchedHead): string =>
  `${layer}.${head}${replace === "mean" ? "m" : ""}${position === null ? "" : `.${position}`}`;

/** The setting of the cursor's head; `elsewhere`: it is off at a token other than the cursor's query. */
export function headSetting(state: State): HeadSetting | "elsewhere" {
  const entry = ablatedHead(state, state);
  if (entry === undefined) return "on";
  if (entry.position !== null) return entry.position === state.query ? "here" : "elsewhere";
  return entry.replace === "mean" ? "mean" : "off";
}

/** Changes the setting of the cursor's head. */
export function setHead(session: Session, setting: HeadSetting): void {
  const { layer, head, query, ablated } = session.state;
  const rest = ablated.filter((one) => one.layer !== layer || one.head !== head);
  const replace = setting === "mean" ? "mean" : "zero";
  const position = setting === "here" ? query : null;
  session.set({ ablated: setting === "on" ? rest : [...rest, { layer, head, replace, position }] });
}
