import { describe, expect, it } from "vitest";
import { runsOf } from "./fonts.ts";

describe("text in the standard fonts", () => {
  it("has the widths of Adobe's metrics, in regular and bold, with signs and accents", () => {
    const width = (text: string, font: "F1" | "F2" | "F3") =>
      runsOf(text, font, new Set()).reduce((sum, run) => sum + run.width, 0);
    expect(width("q·k", "F1")).toBe(556 + 278 + 500);
    expect(width("q·k", "F2")).toBe(611 + 278 + 556);
    expect(width("2 × 3 ÷ 4", "F1")).toBe(3 * 556 + 4 * 278 + 2 * 584);
    expect(width("“é”", "F1")).toBe(333 + 556 + 333);
    expect(width("q·k", "F3")).toBe(1800);
  });

  it("has its minus sign in its own font: one run with the text around it", () => {
    const runs = runsOf("− largest", "F1", new Set());
    expect(runs).toHaveLength(1);
    expect(runs[0].font).toBe("F1");
    expect(runs[0].width).toBe(556 + 278 + 222 + 556 + 333 + 556 + 556 + 500 + 278);
  });
});
