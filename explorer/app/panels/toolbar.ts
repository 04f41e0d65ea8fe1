/** The controls above a head's picture: drawing, stage, color scale, keys that are left out. */
import { html, nothing, type TemplateResult } from "lit";
import type { Block } from "../../../src/store/block.ts";
import { isSigned } from "../../../src/store/measures/transfer.ts";
import { toggled } from "../../state/select.ts";
import { HIDES, type Hide, RAMPS, STAGES, type StageName, TRANSFERS } from "../../state/state.ts";
import { STAGE_MEANINGS, STAGE_NAMES, TRANSFER_NAMES } from "../../state/words.ts";
import { DRAWINGS, viewOf } from "../../views/registry.ts";
import { pageDevice } from "../device.ts";
import { rove } from "../input/keys.ts";
import { hiddenKeys } from "../session.ts";
import { check, choice, select, type Ui } from "../ui.ts";

/** Settings with a menu of names: the label, the part of the state, and the name of each value. */
const MENU = [
  ["full color at", "domain", { absolute: "1", head: "this head's largest", row: "each row's largest" }],
  ["colors", "ramp", Object.fromEntries(RAMPS.map((name) => [name, name]))],
  ["when zoomed out show", "pool", { max: "the largest value", mean: "the mean" }],
  ["several tokens", "aggregate", { mean: "average", sum: "sum", max: "largest" }],
] as const;
const HIDE_NAMES: Readonly<Record<Hide, string>> = {
  none: "nothing",
  special: "special tokens",
  first: "the first token",
  chosen: "selected tokens",
};
/** What computes the passes over heads. */
const USES = [
  ["auto", "what is faster"],
  ["gpu", "the GPU"],
  ["cpu", "the CPU"],
] as const;
const SCALE_HINTS = {
  sqrt: "Color by the square root of the share: small weights are visible",
  linear: "Color by the share itself",
  log: "Color by the logarithm of the share: very small weights are visible",
} as const;

const specialLabels = new WeakMap<Block, readonly string[]>();

/** The names of the block's special tokens: "[CLS], [SEP]". */
function specialNames(session: Ui["session"]): string {
  const block = session.block!;
  const { key: names } = session.labels(block);
  const different = specialLabels.get(block) ?? [
    ...new Set(block.special.key.flatMap((isSpecial, key) => (isSpecial ? [names[key]] : []))),
  ];
  specialLabels.set(block, different);
  return different.length === 0
    ? HIDE_NAMES.special
    : `${different.slice(0, 3).join(", ")}${different.length > 3 ? " …" : ""}`;
}

/** @param controls the controls of the current view */
export function toolbar(ui: Ui, controls: unknown): TemplateResult | typeof nothing {
  const { session } = ui;
  const { state, block } = session;
  if (block === undefined) return nothing;
  const segments = block.segments;
  const { weightsOnly = false } = viewOf(state);
  return html`<div class="toolbar" part="toolbar" role="toolbar" aria-label="How the head is drawn"
    @focusin=${({ currentTarget, target }: FocusEvent) => rove(currentTarget as HTMLElement, target as HTMLElement)}>
    ${choice(
      "View",
      DRAWINGS.filter(({ fits }) => fits?.(block) !== false).map(
        ({ name, label, hint, key }) =>
          [name, label, key === undefined ? hint : `${hint} (${key.toUpperCase()})`] as const,
      ),
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
            hintOf(stage, i + 1, block.has.qk, weightsOnly),
            !block.stages.includes(stage) || (weightsOnly && isSigned(stage)),
          ] as const,
      ),
      state.stage,
      (stage) => session.set({ stage }),
    )}
    ${controls}
    ${moreMenu(ui)}
    ${
      segments.length > 0
        ? html`<span class="segments">${(["query", "key"] as const).map((role) => chips(session, role))}</span>`
        : nothing
    }
  </div>`;
}

/** The keys to leave out, and what happens to their share. */
function hiding(ui: Ui): TemplateResult {
  const { session } = ui;
  const { state, block } = session;
  const hidden = hiddenKeys(block!, state);
  return html`${select(
    "leave out",
    HIDES.map((hide) => [hide, hide === "special" ? specialNames(session) : HIDE_NAMES[hide]] as const),
    state.hide,
    (hide) => session.set({ hide }),
    "hide",
  )}
    ${
      state.stage === "weights" && (hidden.length > 0 || state.hide === "chosen")
        ? choice(
            "Their share",
            [
              ["gap", "leave the gap", "Rows no longer sum to 1; a gray bar shows the missing share"],
              [
                "renormalize",
                "rescale to 100 %",
                "The remaining weights of each row are divided by their sum",
              ],
            ],
            state.renormalize ? "renormalize" : "gap",
            (how) => session.set({ renormalize: how === "renormalize" }),
          )
        : nothing
    }${
      state.hide === "chosen" && hidden.length === 0
        ? html`<span class="quiet">${
            state.columns.length > 0
              ? html`<button type="button" class="bordered" @click=${() => ui.act("hide-chosen")}>Leave out the ${state.columns.length === 1 ? "selected token" : `${state.columns.length} selected tokens`}</button>`
              : "Click tokens at the top to select them."
          }</span>`
        : nothing
    }`;
}

/** The table, the keys that are left out, and the settings of colors. */
function moreMenu(ui: Ui): TemplateResult {
  const { session } = ui;
  const { state } = session;
  const score = isSigned(state.stage);
  return html`<span class="ends">
    <details class="more"><summary>more</summary><div class="menu">
      ${check("table", state.table, (table) => session.set({ table }))}
      ${score ? nothing : hiding(ui)}
      ${
        score
          ? nothing
          : choice(
              "Color scale",
              TRANSFERS.map((name) => [name, TRANSFER_NAMES[name], SCALE_HINTS[name]] as const),
              state.transfer,
              (transfer) => session.set({ transfer }),
            )
      }
      ${MENU.map(([label, part, names]) =>
        select(label, Object.entries(names), state[part], (value) => session.set({ [part]: value })),
      )}
      ${select(
        "compute on",
        USES,
        pageDevice.use,
        (use) => {
          pageDevice.choose(use);
          session.changed();
        },
        "compute",
      )}
      <span class="quiet device" role="status">${pageDevice.text}</span>
    </div></details></span>`;
}

/** The tooltip of a stage's button. */
function hintOf(stage: StageName, key: number, scored: boolean, weightsOnly: boolean): string {
  if (!scored && stage !== "weights" && stage !== "contrast")
    return "The file has only weights; this stage needs q and k";
  if (weightsOnly && isSigned(stage)) return "This picture shows weights only";
  return `${STAGE_MEANINGS[stage]} (${key})`;
}

/** The name of a segment; if it has at most two letters, with its first words. */
function segmentName(session: Ui["session"], index: number, role: "query" | "key"): string {
  const { name, ...ranges } = session.block!.segments[index];
  const range = ranges[role];
  if (name.length > 2 || range === undefined) return name;
  const names = session.labels(session.block!)[role];
  const special = session.block!.special[role];
  const words = names.slice(...range).filter((_, n) => !special[range[0] + n]);
  return `${name}: ${words.slice(0, 2).join(" ")}${words.length > 2 ? " …" : ""}`;
}

/** Toggle buttons for the segments of the queries or of the keys. */
function chips(session: Ui["session"], role: "query" | "key"): TemplateResult {
  const part = role === "query" ? "querySegments" : "keySegments";
  const chosen = session.state[part];
  const { segments } = session.block!;
  return html`<span class="choice" role="group" aria-label=${role === "query" ? "Segments of the queries" : "Segments of the keys"}>
    <button type="button" aria-pressed=${chosen.length === 0} @click=${() => session.set({ [part]: [], camera: null })}>${role === "query" ? "all queries" : "all keys"}</button>
    ${segments.map((segment, i) =>
      segment[role] === undefined
        ? nothing
        : html`<button type="button" aria-pressed=${chosen.includes(i)} @click=${() =>
            session.set({
              [part]: toggled(chosen, i),
              camera: null,
            })}>${segmentName(session, i, role)}</button>`,
    )}
  </span>`;
}
