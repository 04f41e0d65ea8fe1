/**
 * <attention-view> for React 18 and 19: its attributes as typed props, its events as callbacks, the element itself as the
 * ref. The element's module is loaded where there is a page, so the component can be rendered on a server.
 *
 * React 18 sets attributes on custom elements, React 19 properties where the element has them: what is passed here means the
 * same either way. Data and listeners, which attributes cannot carry, are set on the element itself.
 */
import {
  type CSSProperties,
  createElement,
  type ForwardRefExoticComponent,
  forwardRef,
  type RefAttributes,
  useEffect,
  useImperativeHandle,
  useRef,
} from "react";
import type { AttentionView as AttentionViewElement } from "./element.ts";
import type { Openable } from "./open.ts";
import type { Mode, Stage, State, View } from "./state/state.ts";

export type { AttentionViewElement, Openable };

/** Where the cursor is. */
export type CursorDetail = Pick<State, "block" | "layer" | "head" | "query" | "key">;
/** What is pinned: a cell, and heads. */
export type PinDetail = Pick<State, "held" | "pins">;
/** What is drawn. */
export type ViewDetail = Pick<State, "view" | "mode" | "stage">;
/** What was found on opening. */
export interface LoadDetail {
  readonly report: NonNullable<AttentionViewElement["store"]>["report"];
}
/** Why something could not be opened or computed. */
export interface ErrorDetail {
  readonly title: string;
  readonly message: string;
  readonly code?: string;
}
/** How far opening is, 0 to 1. */
export interface ProgressDetail {
  readonly what: string;
  readonly done: number;
}

/** Props of the component; all optional. */
export interface AttentionViewProps {
  /** Address of a bundle, npz, npy or JSON file. */
  readonly src?: string;
  /** Arrays in memory, a file, or bytes; in place of `src`. Opened again when it is another object. */
  readonly data?: Openable;
  readonly theme?: "auto" | "light" | "dark";
  readonly view?: View;
  readonly mode?: Mode;
  readonly stage?: Stage;
  readonly block?: string;
  readonly layer?: number;
  readonly head?: number;
  /** "off": single letters do nothing. */
  readonly keys?: "on" | "off";
  /** The state is kept in the page's address, after #. One of a page at most. */
  readonly address?: boolean;
  readonly id?: string;
  readonly className?: string;
  readonly style?: CSSProperties;
  readonly onCursorChange?: (detail: CursorDetail) => void;
  readonly onPin?: (detail: PinDetail) => void;
  readonly onViewChange?: (detail: ViewDetail) => void;
  readonly onLoad?: (detail: LoadDetail) => void;
  readonly onError?: (detail: ErrorDetail) => void;
  readonly onProgress?: (detail: ProgressDetail) => void;
}

/** Events of the element, and the props that hear them. */
const EVENTS = {
  cursorchange: "onCursorChange",
  pin: "onPin",
  viewchange: "onViewChange",
  load: "onLoad",
  error: "onError",
  progress: "onProgress",
} as const satisfies Record<string, keyof AttentionViewProps>;

/** The explorer as a React component. Its ref is the element. */
export const AttentionView: ForwardRefExoticComponent<
  AttentionViewProps & RefAttributes<AttentionViewElement>
> = forwardRef<AttentionViewElement, AttentionViewProps>((props, ref) => {
  const own = useRef<AttentionViewElement>(null);
  const latest = useRef(props);
  useImperativeHandle(ref, () => own.current as AttentionViewElement, []);

  useEffect(() => {
    latest.current = props;
  });
  // Listeners before the element is there: what happens while it opens is heard too.
  useEffect(() => {
    const element = own.current as AttentionViewElement;
    const ended = Object.entries(EVENTS).map(([name, prop]) => {
      const listener = (event: Event) => {
        // Events of the page's own that bubble up from inside are not the element's.
        if (event instanceof CustomEvent && event.target === element)
          (latest.current[prop] as ((detail: unknown) => void) | undefined)?.(event.detail);
      };
      element.addEventListener(name, listener);
      return () => element.removeEventListener(name, listener);
    });
    void import("heed/attention-view");
    return () => {
      for (const end of ended) end();
    };
  }, []);

  const { data } = props;
  useEffect(() => {
    if (data === undefined) return;
    let wanted = true;
    void customElements.whenDefined("attention-view").then(() => {
      // What is wrong with it, the element says, and onError hears.
      if (wanted) own.current?.open(data).catch(() => {});
    });
    return () => {
      wanted = false;
    };
  }, [data]);

  const { src, theme, view, mode, stage, block, layer, head, keys, address, id, className, style } = props;
  return createElement("attention-view", {
    ref: own,
    // Data is there already: an address beside it would be opened as well.
    src: data === undefined ? src : undefined,
    theme,
    view,
    mode,
    stage,
    block,
    layer,
    head,
    keys,
    address: address === true ? true : undefined,
    id,
    class: className,
    style,
  });
});
AttentionView.displayName = "AttentionView";
