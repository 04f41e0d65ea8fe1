/**
 * What a page of the Lab is: data and pure functions. A state holds everything that a reader can change; numbers are what
 * heed computes from it (compute.ts of the page, in a worker and at build time); everything visible is a function of both.
 */
import type { TemplateResult } from "../../ui/markup.ts";
import { acceptState, entriesOf, guess, initialOf, type LabState, type StateFields } from "./fields.ts";

/** What every drawing function gets: a state, the numbers computed from it, and how the page is shown. */
export interface LabView<S extends LabState = LabState, N = unknown> {
  readonly state: S;
  readonly numbers: N;
  /** True where there is space for 860 × 560; otherwise the picture has 375 × 300. */
  readonly wide: boolean;
  /** True once the reader has changed something: the page's `more` controls appear. */
  readonly changed: boolean;
}

/** A point of the picture, in the units of its viewBox. */
export interface PicturePoint {
  readonly x: number;
  readonly y: number;
}

/** The state of a drag from its first point to its last. */
export interface Gesture {
  first: boolean;
  memo?: unknown;
}

/** Something in the picture that can be dragged, and moved by arrow keys. */
export interface Drag<S extends LabState, N> {
  move(view: LabView<S, N>, name: string, point: PicturePoint, gesture: Gesture): Partial<S> | undefined;
  /** dx and dy are −1, 0 or 1; ten times that with Shift. */
  key?(view: LabView<S, N>, name: string, dx: number, dy: number): Partial<S> | undefined;
}

/** A change of state: values, or values that depend on the state before it. */
export type Change<S> = Partial<S> | ((state: S) => Partial<S>);

/** The values of a change to a state. */
export const changeOf = <S>(change: Change<S> | undefined, state: S): Partial<S> =>
  typeof change === "function" ? change(state) : (change ?? {});

/** The reader's guess at the prediction of a step; −1 before there is one. */
export const guessOf = (state: LabState, at: number): number => Number(state[`guess${at}`] ?? -1);

/** Reasons by ranges of guesses. */
type Reasons = readonly (readonly [low: number, high: number, reason: string])[];

/** A question before the answer is shown. The guess is `guessN` in the state and the address, N the index of the step. */
export interface Prediction<S extends LabState, N> {
  readonly question: string | ((view: LabView<S, N>) => string);
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly start: number;
  readonly unit: string;
  /** A guess as the page says it; by default the number and its unit. */
  formatGuess?(guess: number): string;
  /** The change of state that shows the result. */
  readonly show: Change<S>;
  /** The result in one or two sentences; what the reader guessed comes before it. */
  result(view: LabView<S, N>): TemplateResult;
  /** Why a guess is wrong, by ranges of guesses, both ends included: what the reader may have thought. */
  readonly why: Reasons | ((view: LabView<S, N>) => Reasons);
  /** The guess as marks in the picture, with the words "your guess", beside the result. */
  mark(guess: number, view: LabView<S, N>): string;
  /** True if every state of the picture has the axis of the mark; otherwise the mark is drawn with the result only. */
  readonly always?: boolean;
}

/** One step of the text, and the state that the picture has there. */
export interface LabStep<S extends LabState, N> {
  readonly title: string | ((view: LabView<S, N>) => string);
  readonly state: Change<S>;
  /** True where the text's numbers are those of this state, whatever the reader changes. */
  readonly fixed?: boolean;
  /** Whether the text is about a state; in a state that it is not about, it stays as it was. By default it is about every state. */
  about?(state: S): boolean;
  text(view: LabView<S, N>): TemplateResult;
  readonly predict?: Prediction<S, N>;
  /** What the picture without scripts shows instead; by default the answer to the prediction. */
  readonly staticState?: Change<S>;
}

/** A task that ticks itself. It is not done in the state of any step. */
export interface LabTask<S extends LabState, N> {
  readonly text: string;
  /** True where it is done; what is missing, where the reader is near; else false. */
  reached(view: LabView<S, N>): boolean | string;
}

/** The last task of a page: a line or two that the reader writes, checked by running them on new numbers. */
export interface OpenTask {
  readonly text: string;
  /** The names that may be used: a size of random numbers, a number, or a program of the names before it. */
  readonly inputs: Readonly<Record<string, readonly [rows: number, columns: number] | number | string>>;
  readonly start: string;
  readonly answer: string;
  /** Wrong programs that readers write, and what is wrong with each. */
  readonly mistakes: readonly (readonly [program: string, says: string])[];
}

/** What a page's notes.ts defines: read when the pages are built and when a reader presses Run, so that no page is larger for it. */
export interface PageNotes extends OpenTask {
  /** What a reader can do after the page, as the map and the teacher's notes say it. */
  readonly goal: string;
  /** Where the page is on the map: how far along, 0 to 5, and in which line, 0 to 3. */
  readonly place: readonly [along: number, line: number];
  /** The right guess at each prediction, in the order of the steps. */
  readonly right: readonly number[];
}

/** Code beside the picture: what computes these numbers, in two languages. Lines have at most 52 characters. */
export interface Listings<S extends LabState, N> {
  typescript(view: LabView<S, N>): string;
  python(view: LabView<S, N>): string;
  /** What both print, line by line, from the numbers of the picture. */
  printed(view: LabView<S, N>): string;
  /** Parts of the lines that the picture is about now, at least one in each language. */
  highlight(view: LabView<S, N>): readonly string[];
  /** Names of variables, each with the mark in the picture that shows it. */
  readonly names: Readonly<Record<string, string>>;
}

/** The numbers of the picture as rows and columns. */
export interface LabTable {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** A link into the explorer: its text, and the page of a capture with its state. */
export interface TrainedLink {
  readonly text: string;
  readonly address: string;
}

/** A question to come back to, and its answer. */
export type Recall = readonly [question: string, answer: string];

/** What a page's file defines. */
export interface PageDefinition<S extends LabState, N> {
  readonly title: string;
  /** What a reader knows afterwards, in one sentence. */
  readonly point: string;
  readonly minutes: number;
  /** Names of the pages that should come before. */
  readonly needs: readonly string[];
  /** What a reader can change: see fields.ts. */
  readonly fields: StateFields<S>;
  /** What is true of several values of a state together, whatever an address or a drag requested. */
  check?(state: S): S;
  /** At most six. */
  readonly steps: readonly LabStep<S, N>[];
  /** The inside of the SVG. */
  picture(view: LabView<S, N>): string;
  /** What the picture shows, for screen readers. */
  label(view: LabView<S, N>): string;
  /** One or two sentences from the numbers. */
  caption(view: LabView<S, N>): TemplateResult;
  /** The one control of the page's first state: the mark in the picture, or an input that does the same. */
  control(view: LabView<S, N>): TemplateResult;
  /** What appears beside it once the reader has changed something; `undefined` for nothing. */
  more?(view: LabView<S, N>): TemplateResult | undefined;
  /** Changes by name, from buttons and inputs with `data-act="name:argument"`. The name of a field sets that field. */
  readonly actions?: Readonly<
    Record<string, (view: LabView<S, N>, argument: string, value: string) => Partial<S> | undefined>
  >;
  /** Drags by name, from marks with `data-drag="name:argument"`. */
  readonly drags?: Readonly<Record<string, Drag<S, N>>>;
  readonly code: Listings<S, N>;
  table(view: LabView<S, N>): LabTable;
  readonly tasks: readonly [LabTask<S, N>, LabTask<S, N>];
  /** The sentence of the first state, where it is not that of most pages (SENTENCE): typed, it brings the first state back. */
  readonly common?: string;
  /** The change when the reader writes a sentence of their own; "" brings the common one back. */
  readonly sentence?: (text: string) => Partial<S>;
  /** What a step of the text leaves as the reader has set it, unless the step sets it itself. */
  readonly carry?: (state: S) => Partial<S>;
  readonly recall: readonly [Recall, Recall];
  /** What may not be concluded: one sentence of more than 60 characters. */
  readonly limits: string;
  /** The same in a trained model, and more places of the same kind. */
  readonly trained: TrainedLink & { readonly more?: readonly TrainedLink[] };
}

/** A page with its first state. */
export interface LabPage<S extends LabState = LabState, N = unknown>
  extends Required<Pick<PageDefinition<S, N>, "actions" | "drags">>,
    Omit<PageDefinition<S, N>, "actions" | "drags"> {
  readonly initial: S;
  /** The state with each value in its range. */
  check(state: S): S;
}

/** A page of the list of pages, with the name of its folder, which is its address. */
export interface NamedPage<S extends LabState = LabState, N = unknown> extends LabPage<S, N> {
  readonly name: string;
}

/** A page: its fields have the guesses of its predictions, and each field an action of its name. */
export function definePage<S extends LabState, N>(definition: PageDefinition<S, N>): LabPage<S, N> {
  const guesses = definition.steps.flatMap(({ predict }, at) => (predict ? [[`guess${at}`, guess]] : []));
  const fields = { ...definition.fields, ...Object.fromEntries(guesses) } as StateFields<S>;
  const setters = entriesOf(fields).map(([name, { read }]) => {
    const set = (_: unknown, argument: string, value: string) => {
      const next = read(argument || value, undefined);
      return next === undefined ? undefined : ({ [name]: next } as Partial<S>);
    };
    return [name, set] as const;
  });
  return {
    drags: {},
    ...definition,
    fields,
    actions: { ...Object.fromEntries(setters), ...definition.actions },
    initial: initialOf(fields),
    check(state) {
      const accepted = acceptState(fields, state);
      return definition.check?.(accepted) ?? accepted;
    },
  };
}

/** Size of the picture. */
export const WIDE = { width: 860, height: 540 } as const;
export const NARROW = { width: 375, height: 300 } as const;
