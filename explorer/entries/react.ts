/**
 * <attention-view> for React 18 and 19: attributes are typed props, events are callbacks, and the ref is the element. The module
 * of the element is loaded only in a page, so the component can be rendered on a server.
 *
 * React 18 sets attributes on custom elements, React 19 sets properties if the element has them; the props here work either way.
 * Data and listeners, which attributes cannot carry, are set on the element itself.
 */
import type { CSSProperties, ForwardRefExoticComponent, RefAttributes } from "react";
import { createElement, forwardRef, useEffect, useImperativeHandle, useRef } from "react";
import type {
  AttentionViewAttributes,
  AttentionViewElement,
  AttentionViewEvents,
  Openable,
  State,
} from "../../src/view/element.ts";

export type { AttentionViewElement, AttentionViewEvents, Openable, State };

/** The detail of an event of the element. */
type Detail<Name extends keyof AttentionViewEvents> = AttentionViewEvents[Name]["detail"];

/** The attributes that are props of the same names: React keeps `key` for itself. */
type ReactAttributes = Omit<AttentionViewAttributes, "key">;

/** Props of the component: the attributes of the element, its data, and its events; all optional. */
export interface AttentionViewProps extends ReactAttributes {
  /** The attribute `key`: the token that is attended to. */
  readonly keyIndex?: number;
  /** Arrays in memory, a file, or bytes, instead of `src`. Opened again when the object changes. */
  readonly data?: Openable;
  readonly id?: string;
  readonly className?: string;
  readonly style?: CSSProperties;
  readonly onCursorChange?: (detail: Detail<"cursorchange">) => void;
  readonly onPin?: (detail: Detail<"pin">) => void;
  readonly onViewChange?: (detail: Detail<"viewchange">) => void;
  readonly onLoad?: (detail: Detail<"load">) => void;
  readonly onError?: (detail: Detail<"error">) => void;
  readonly onProgress?: (detail: Detail<"progress">) => void;
}

/** The events of the element and the props for them. */
const EVENTS = {
  cursorchange: "onCursorChange",
  pin: "onPin",
  viewchange: "onViewChange",
  load: "onLoad",
  error: "onError",
  progress: "onProgress",
} as const satisfies Record<keyof AttentionViewEvents, keyof AttentionViewProps>;

/** All attributes; the compiler refuses a list that lacks one. */
const ATTRIBUTES = Object.keys({
  src: 0,
  theme: 0,
  keys: 0,
  controls: 0,
  background: 0,
  parts: 0,
  address: 0,
  view: 0,
  mode: 0,
  stage: 0,
  block: 0,
  layer: 0,
  head: 0,
  query: 0,
} satisfies Record<keyof ReactAttributes, 0>) as (keyof ReactAttributes)[];

/** The explorer as a React component. Its ref is the element. */
export const AttentionView: ForwardRefExoticComponent<
  AttentionViewProps & RefAttributes<AttentionViewElement>
> = forwardRef<AttentionViewElement, AttentionViewProps>((props, ref) => {
  const elementRef = useRef<AttentionViewElement>(null);
  const latest = useRef(props);
  useImperativeHandle(ref, () => elementRef.current as AttentionViewElement, []);

  useEffect(() => {
    latest.current = props;
  });
  // Listeners are added before the element is defined, so that events during opening are not missed.
  useEffect(() => {
    const element = elementRef.current as AttentionViewElement;
    const ended = Object.entries(EVENTS).map(([name, prop]) => {
      const listener = (event: Event) => {
        // Events that bubble up from elements inside are ignored.
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

  const { data, keyIndex } = props;
  useEffect(() => {
    if (keyIndex !== undefined) elementRef.current?.setAttribute("key", String(keyIndex));
  }, [keyIndex]);
  useEffect(() => {
    if (data === undefined) return;
    let wanted = true;
    void customElements.whenDefined("attention-view").then(() => {
      // The element reports the error; onError receives it.
      if (wanted) elementRef.current?.open(data).catch(() => {});
    });
    return () => {
      wanted = false;
    };
  }, [data]);

  const { id, className, style } = props;
  const attributes = Object.fromEntries(ATTRIBUTES.map((name) => [name, props[name]]));
  return createElement("attention-view", {
    ref: elementRef,
    ...attributes,
    // With data, an address would be opened too.
    src: data === undefined ? props.src : undefined,
    address: props.address === true ? true : undefined,
    id,
    class: className,
    style,
  });
});
AttentionView.displayName = "AttentionView";
