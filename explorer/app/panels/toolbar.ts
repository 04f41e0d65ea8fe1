/** The controls above a head's picture: how it is drawn, which stage, which scale, which keys are left out. */
import { html, nothing, type TemplateResult } from "lit";
import { toggled } from "../../state/select.ts";
import { DOMAINS, HIDES, type Hide, RAMPS, STAGES, TRANSFERS } from "../../state/state.ts";
import { STAGE_NAMES, TRANSFER_NAMES } from "../../state/words.ts";
import { hiddenKeys } from "../session.ts";
import { check, choice, select, type Ui } from "../ui.ts";

const DOMAIN_NAMES = {
  absolute: "colour 0–1",
  head: "colour to head max",
  row: "colour to row max",
} as const;
const HIDE_NAMES: Readonly<Record<Hide, string>> = {
  none: "none",
  special: "special",
  first: "first",
  chosen: "chosen",
};

export function toolbar(ui: Ui): TemplateResult | typeof nothing {
  const { session } = ui;
  const { state, block } = session;
  if (block === undefined) return nothing;
  const score = state.stage === "scores" || state.stage === "scaled" || state.stage === "masked";
  const segments = block.segments;
  const hidden = hiddenKeys(block, state);
  return html`<div class="toolbar" part="toolbar" role="toolbar" aria-label="How the head is drawn">
    ${choice(
      "View",
      [
        ["matrix", "Matrix", "M"],
        ["lines", "Lines", "L"],
        ["text", "Text", "X"],
      ],
      state.mode,
      (mode) => session.set({ mode }),
    )}
    ${choice(
      "Stage",
      STAGES.map(
        (stage, i) =>
          [
            stage,
            stage === "contribution" && block.has.wo ? "w·‖vW\u2092‖" : STAGE_NAMES[stage],
            `${i + 1}`,
            !block.stages.includes(stage),
          ] as const,
      ),
      state.stage,
      (stage) => session.set({ stage }),
    )}
    ${
      score
        ? nothing
        : choice(
            "Colour scale",
            TRANSFERS.map((name) => [name, TRANSFER_NAMES[name]] as const),
            state.transfer,
            (transfer) => session.set({ transfer }),
          )
    }
    ${
      score
        ? nothing
        : html`${select(
            "hide",
            HIDES.map((hide) => [hide, HIDE_NAMES[hide]] as const),
            state.hide,
            (hide) => session.set({ hide }),
            "hide",
          )}
    ${
      hidden.length > 0 || state.hide === "chosen"
        ? choice(
            "What hidden keys leave",
            [
              ["gap", "gap", "Rows then do not sum to 1: what is missing is drawn as a grey bar"],
              ["renormalise", "renormalise", "What is left of each row is divided by its sum"],
            ],
            state.renormalise ? "renormalise" : "gap",
            (how) => session.set({ renormalise: how === "renormalise" }),
          )
        : nothing
    }`
    }
    ${state.mode === "matrix" ? check("values", state.values, (values) => session.set({ values })) : nothing}
    ${state.mode === "lines" ? ui.controls?.linesControls(ui) : state.mode === "text" ? ui.controls?.textControls(ui) : nothing}
    ${check("table", state.table, (table) => session.set({ table }))}
    <details class="more"><summary>more</summary><div class="menu">
      ${select(
        "domain",
        DOMAINS.map((name) => [name, DOMAIN_NAMES[name]] as const),
        state.domain,
        (domain) => session.set({ domain }),
      )}
      ${select(
        "colours",
        RAMPS.map((name) => [name, name] as const),
        state.ramp,
        (ramp) => session.set({ ramp }),
      )}
      ${select(
        "coarse pictures keep",
        [
          ["max", "the largest value"],
          ["mean", "the mean"],
        ],
        state.pool,
        (pool) => session.set({ pool }),
      )}
      ${select(
        "several queries as",
        [
          ["mean", "their mean"],
          ["sum", "their sum"],
          ["max", "their maximum"],
        ],
        state.aggregate,
        (aggregate) => session.set({ aggregate }),
      )}
    </div></details>
    ${
      segments.length > 0
        ? html`<span class="segments">${(["query", "key"] as const).map((side) => chips(session, side))}</span>`
        : nothing
    }
  </div>`;
}

/** Segments of one side: any of them, or all. */
function chips(session: Ui["session"], side: "query" | "key"): TemplateResult {
  const part = side === "query" ? "querySegments" : "keySegments";
  const chosen = session.state[part];
  const { segments } = session.block!;
  return html`<span class="choice" role="group" aria-label=${side === "query" ? "Segments of the queries" : "Segments of the keys"}>
    <button type="button" aria-pressed=${chosen.length === 0} @click=${() => session.set({ [part]: [], camera: null })}>${side === "query" ? "all queries" : "all keys"}</button>
    ${segments.map((segment, i) =>
      segment[side] === undefined
        ? nothing
        : html`<button type="button" aria-pressed=${chosen.includes(i)} @click=${() =>
            session.set({ [part]: toggled(chosen, i), camera: null })}>${segment.name}</button>`,
    )}
  </span>`;
}
