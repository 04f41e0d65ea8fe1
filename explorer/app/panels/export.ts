/**
 * The export dialog: a preview of the figure at its final size with its description, and a button for each format. The figure
 * renderer draws it, as on the command line.
 */
import { html, nothing, type TemplateResult } from "lit";
import { check, choice, type Ui } from "../ui.ts";

/** The settings and the preview of an export. */
export interface ExportState {
  readonly width: 85 | 170;
  readonly caption: boolean;
  /** The caption names the text and its model. */
  readonly about: boolean;
  readonly dark: boolean;
  /** The figure has no background. */
  readonly transparent: boolean;
  /** The drawn figure with its description and LaTeX; undefined while it is drawn. */
  readonly drawn: { readonly node: Node; readonly alt: string; readonly latex: string } | undefined;
  /** The result of the last export. */
  readonly message: string;
}

export type ExportKind =
  | "pdf"
  | "svg"
  | "png"
  | "csv"
  | "json"
  | "html"
  | "bundle"
  | "link"
  | "alt"
  | "latex";

export interface Exporter {
  readonly state: ExportState;
  readonly set: (patch: Partial<ExportState>) => void;
  readonly give: (kind: ExportKind) => void;
}

const KINDS: readonly (readonly [ExportKind, string])[] = [
  ["pdf", "PDF"],
  ["svg", "SVG"],
  ["png", "PNG"],
  ["csv", "CSV"],
  ["json", "JSON"],
  ["html", "HTML"],
  ["bundle", "data (.safetensors)"],
];
const COPIES: readonly (readonly [ExportKind, string])[] = [
  ["link", "link"],
  ["alt", "description"],
  ["latex", "LaTeX"],
];

export function exportSheet(_ui: Ui, { state, set, give }: Exporter): TemplateResult {
  return html`<p class="buttons">${choice(
    "Width",
    [
      ["85", "85 mm", "One column of a journal"],
      ["170", "170 mm", "Two columns of a journal"],
    ],
    String(state.width) as "85" | "170",
    (width) => set({ width: width === "85" ? 85 : 170 }),
  )}
    ${check("caption", state.caption, (caption) => set({ caption }))} ${check("text and model", state.about, (about) => set({ about }))} ${check("dark", state.dark, (dark) => set({ dark }))}
    ${check("transparent", state.transparent, (transparent) => set({ transparent }))}</p>
    <figure class="sheet">${state.drawn ? state.drawn.node : html`<p class="quiet">Drawing …</p>`}</figure>
    ${state.drawn ? html`<p class="quiet">${state.drawn.alt}</p>` : nothing}
    <p class="buttons">${KINDS.map(([kind, text]) => html`<button type="button" class="bordered" ?disabled=${state.drawn === undefined} @click=${() => give(kind)}>${text}</button>`)}</p>
    <p class="buttons"><span>Copy</span> ${COPIES.map(([kind, text]) => html`<button type="button" class="bordered" ?disabled=${state.drawn === undefined} @click=${() => give(kind)}>${text}</button>`)}</p>
    <p role="status">${state.message}</p>`;
}
