// @ts-nocheck: bundled for React 18 and for React 19, whose types differ
/**
 * A React program with the explorer, for wrappers.spec.mjs: it renders the given properties in strict mode, records the
 * component's events, and exports both to the page as `app`.
 */
import { AttentionView } from "heed/attention-view/react";
import { createElement, createRef, StrictMode, version } from "react";
import { createRoot } from "react-dom/client";
import { inputs } from "./inputs.mjs";

const reported = [];
const ref = createRef();
const EVENTS = ["onLoad", "onError", "onProgress", "onCursorChange", "onPin", "onViewChange"];
const listeners = Object.fromEntries(EVENTS.map((name) => [name, (detail) => reported.push([name, detail])]));
const root = createRoot(document.getElementById("root"));

globalThis.app = {
  version,
  reported,
  inputs,
  get element() {
    return ref.current;
  },
  render: (props) =>
    root.render(
      createElement(StrictMode, null, createElement(AttentionView, { ref, ...listeners, ...props })),
    ),
  clear: () => root.render(null),
};
