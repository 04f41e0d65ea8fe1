/** The layout of the page: the bar at the top, three columns, the status bar at the bottom. */
import { html, nothing, type TemplateResult } from "lit";
import type { LoadReport } from "../../../src/store/sentences/report.ts";
import { num } from "../../../src/store/text/number.ts";
import { css } from "../../../ui/css.ts";
import { isChanged } from "../../state/whatif.ts";
import { describeCell, headName, STAGE_NAMES } from "../../state/words.ts";
import { PAGES, pageOf, viewOf } from "../../views/registry.ts";
import type { Session } from "../session.ts";
import { numeral, shown, token, type Ui } from "../ui.ts";
import { caption } from "./caption.ts";
import { atlasPanel } from "./heads.ts";
import { inspector } from "./inspector.ts";
import { notices, sourceTabs } from "./notices.ts";
import { toolbar } from "./toolbar.ts";
import { forReaders, welcome } from "./welcome.ts";

/** The content of the layout. */
export interface ShellParts {
  /** Whether there is space for a caption and a legend. */
  readonly hasCaption: boolean;
  readonly atlas: HTMLElement;
  /** The picture of the main column. */
  readonly pane: HTMLElement | TemplateResult;
  readonly legend: unknown;
  /** The controls of the view, and the start of its caption. */
  readonly controls: unknown;
  readonly caption: unknown;
  /** The column next to the picture; undefined: the inspector. */
  readonly role: unknown;
  readonly dialogs: TemplateResult | typeof nothing;
}

export function shell(ui: Ui, parts: ShellParts): TemplateResult {
  const { session } = ui;
  const { state, status } = session;
  const open = session.store !== undefined && session.block !== undefined;
  const page = pageOf(state);
  const { heads, foot, scrolls = false, inspector: hasInspector } = page.layout;
  const busy = status.kind === "loading" ? status.done : session.progress;
  return html`<div class="root ${open ? page.name : "closed"} ${heads ? "" : "without-heads"} ${hasInspector ? "" : "without-side"}" part="root" ${css({ "--natural": naturalHeight(session) })}>
    <div class="masthead">${top(ui)}${sourceTabs(ui)}${notices(ui)}</div>
    <div class="line" aria-hidden="true">${busy < 1 ? html`<i ${css({ width: `${(100 * busy).toFixed(1)}%` })}></i>` : nothing}</div>
    ${
      open
        ? html`
      ${heads ? html`<section class="left" part="atlas" aria-label="Heads">${atlasPanel(ui, parts.atlas)}</section>` : nothing}
      <section class="main" part="main" aria-label=${page.label}>
        <p class="printed"><strong>${session.store?.report.name}</strong> · ${page.ofAllHeads ? page.label : headName(session)}${
          page.layout.toolbar ? html` · ${STAGE_NAMES[state.stage]}` : nothing
        }</p>
        ${page.layout.toolbar ? toolbar(ui, parts.controls) : nothing}
        <div class="pane ${scrolls && !state.table ? "scrolls" : ""}" part="pane">${parts.pane}</div>
        ${foot && parts.hasCaption ? html`<div class="foot">${caption(session, parts.caption)}${parts.legend}</div>` : nothing}
      </section>
      ${hasInspector ? html`<section class="side" part="inspector" aria-label="Inspector" tabindex="-1">${parts.role ?? inspector(ui)}</section>` : nothing}`
        : html`<section class="main" part="main" aria-label="Open">${ui.owns ? welcome(ui) : forReaders(ui)}</section>`
    }
    ${open ? statusBar(session) : nothing}
    ${parts.dialogs}
  </div>`;
}

/** The height that the picture needs in an element that is as high as its content. */
const naturalHeight = ({ block, state }: Session): string =>
  block === undefined ? "120px" : (viewOf(state).height?.(block) ?? "520px");

function top({ session, act }: Ui): TemplateResult {
  const { state, block, store } = session;
  const control = /^(?:Mac|iP)/.test(navigator.platform) ? "⌘" : "Ctrl ";
  return html`<div class="top" part="bar">
    <span class="name">heed</span>
    ${
      block === undefined
        ? nothing
        : html`<nav aria-label="Views">${PAGES.filter(({ when }) => when?.(session) !== false).map(
            ({
              name,
              label,
              hint,
              key,
            }) => html`<button type="button" aria-current=${state.view === name ? "page" : nothing}
            title=${key === undefined ? hint : `${hint} (${key.toUpperCase()})`} @click=${() => session.set({ view: name })}>${label}</button>`,
          )}</nav>
    <span class="about">${about(session)} · ${counted(block.layers.length, "layer")} × ${counted(block.heads, "head")} · ${
      block.kind === "self" && block.Nq === block.Nk
        ? counted(block.Nk, "token")
        : html`${numeral(block.Nq, "queries")} queries × ${numeral(block.Nk, "keys")} keys`
    }${store?.report.verified ? html` · ${verified(store.report.verified)}` : nothing}</span>`
    }
    <span class="tools">
      <button type="button" class="bordered" @click=${() => act("open")}>Open</button>
      ${
        block === undefined
          ? nothing
          : html`<button type="button" class="bordered" @click=${() => act("export")}>Export</button>
      <button type="button" class="bordered" aria-label=${`${control}K: all commands`} title="All commands" @click=${() => act("palette")}>${control}K</button>`
      }
      <button type="button" class="bordered" aria-label="Keyboard" title="Keyboard (?)" @click=${() => act("keys")}>?</button>
    </span>
  </div>`;
}

/** The model of the attention, and the name of the file unless its tab has it. */
function about({ store, sources }: Session): string {
  const { name, model } = store!.report;
  return model === undefined ? name : sources.length > 1 ? model : `${name} · ${model}`;
}

const counted = (count: number, what: string) =>
  html`${numeral(count, `${what}s`)} ${what}${count === 1 ? "" : "s"}`;

/**
 * Whether the log-sum-exps computed here match those of the model. A weight is exp(score − log-sum-exp), so a difference of
 * 0.0006 in the log-sum-exp changes the weights by 0.06 %.
 */
function verified({
  maxDelta,
  rows,
  passed,
  differs,
  notNumbers,
}: NonNullable<LoadReport["verified"]>): TemplateResult {
  const checked = `Checked: the sum that softmax divides by was computed here for ${rows} rows, from the file's q and k`;
  if (differs)
    return html`<span class="badge" title=${`${checked}. It is not the one that the model saved: the recipe (scale, mask, bias) is not the model's.`}>not verified: differs by ${numeral(maxDelta, "report.verified", { digits: 1 })}</span>`;
  if (!passed)
    return html`<span class="badge" title=${`${checked}. The other rows match the model's.`}>the model has NaN in ${numeral(notNumbers, "report.verified")} of ${numeral(rows, "report.verified")} rows checked</span>`;
  // An upper bound, rounded up to a tenth of a percent.
  const bound = Math.max(0.001, Math.ceil(1000 * Math.expm1(maxDelta)) / 1000);
  const share = num(bound, "report.verified", { style: "percent" });
  return html`<span title=${`Checked: the sum that softmax divides by was computed here for ${rows} rows, from the file's q and k, and compared with the one that the model saved. No weight shown differs from the model's by more than ${share.text} of its value.`}>matches the model within ${shown(share)}</span>`;
}

function statusBar(session: Session): TemplateResult {
  const { state, block, hover } = session;
  if (block === undefined || !session.ready)
    return html`<div class="status" part="status"><span>Nothing leaves this machine.</span></div>`;
  const names = session.labels(block);
  const { query, key } = session.pointed;
  const value = describeCell(session, query, key, false).split(",")[0];
  return html`<div class="status" part="status">
    <span class="hints">${pageOf(state).keys}</span>
    <span class="where">${
      !pageOf(state).layout.heads
        ? nothing
        : html`<span class="at" aria-hidden="true">${hover ? "at " : ""}${token(names.query[query], names.lang.query)} → ${token(names.key[key], names.lang.key)} <span class="num">${isChanged(session) ? "changed" : value}</span></span>`
    }
    <span>${pageOf(state).ofAllHeads ? "All layers and heads" : headName(session)}</span></span>
  </div>`;
}

/** A share of finished work as a percentage. */
export const percent = (share: number) => num(share, "progress", { style: "percent" }).text;
