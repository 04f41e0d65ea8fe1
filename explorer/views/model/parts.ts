/** The parts of the model view: the large atlas, the right column, the legend. */
import { html } from "lit";
import { legend } from "../../app/panels/legend.ts";
import { modelSide } from "../../app/panels/model.ts";
import { Atlas } from "../atlas/atlas.ts";
import type { ViewParts } from "../view.ts";
import { headsTable } from "./table.ts";

/** With more tokens than this, a thumbnail merges cells. */
const MERGED = 64;

export const parts: ViewParts = {
  pane: ({ session, overviews, takesWheel, describeHead, openHead, preview }) => {
    const atlas: Atlas = new Atlas(
      {
        session,
        overviews,
        takesWheel,
        describe: describeHead,
        openHead,
        preview: (head, at) => preview(atlas.root, head, at),
      },
      true,
    );
    atlas.root.classList.add("cursor-keys");
    return atlas;
  },
  inspector: modelSide,
  table: headsTable,
  legend: (session) => legend(session, 1, { weightsOnly: true, plainMask: true }),
  caption: ({ block, state }) =>
    block === undefined || state.table
      ? ""
      : html`${state.ask === "off" ? "One picture" : "One square"} for each head, all on one color scale${Math.max(block.Nq, block.Nk) > MERGED ? "; where cells are merged, the largest is shown" : ""}. Layer ${state.layer}, head ${state.head}: `,
};
