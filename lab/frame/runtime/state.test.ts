import { expect, test } from "vitest";
import { page } from "../../saturation/page.ts";
import { unknownNames } from "../fields.ts";
import { PageState } from "./state.ts";

const newState = () => new PageState({ ...page, name: "saturation" }, "");

test("what the text replaces comes back with Undo", () => {
  const state = newState();
  state.beforeReader(1000);
  state.set({ times: 10 });
  expect(state.beforeText()).toBe(true);
  state.set({ times: 100 });
  state.undo();
  expect(state.newest.times).toBe(10);
  state.undo();
  expect(state.newest.times).toBe(page.initial.times);
  expect(state.canUndo).toBe(false);
});

test("a drag is one change, and a step of the text that replaces nothing of the reader's is none", () => {
  const state = newState();
  for (const [time, times] of [
    [1000, 90],
    [1100, 80],
    [1200, 70],
  ]) {
    state.beforeReader(time);
    state.set({ times });
  }
  state.undo();
  expect(state.newest.times).toBe(page.initial.times);
  expect(newState().beforeText()).toBe(false);
});

test("names in an address that a page does not have are found", () => {
  expect(unknownNames(page.fields, "#v1?times=10&d=256")).toEqual(["d"]);
  expect(unknownNames(page.fields, "#v1?times=10&keys=16")).toEqual([]);
});
