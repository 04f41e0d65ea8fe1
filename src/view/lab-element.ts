/**
 * Types of `<attention-lab>`, a page of the Lab in any other page: its attributes and its event. Types only; the element itself is in
 * lab/frame/runtime/element.ts, built as the script `heed/attention-lab.js`.
 */

/** The attributes of <attention-lab>, as text in HTML. */
export interface AttentionLabAttributes {
  /** Name of a page, such as "saturation". */
  readonly page: string;
  /** A step of the text, from 1: the state that the picture begins with. */
  readonly stop?: string;
  /** A state as in the address of the page, `times=10&keys=16`; it changes the state of the stop. */
  readonly state?: string;
  /** Present: the picture with its caption and control, without the text. */
  readonly "picture-only"?: "";
  /** Address of the folder of the explorer's pages, for the link at the end. */
  readonly explorer?: string;
}

/** The events of the element. They bubble. */
export interface AttentionLabEvents {
  /** A task is done. `task` is its number from 1, `done` the number of tasks of the page that are done. */
  readonly done: CustomEvent<{
    readonly page: string;
    readonly task: number;
    readonly text: string;
    readonly done: number;
  }>;
  /** An attribute has a wrong value, or the page could not be computed; the element shows the same message. */
  readonly error: CustomEvent<{ readonly message: string; readonly code?: string | undefined }>;
}

/** `<attention-lab>`. `AttentionLabAttributes` describes its attributes; these properties set them. */
export interface AttentionLabElement extends HTMLElement {
  page: string | null;
  stop: string | number | null;
  /** A text as in the address of the page, or an object: `{ times: 10 }`. It is read as the text. */
  get state(): string | null;
  set state(value: string | Readonly<Record<string, unknown>> | null);
  pictureOnly: boolean;
  explorer: string | null;
}
