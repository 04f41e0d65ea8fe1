/**
 * What a page of the Lab is: data and pure functions. A state holds everything that a reader can change; numbers are what
 * heed computes from it (compute.ts of the page, in a worker and at build time); everything visible is a function of both.
 */
import type { Content, Markup } from "./markup.ts";

/** One value of a state. Its type never changes, so that an address can be read back. */
export type Value = number | string | boolean | readonly number[];
/** Everything a reader can change on a page. */
export type State = Readonly<Record<string, Value>>;

/** What every drawing function gets: a state, the numbers computed from it, and how the page is shown. */
export interface View<S extends State = State, N = unknown> {
  readonly state: S;
  readonly numbers: N;
  /** True where there is space for 860 × 560; otherwise the picture has 375 × 300. */
  readonly wide: boolean;
  /** True once the reader has changed something: the page's `more` controls appear. */
  readonly used: boolean;
}

/** A point of the picture, in the units of its viewBox. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The state of a drag from its first point to its last. */
export interface Gesture {
  readonly first: boolean;
  memo?: unknown;
}

/** Something in the picture that can be dragged, and moved by arrow keys. */
export interface Drag<S extends State, N> {
  move(view: View<S, N>, name: string, point: Point, gesture: Gesture): Partial<S> | undefined;
  /** dx and dy are −1, 0 or 1; ten times that with Shift. */
  key?(view: View<S, N>, name: string, dx: number, dy: number): Partial<S> | undefined;
}

/** A change of state: values, or values that depend on the state before it. */
export type Change<S> = Partial<S> | ((state: S) => Partial<S>);

/** The values of a change to a state. */
export const changeOf = <S>(change: Change<S> | undefined, state: S): Partial<S> =>
  typeof change === "function" ? change(state) : (change ?? {});

/** A question before the answer is shown. */
export interface Prediction<S extends State, N> {
  readonly question: string | ((view: View<S, N>) => string);
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly start: number;
  readonly unit: string;
  /** A guess as the page says it; by default the number and its unit. */
  said?(guess: number): string;
  /** The change of state that shows the result. */
  readonly show: Change<S>;
  /** The result in one or two sentences; what the reader said comes before it. */
  result(view: View<S, N>): Markup;
  /** The guess as marks in the picture, beside the result. */
  mark(guess: number, view: View<S, N>): string;
  /** True if every state of the picture has the axis of the mark; otherwise the mark is drawn with the result only. */
  readonly always?: boolean;
}

/** One stop of the text, and the state that the picture has there. */
export interface Step<S extends State, N> {
  readonly title: string | ((view: View<S, N>) => string);
  readonly state: Change<S>;
  /** True where the text's numbers are those of this state, whatever the reader changes. */
  readonly fixed?: boolean;
  /** Whether the text is about a state; in a state that it is not about, it stays as it was. By default it is about every state. */
  about?(state: S): boolean;
  text(view: View<S, N>): Markup;
  readonly predict?: Prediction<S, N>;
  /** What the picture without scripts shows instead; by default the answer to the prediction. */
  readonly still?: Change<S>;
}

/** A task that ticks itself. */
export interface Task<S extends State, N> {
  readonly text: Content;
  done(view: View<S, N>): boolean;
}

/** Code beside the picture: what computes these numbers, in two languages. */
export interface Listings<S extends State, N> {
  typescript(view: View<S, N>): string;
  python(view: View<S, N>): string;
  /** What both print, line by line, from the numbers of the picture. */
  printed(view: View<S, N>): string;
  /** Part of the line that the picture is about now, or such a part for each language; undefined for none. */
  lit?(view: View<S, N>): string | readonly string[] | undefined;
  /** Names of variables, each with the mark in the picture that shows it. */
  readonly names: Readonly<Record<string, string>>;
}

/** The numbers of the picture as rows and columns. */
export interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** A page. */
export interface Page<S extends State = State, N = unknown> {
  /** Its folder and address. */
  readonly name: string;
  readonly title: string;
  /** What a reader knows afterwards, in one sentence. */
  readonly point: string;
  readonly initial: S;
  /** The state with each value in its range, whatever an address or a drag asked for. */
  check(state: S): S;
  readonly steps: readonly Step<S, N>[];
  /** The inside of the SVG. */
  picture(view: View<S, N>): string;
  /** What the picture shows, for screen readers. */
  label(view: View<S, N>): string;
  /** One or two sentences from the numbers. */
  caption(view: View<S, N>): Markup;
  /** The one control of the page's first state: the mark in the picture, or an input that does the same. */
  control(view: View<S, N>): Markup;
  /** What appears beside it once the reader has changed something; `false` for nothing. */
  more?(view: View<S, N>): Markup | false;
  /** Changes by name, from buttons and inputs with `data-act="name:argument"`. */
  readonly actions: Readonly<
    Record<string, (view: View<S, N>, argument: string, value: string) => Partial<S> | undefined>
  >;
  /** Drags by name, from marks with `data-drag="name:argument"`. */
  readonly drags: Readonly<Record<string, Drag<S, N>>>;
  readonly code: Listings<S, N>;
  table(view: View<S, N>): Table;
  readonly tasks: readonly Task<S, N>[];
  /** The change when the reader writes a sentence of their own; "" brings the common one back. */
  readonly sentence?: (text: string) => Partial<S>;
  /** What a stop of the text leaves as the reader has set it, unless the stop sets it itself. */
  readonly carry?: (state: S) => Partial<S>;
  /** Questions to come back to, with their answers. */
  readonly recall: readonly (readonly [question: string, answer: string])[];
  /** What may not be concluded, in one sentence. */
  readonly limits: string;
  /** A link to the same in a trained model: its text, and the explorer's page of a capture with its state. */
  readonly trained: {
    readonly text: string;
    readonly address: string;
    /** More places of the same kind. */
    readonly more?: readonly { readonly text: string; readonly address: string }[];
  };
}

/** Size of the picture. */
export const WIDE = { width: 860, height: 540 } as const;
export const NARROW = { width: 375, height: 300 } as const;
