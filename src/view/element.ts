/**
 * Types of <attention-view>: what it shows as one plain value, what it opens, its events, its methods. Types only; the
 * element is explorer/, the built module `heed/attention-view`. A page needs no other types to use it.
 */

import type { StoreInput } from "../store/layout/input.ts";
import type { HeadMeasures, HeadStore, LoadReport } from "../store/types.ts";
import type { FigureOptions } from "./figure/options.ts";
import type { AblatedHead, HeadName, State } from "./state.ts";

export type { AblatedHead, Camera, Edit, Filter, HeadName, State } from "./state.ts";

/** What may be opened: arrays in memory, a file, its bytes, or several files of which one has the tokens. */
export type Openable = StoreInput | Blob | ArrayBuffer | Uint8Array | readonly File[];

/** A run of the model without some heads, as the explorer asks for it. */
export interface AblationRequest {
  readonly heads: readonly AblatedHead[];
  /** The token that is predicted: masked (encoders), or the one after it (decoders); null: as the text says. */
  readonly position: number | null;
}

/** What such a run gives, beside the run with all heads: `AblatedRun` of `heed/models`. */
export interface AblationResult {
  readonly predicted: {
    readonly position: number;
    /** The text's own token there was replaced by the mask, in both runs. */
    readonly masked: boolean;
    readonly tokens: readonly {
      readonly id: number;
      readonly token: string;
      readonly before: number;
      readonly after: number;
    }[];
  } | null;
  /** How far the last state of each token moved, as a share of its length. */
  readonly moved: readonly number[];
  /** Cosine of the means of the last states. */
  readonly cosine: number;
}

/** The model behind a source: the explorer can run it again without some of its heads. */
export interface SourceModel {
  readonly name: string;
  /** What the model predicts: the next token, masked tokens, or none. */
  readonly predicts: "next" | "masked" | "none";
  /** Runs it without heads. Rejects with what went wrong, as a sentence. */
  ablate(request: AblationRequest): Promise<AblationResult>;
  /** The attention of the text's run without heads, as a source of its own. */
  attention?(heads: AblationRequest["heads"]): Promise<AttentionSource>;
}

/** A file or text that the element can show: its name, its address or what to open, and the model that can be run on it again. */
export type AttentionSource = { readonly model?: SourceModel } & (
  | { readonly name: string; readonly src: string }
  | { readonly name: string; readonly data: Openable }
);

/** What the element reports, by the name of the event; all of it in `detail`, plain values. Events bubble. */
export interface AttentionViewEvents {
  readonly cursorchange: CustomEvent<Pick<State, "block" | "layer" | "head" | "query" | "key">>;
  readonly pin: CustomEvent<Pick<State, "pinned" | "pins">>;
  readonly viewchange: CustomEvent<Pick<State, "view" | "mode" | "stage">>;
  readonly load: CustomEvent<{ readonly report: LoadReport }>;
  readonly error: CustomEvent<{ readonly title: string; readonly message: string; readonly code?: string }>;
  readonly progress: CustomEvent<{ readonly what: string; readonly done: number }>;
}

/** <attention-row>: the row view by itself. Attributes `block layer head query key theme src keys address` do as the properties do. */
export interface AttentionRowElement extends AttentionViewElement {}

/**
 * The element. Attributes `view mode block layer head stage theme src keys address controls` do as the properties do. The
 * attribute `parts` names what is around the picture, apart by spaces: `bar toolbar atlas inspector caption legend status`;
 * what is not named is left out.
 */
export interface AttentionViewElement extends HTMLElement {
  /** Where the attention is read from. */
  src: string | undefined;
  /** light, dark, or auto: as the system has it. */
  theme: string | undefined;
  /** How much is around the picture: "all" (default), "few" (the caption and the legend), "none". Then it is as high as its picture needs. */
  controls: string | undefined;
  /** "off": single letters do nothing. */
  keys: string | undefined;
  /** The state is kept in the page's address, after #. One element of a page at most. */
  address: boolean;
  /** The store that is shown; one of the page's own may be set, and is then disposed of by the element. */
  store: HeadStore | undefined;
  /** One more source, after those there are; it is then shown. */
  add(source: AttentionSource): Promise<void>;
  /** Lets a person choose files. */
  pick(): void;
  /** Several files or texts, shown one at a time; `state.text` says which. */
  sources: readonly AttentionSource[];
  /** Opened as soon as it is set; the event `open` reports when it is loaded. */
  set data(given: Openable | undefined);
  /** What is shown; setting parts of it changes those. */
  get state(): State;
  set state(patch: Partial<State>);
  /** Moves the cursor. */
  setCursor(cell: Partial<Pick<State, "block" | "layer" | "head" | "query" | "key">>): void;
  /** Opens arrays, a file, bytes. Resolves once it is shown; rejects where it cannot be read. */
  open(given: Openable, name?: string): Promise<void>;
  /** The measures of a head: the cursor's where none is named. */
  metrics(of?: Partial<HeadName>): Promise<HeadMeasures>;
  /** What is shown as an SVG file, drawn without the browser: the same state gives the same text. */
  toSVG(options?: FigureOptions): Promise<string>;
  /** What is shown as PNG, 1 to 4 times its size on screen (2). */
  toPNG(options?: FigureOptions, scale?: 1 | 2 | 3 | 4): Promise<Blob>;
  /** The explorer with this data and state as one HTML file that makes no request. */
  toHTML(): Promise<string>;
}
