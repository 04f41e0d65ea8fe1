/**
 * Types of <attention-view>: its state, its sources, its events and its methods. Types only; the element itself is in explorer/,
 * built as the module `heed/attention-view`. A page needs no other types to use it.
 */

import type { AblatedRun } from "../models/inference/ablate.ts";
import type { LogitAttribution } from "../models/inference/attribution.ts";
import type { BlockParts } from "../models/inference/block.ts";
import type { Effect } from "../models/inference/effects.ts";
import type { Predicted } from "../models/inference/prediction.ts";
import type { ScoreSplit } from "../models/inference/score-split.ts";
import type { HeadStore } from "../store/head-store.ts";
import type { StoreInput } from "../store/layout/input.ts";
import type { HeadMeasures } from "../store/measures/measures.ts";
import type { HeadOverTexts } from "../store/measures/over-texts.ts";
import type { LoadReport } from "../store/sentences/report.ts";
import type { FigureOptions } from "./figure/options.ts";
import type { HeadName, State, SwitchedHead } from "./state.ts";

export type { Camera, Edit, Filter, HeadName, State, SwitchedHead } from "./state.ts";

/** The input of `open`: arrays in memory, a file, its bytes, or several files of which one has the tokens. */
export type Openable = StoreInput | Blob | ArrayBuffer | Uint8Array | readonly File[];

/** A request of the explorer to run the model with heads ablated. */
export interface AblationRequest {
  readonly heads: readonly SwitchedHead[];
  /** Encoders: the token that is masked and predicted; decoders: the token before the prediction. null: the text's mask, or its last token. */
  readonly position: number | null;
}

/** The result of such a run, compared with the run with all heads: `AblatedRun` of `heed/models`. */
export interface AblationResult extends AblatedRun {}

/** How a part of a model is changed: its output becomes zero, its mean over the text, or that of the other text; or a link loses its weight. */
export type PartChange = "zero" | "mean" | "patch" | "link" | "renormalized";

/**
 * What a change is measured on: the prediction, the mean of all last states, the last state of the cursor's query, or the weight of the
 * cursor's link. States are compared with the other text where there is one, else with the unchanged run.
 */
export type EffectMeasure = "prediction" | "text" | "state" | "weight";

/** A question about one text to the model that read it. */
export type ModelQuestion =
  /** What each part of a layer changes. */
  | {
      readonly of: "effects";
      readonly layer: number;
      readonly change: PartChange;
      readonly measure: EffectMeasure;
      /** The cursor's cell: its link is the one that is turned off or measured, its query the state that is measured. */
      readonly cell: Pick<State, "layer" | "head" | "query" | "key">;
      /** The other text. */
      readonly other?: string;
      /** The position of the prediction, as in `AblationRequest`. */
      readonly position: number | null;
    }
  /** Why a link has its weight: `splitScore` of `heed/models`. */
  | {
      readonly of: "score";
      readonly layer: number;
      readonly head: number;
      readonly query: number;
      readonly key: number;
    }
  /** What each component adds to the prediction: `attributeLogits` of `heed/models`. */
  | { readonly of: "logits"; readonly position: number | null }
  /** What the states of tokens from..to − 1 would predict after each layer: `logitLens` of `heed/models`. */
  | { readonly of: "lens"; readonly from: number; readonly to: number }
  /** What a block adds to the state of a token. */
  | { readonly of: "block"; readonly layer: number; readonly position: number }
  /** The token that a decoder writes after the text and `n` tokens of its own: token n of `generate`. */
  | {
      readonly of: "next";
      readonly n: number;
      /** How many tokens are to be written. */
      readonly total: number;
      /** 0: the most likely token; else one is sampled, from the numbers of the seed. */
      readonly temperature: number;
      readonly seed: number;
      /** The `path` of an earlier answer, whose picture is no longer shown. */
      readonly replaces?: string;
    };

/** What one part changes. */
export interface PartEffect extends Effect {
  /** Of predictions: the most likely token after the change. */
  readonly top?: { readonly token: string; readonly probability: number };
}

/** The answers to the questions by what they are of. */
export interface ModelAnswers {
  readonly effects: {
    /** The quantity of the unchanged run, and of patches that of the other text. */
    readonly value: number;
    readonly otherValue?: number;
    /** The token whose probability is the quantity, or whose logit minus that of `against` is. */
    readonly token?: string;
    readonly against?: string;
    readonly effects: readonly PartEffect[];
  };
  readonly score: Pick<ScoreSplit, "score" | "terms" | "rest" | "scoreMods">;
  readonly logits: LogitAttribution;
  /** The embedding first: a list for each layer, with the most likely token of each state. */
  readonly lens: readonly (readonly Predicted[])[];
  readonly block: BlockParts;
  readonly next:
    | { readonly token: string; readonly path: string; readonly source: AttentionSource }
    | { readonly token: null; readonly why: string };
}

/** The model of a source. The explorer can run it again with heads ablated. */
export interface SourceModel {
  readonly name: string;
  /** The tokens that the model predicts: the next one, masked ones, or none. */
  readonly predicts: "next" | "masked" | "none";
  /**
   * Runs the model with heads ablated. Rejects with an Error whose message is a sentence. `signal` aborts when the result is no
   * longer wanted: other heads were requested, or another text was opened.
   */
  ablate(request: AblationRequest, options?: { readonly signal?: AbortSignal }): Promise<AblationResult>;
  /** The attention of a run with heads ablated, as a new source. */
  attention?(heads: AblationRequest["heads"]): Promise<AttentionSource>;
  /** The text that it read; undefined for a pair of texts. */
  readonly text?: string;
  /** Answers a question about the text. Rejects as `ablate` does. */
  ask?<Of extends keyof ModelAnswers>(
    question: Extract<ModelQuestion, { readonly of: Of }>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ModelAnswers[Of]>;
}

/** A file or text that the element can show: its name, its URL or data, and the model that can run on it again. */
export type AttentionSource = { readonly model?: SourceModel } & (
  | { readonly name: string; readonly src: string }
  | { readonly name: string; readonly data: Openable }
);

/** A model that reads texts of the page. */
export interface TextReader {
  readonly name: string;
  /** The attention on a text. `once`: it is measured and not shown, and may be forgotten when the next text is read. */
  read(
    text: string,
    options?: { readonly once?: boolean; readonly signal?: AbortSignal },
  ): Promise<AttentionSource>;
}

/** The events of the element. `detail` has plain values. Events bubble. */
export interface AttentionViewEvents {
  readonly cursorchange: CustomEvent<Pick<State, "block" | "layer" | "head" | "query" | "key">>;
  readonly pin: CustomEvent<Pick<State, "pinned" | "pins">>;
  readonly viewchange: CustomEvent<Pick<State, "view" | "mode" | "stage">>;
  readonly load: CustomEvent<{ readonly report: LoadReport }>;
  readonly error: CustomEvent<{ readonly title: string; readonly message: string; readonly code?: string }>;
  readonly progress: CustomEvent<{ readonly what: string; readonly done: number }>;
}

/** The attributes of <attention-view>, as text in HTML, or as props of a wrapper. All are optional. */
export interface AttentionViewAttributes {
  /** Address of a bundle, npz, npy or JSON file. */
  readonly src?: string;
  readonly theme?: "auto" | "light" | "dark";
  /** "off" disables the single-letter shortcuts. */
  readonly keys?: "on" | "off";
  /** What is around the picture: everything, only the caption and the legend, or nothing. */
  readonly controls?: "all" | "few" | "none";
  /** "none": the page behind the element shows through. */
  readonly background?: "paper" | "none";
  /** The parts around the picture, separated by spaces: `bar toolbar atlas inspector caption legend status`. */
  readonly parts?: string;
  /** Stores the state in the page's address, after #. At most one element of a page may do so. */
  readonly address?: boolean;
  readonly view?: State["view"];
  readonly mode?: State["mode"];
  readonly stage?: State["stage"];
  readonly block?: string;
  readonly layer?: number;
  readonly head?: number;
  /** The token that attends, and the one that is attended to: the cursor. */
  readonly query?: number;
  readonly key?: number;
}

/** <attention-row>: the row view alone. The attributes `block layer head query key theme background src keys address` set the properties of the same names. */
export interface AttentionRowElement extends AttentionViewElement {}

/**
 * <attention-view>. The attributes `view mode block layer head query key stage theme background src keys address controls` set the properties or the state
 * of the same names. The attribute `parts` lists the parts around the picture, separated by spaces:
 * `bar toolbar atlas inspector caption legend status`; other parts are left out.
 */
export interface AttentionViewElement extends HTMLElement {
  /** URL of the file to show. */
  src: string | undefined;
  /** "light", "dark", or "auto": the system's setting. */
  theme: string | undefined;
  /** The parts around the picture: "all" (default), "few" (the caption and the legend) or "none". Without "all", the element is as high as its picture. */
  controls: string | undefined;
  /** "none": the page behind the element shows through; otherwise the color `--paper` of the theme. */
  background: string | undefined;
  /** "off": single-letter shortcuts are disabled. */
  keys: string | undefined;
  /** True: the state is kept in the page's URL, after #. At most one element per page. */
  address: boolean;
  /** The store that is shown. A page can set one, which the element then disposes. */
  store: HeadStore | undefined;
  /** Adds a source after the others and shows it. */
  add(source: AttentionSource): Promise<void>;
  /** The model that reads the lines of a dropped list of texts (.txt), over which every head is measured; undefined: none. */
  reader: TextReader | undefined;
  /** Opens the file picker. */
  pick(): void;
  /** Several files or texts, shown one at a time; `state.text` is the index of the current one. */
  sources: readonly AttentionSource[];
  /** Data to open, immediately when it is set. The event `load` follows when it is shown. */
  set data(input: Openable | undefined);
  /** The state. */
  get state(): State;
  /** Changes the given fields of the state. */
  set state(patch: Partial<State>);
  /** What the picture shows: sentences for a reader who sees one for the first time, and whether it shows all heads together. */
  readonly picture: { readonly meaning: string; readonly ofAllHeads: boolean };
  /** Moves the cursor. */
  setCursor(cell: Partial<Pick<State, "block" | "layer" | "head" | "query" | "key">>): void;
  /** Opens arrays, a file or bytes. Resolves when they are shown; rejects if they cannot be read. */
  open(input: Openable, name?: string): Promise<void>;
  /** The measures of a head. Default: the cursor's head. */
  metrics(of?: Partial<HeadName>): Promise<HeadMeasures>;
  /**
   * What the cursor's link is without its text: its head over the other texts of `sources` that the same model read (at most 8), with the
   * weight at the cursor's positions there (`at`). undefined without such texts.
   */
  overTexts(): Promise<HeadOverTexts | undefined>;
  /** The current figure as an SVG file. It is drawn without the browser: the same state gives the same text. */
  toSVG(options?: FigureOptions): Promise<string>;
  /** The current figure as a PNG, 1 to 4 times its size on screen. Default 2. */
  toPNG(options?: FigureOptions, scale?: 1 | 2 | 3 | 4): Promise<Blob>;
  /** The explorer with this data and state as one HTML file that makes no request. */
  toHTML(): Promise<string>;
}
