/** The dialogs of one element: which one is open, the text typed into it, and the state of the export dialog. */

import { viewOf } from "../views/registry.ts";
import type { DialogName, DialogState, Dialogs } from "./panels/dialogs.ts";
import type { ExportKind, ExportState } from "./panels/export.ts";
import type { Session } from "./session.ts";

export class Sheets {
  #open: DialogState | undefined;
  #export: ExportState = {
    width: 85,
    caption: true,
    about: false,
    dark: false,
    transparent: false,
    drawn: undefined,
    message: "",
  };
  #drawing = 0;
  readonly #session: Session;
  readonly #changed: () => void;
  readonly #leave: () => void;
  readonly #link: () => string;

  constructor(session: Session, changed: () => void, leave: () => void, link: () => string) {
    this.#session = session;
    this.#changed = changed;
    this.#leave = leave;
    this.#link = link;
  }

  get dialogs(): Dialogs {
    return {
      state: this.#open,
      set: (patch) => {
        if (this.#open) this.#open = { ...this.#open, ...patch };
        this.#changed();
      },
      close: () => {
        if (this.#open === undefined) return;
        this.#open = undefined;
        // A dialog that is closed before it is removed restores the focus.
        this.#leave();
        this.#changed();
      },
      exporter: {
        state: this.#export,
        set: (patch) => {
          this.#export = { ...this.#export, ...patch };
          void this.#draw();
        },
        give: (kind) => void this.#give(kind),
      },
    };
  }

  show(name: DialogName): void {
    this.#open = { name, query: "", chosen: 0 };
    if (name === "export") {
      this.#export = { ...this.#export, dark: this.#session.dark, message: "" };
      void this.#draw();
    }
    this.#changed();
  }

  get #options() {
    const { width, caption, about, dark, transparent } = this.#export;
    return { width, caption, about, theme: dark ? "dark" : "light", background: !transparent } as const;
  }

  async #draw(): Promise<void> {
    const drawing = ++this.#drawing;
    this.#export = { ...this.#export, drawn: undefined };
    this.#changed();
    try {
      const { figureOf } = await import("./output/export.ts");
      const { svg, alt, latex } = await figureOf(this.#session, this.#options);
      if (drawing !== this.#drawing) return;
      // Parsed as SVG, not HTML: scripts cannot run.
      const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
      const node = document.importNode(parsed, true);
      this.#export = { ...this.#export, drawn: { node, alt, latex: latex(this.#name) } };
    } catch (error) {
      this.#export = { ...this.#export, message: (error as Error).message };
    }
    this.#changed();
  }

  get #name(): string {
    const { store, state } = this.#session;
    const base = (store?.report.name ?? "attention").replace(/\.\w+$/, "").replace(/[^\p{L}\p{N}_-]+/gu, "-");
    const { name, layout } = viewOf(state);
    return `${base}-${layout.heads ? `l${state.layer}-h${state.head}-${name}` : name}`;
  }

  async #give(kind: ExportKind): Promise<void> {
    const reported = (text: string) => {
      this.#export = { ...this.#export, message: text };
      this.#changed();
    };
    const { figureOf, htmlOf, pngOf, saveFile, tableOf } = await import("./output/export.ts");
    const copy = async (text: string) => {
      await navigator.clipboard.writeText(text);
      reported("Copied.");
    };
    const save = (content: Blob, ending: string) => {
      saveFile(content, `${this.#name}.${ending}`);
      reported(`Saved as ${this.#name}.${ending}.`);
    };
    const session = this.#session;
    const { drawn } = this.#export;
    try {
      if (kind === "svg")
        save(new Blob([(await figureOf(session, this.#options)).svg], { type: "image/svg+xml" }), "svg");
      else if (kind === "pdf") {
        const { pdf, missing } = await (await figureOf(session, this.#options)).pdf();
        save(new Blob([pdf as BlobPart], { type: "application/pdf" }), "pdf");
        if (missing.length > 0)
          reported(
            `Saved as ${this.#name}.pdf. The fonts of a PDF have no ${missing.slice(0, 12).join(" ")}; question marks replace these characters. SVG keeps them.`,
          );
      } else if (kind === "png") save(await pngOf(session, this.#options), "png");
      else if (kind === "html") save(new Blob([await htmlOf(session)], { type: "text/html" }), "html");
      else if (kind === "bundle")
        save(
          new Blob([(await session.store!.bundle()) as BlobPart], { type: "application/octet-stream" }),
          "safetensors",
        );
      else if (kind === "csv" || kind === "json") save(await tableOf(session, kind), kind);
      else if (kind === "link") await copy(this.#link());
      else await copy(kind === "alt" ? (drawn?.alt ?? "") : (drawn?.latex ?? ""));
    } catch (error) {
      reported(`The export failed: ${(error as Error).message}`);
    }
  }
}
