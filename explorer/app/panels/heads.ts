/** The left column: blocks, sorting, filters, the atlas, and the pinned heads. */
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { type HeadRef, headsOf } from "../../../src/store/block.ts";
import type { HeadMeasures } from "../../../src/store/measures/measures.ts";
import { css } from "../../../ui/css.ts";
import { METRICS, metricOf, metricValue } from "../../state/metrics.ts";
import { WITHOUT_TOKENS } from "../../state/select.ts";
import {
  BY_PATTERN,
  type Filter,
  MAX_PINS,
  PIN_LETTERS,
  SORTS,
  sameHead,
  togglePin,
} from "../../state/state.ts";
import { shortName } from "../../state/words.ts";
import { bar, choice, numeral, select, type Ui } from "../ui.ts";

export function atlasPanel(ui: Ui, atlas: HTMLElement): TemplateResult {
  return html`<h2>Layers × heads</h2>
    ${blocks(ui)}${sorting(ui)}
    ${atlas}
    ${ui.headPanels()}
    ${pins(ui)}`;
}

/** Buttons for the blocks of the file, such as encoder, decoder and cross attention. */
export function blocks({ session }: Ui): TemplateResult | typeof nothing {
  const { store, state } = session;
  if (store === undefined || store.blocks.length < 2) return nothing;
  return html`<p>${choice(
    "Block",
    store.blocks.map(({ name }) => [name, name] as const),
    state.block,
    (block) => session.set({ ...WITHOUT_TOKENS, block }),
  )}</p>`;
}

export function sorting({ session }: Ui): TemplateResult {
  const { state } = session;
  return html`<div class="sorting">
    ${select("Sort heads by", [["", "in order"], [BY_PATTERN, "by pattern"], ...METRICS.map(({ name, label }) => [name as string, `by ${label}`] as const)], state.sort, (sort) => session.set({ sort }))}
    ${
      state.sort === ""
        ? html`<button type="button" class="bordered" aria-pressed=${state.flipped} title="Layer 0 at the bottom" @click=${() => session.set({ flipped: !state.flipped })}>${state.flipped ? "↑" : "↓"}<span class="hid">Layer 0 at the bottom</span></button>`
        : state.sort === BY_PATTERN
          ? html`<span></span>`
          : html`<button type="button" class="bordered" aria-pressed=${state.descending} @click=${() => session.set({ descending: !state.descending })}>${state.descending ? "↓" : "↑"}<span class="hid">largest first</span></button>`
    }
    ${
      state.sort === "" || state.sort === BY_PATTERN
        ? nothing
        : html`${choice(
            "Sort order",
            SORTS.map((how) => [how, how] as const),
            state.sortHow,
            (sortHow) => session.set({ sortHow }),
          )}<button type="button" class="bordered" @click=${() => addFilter(session, state.sort)}>filter</button>`
    }
  </div>
  ${state.filters.length > 0 ? html`<ul class="filters">${state.filters.map((filter) => range(session, filter))}</ul>` : nothing}`;
}

/** The minimum and maximum of a metric over the measured heads. */
function span(session: Ui["session"], metric: string): readonly [number, number] | undefined {
  const { block } = session;
  if (block === undefined) return undefined;
  const measuresOf = ({ layer, head }: HeadRef) => session.measures({ block: block.name, layer, head });
  const values = headsOf(block, 0).flatMap((ref) => metricValue(measuresOf(ref), metric) ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low <= high ? [low, high] : undefined;
}

function addFilter(session: Ui["session"], metric: string): void {
  const extent = span(session, metric);
  if (extent === undefined || session.state.filters.some((filter) => filter.metric === metric)) return;
  session.set({ filters: [...session.state.filters, { metric, low: extent[0], high: extent[1] }] });
}

function range(session: Ui["session"], filter: Filter): TemplateResult {
  const metric = metricOf(filter.metric);
  const extent = span(session, filter.metric);
  if (metric === undefined || extent === undefined) return html``;
  const [low, high] = extent;
  const set = (part: "low" | "high", how: "push" | "replace") => (event: Event) => {
    const input = event.target as HTMLInputElement;
    const dragged = Number(input.value);
    // A slider rounds to 15 digits; at its ends, the heads with the extreme values must stay.
    const value = [low, high].find((end) => Math.abs(dragged - end) <= 1e-9 * (high - low)) ?? dragged;
    const next = { ...filter, [part]: value };
    // A thumb stops at the other one.
    if (next.low > next.high) next[part] = filter[part === "low" ? "high" : "low"];
    input.value = String(next[part]);
    session.set(
      { filters: session.state.filters.map((one) => (one.metric === filter.metric ? next : one)) },
      how,
    );
    if (how === "push") session.changed("push");
  };
  // Where the thumbs meet, the one with more space to move is in front.
  const front = filter.low > (low + high) / 2 ? "low" : "high";
  const input = (
    part: "low" | "high",
  ) => html`<input type="range" class=${part === front ? "front" : ""} min=${low} max=${high} step="any"
    .value=${live(String(filter[part]))} aria-label=${`${metric.label}, ${part === "low" ? "at least" : "at most"}`}
    @input=${set(part, "replace")} @change=${set(part, "push")}>`;
  const share = (value: number) => `${(100 * ((value - low) / (high - low || 1))).toFixed(1)}%`;
  return html`<li><span class="bounds">${metric.label} <span>${numeral(filter.low, filter.metric, metric.options)} – ${numeral(filter.high, filter.metric, metric.options)}</span></span>
    <span class="range" ${css({ "--from": share(filter.low), "--to": share(filter.high) })}>${input("low")}${input("high")}</span>
    <button type="button" aria-label=${`Remove the filter of ${metric.label}`} @click=${() =>
      session.set({
        filters: session.state.filters.filter((one) => one.metric !== filter.metric),
      })}>×</button></li>`;
}

/** The pinned heads, each with its letter. */
export function pins({ session }: Ui): TemplateResult {
  const { state, block } = session;
  const name =
    metricOf(state.sort) === undefined ? ("effectiveKeys" satisfies keyof HeadMeasures) : state.sort;
  const metric = metricOf(name);
  // Measures of all heads are requested only where they are shown.
  const extent = state.pins.length > 0 ? span(session, name) : undefined;
  return html`<h2>Pinned</h2>
    ${
      state.pins.length === 0 || block === undefined || metric === undefined
        ? html`<p class="quiet">Up to six heads stay here, side by side.</p>`
        : html`<p class="quiet">Bars: ${metric.label}.</p><ul class="pins">${session.pins.map((pin) => {
            const value = metricValue(session.measures(pin), name);
            return html`<li><span class="letter" aria-hidden="true">${PIN_LETTERS[state.pins.indexOf(pin)]}</span>
          <button type="button" class="link" @click=${() => session.set({ block: pin.block, layer: pin.layer, head: pin.head })}>${shortName(session, pin)}</button>
          ${bar(value !== undefined && extent ? value / (extent[1] || 1) : 0)}
          ${value === undefined ? html`<span></span>` : numeral(value, name, metric.options)}
          <button type="button" aria-label=${`Unpin ${shortName(session, pin)}`} @click=${() => session.set({ pins: togglePin(state.pins, pin) })}>×</button></li>`;
          })}</ul>`
    }
    ${
      state.pins.length === MAX_PINS || state.pins.some((pin) => sameHead(pin, state))
        ? nothing
        : html`<p><button type="button" class="bordered" title="Or press P, or click a head with Shift" @click=${() => session.set({ pins: togglePin(state.pins, state) })}>Pin ${shortName(session, state)}</button></p>`
    }`;
}
