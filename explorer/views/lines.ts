/** Lines: the controls of what is kept and how it is laid out. The picture is draw/lines.ts. */
import { html, type TemplateResult } from "lit";
import { check, choice, type Ui } from "../ui.ts";

/** The controls above the lines: one quantity with two readings, and the layout. */
export function linesControls({ session }: Ui): TemplateResult {
  const { state, block } = session;
  return html`${choice(
    "Edges kept",
    [
      ["top", "top k", "The strongest keys of each row"],
      ["mass", "mass", "As many keys of each row as hold a share of it"],
    ],
    state.keep,
    (keep) => session.set({ keep }),
  )}
  ${block?.kind === "self" ? check("arcs", state.arcs, (arcs) => session.set({ arcs })) : ""}`;
}
