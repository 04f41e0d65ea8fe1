import { describe, expect, it } from "vitest";
import { ACTIONS } from "../app/input/actions.ts";
import { optionsOf } from "../app/output/export.ts";
import { Session } from "../app/session.ts";
import { DRAWINGS, PAGES, VIEWS, viewOf } from "./registry.ts";

describe("the registry of views", () => {
  it("has each name and each key once", () => {
    const names = VIEWS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const keys = ACTIONS.flatMap((action) => action.keys ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("gives every view a command, and its key", () => {
    for (const view of VIEWS) {
      const action = ACTIONS.find(({ label }) => label === view.command);
      expect(action, view.name).toBeDefined();
      expect(action?.keys?.[0]).toBe(view.key);
    }
  });

  it("finds the view that draws a state", () => {
    for (const page of PAGES)
      for (const drawing of DRAWINGS) {
        const state = { view: page.name, mode: drawing.name } as Parameters<typeof viewOf>[0];
        expect(viewOf(state)).toBe(page.name === "head" ? drawing : page);
      }
  });

  it("describes every picture in whole sentences, for readers who see one for the first time", () => {
    for (const { name, meaning } of VIEWS) {
      expect(meaning, name).toMatch(/^[A-Z].*\.$/s);
      expect(meaning, name).not.toMatch(/\bmode\b|undefined/);
    }
  });

  it("exports the figure of a view, else that of the drawing of the head", () => {
    const session = new Session();
    for (const page of PAGES)
      for (const drawing of DRAWINGS) {
        session.set({ view: page.name, mode: drawing.name });
        expect(optionsOf(session).view).toBe(viewOf(session.state).figure ?? drawing.figure);
      }
  });

  it("opens pages that exist by Enter and Escape", () => {
    for (const { up, down } of PAGES)
      for (const name of [up, down]) if (name) expect(PAGES.map((page) => page.name)).toContain(name);
  });

  it("leads back from every page by Escape", () => {
    for (let page of PAGES) {
      for (let steps = 0; page.up !== undefined; steps++) {
        expect(steps).toBeLessThan(PAGES.length);
        page = PAGES.find(({ name }) => name === page.up)!;
      }
    }
  });
});
