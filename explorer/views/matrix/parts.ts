/** The parts of the matrix view: pane, control, legend. */
import { headBeside } from "../../app/input/moves.ts";
import { legend } from "../../app/panels/legend.ts";
import { check } from "../../app/ui.ts";
import type { ViewParts } from "../view.ts";
import { Matrix } from "./matrix.ts";

export const parts: ViewParts = {
  pane: ({ session, slices, overviews, takesWheel, describe }) => {
    const matrix = new Matrix({
      session,
      slices,
      takesWheel,
      describe,
      overview: (width, height, fine) =>
        overviews.picture(session.state, width, height, session.state.transfer, fine),
      overviewed: () => overviews.stateOf(session.state),
      // Without its overview a head's log-sum-exps are not known, and a tile would take a pass over the head.
      neighbors: () =>
        [1, -1].flatMap((by) => {
          const head = session.block && headBeside(session.block, session.state, by);
          return head && overviews.stateOf(head) === "done" ? [head] : [];
        }),
    });
    matrix.root.classList.add("cursor-keys");
    return matrix;
  },
  controls: ({ session }) => check("values", session.state.values, (values) => session.set({ values })),
  legend: (session, pane) => legend(session, (pane as Matrix | undefined)?.domain),
  caption: () => "Each row is a query, each column a key. ",
};
