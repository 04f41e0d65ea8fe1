import { describe, expect, it } from "vitest";
import { decimalPercent, formatNumber, num, onNumber, wholePercent } from "./number.ts";

describe("formatNumber", () => {
  it("writes three significant digits, a true minus sign and parted thousands", () => {
    const rows: [number, string][] = [
      [0.41234, "0.412"],
      [29.684, "29.7"],
      [-3.7104, "−3.71"],
      [1, "1"],
      [0, "0"],
      [-0, "0"],
      [1024, "1024"],
      [16384, "16\u202f384"],
      [1234567.8, "1\u202f230\u202f000"],
      [0.00012345, "0.000123"],
      [2.34e-6, "2.34·10⁻⁶"],
      [-5e-324, "−4.94·10⁻³²⁴"],
      [6.02e23, "6.02·10²³"],
      [Number.NaN, "NaN"],
      [Infinity, "∞"],
      [-Infinity, "−∞"],
      [0.99999, "1.00"],
      [9.9999, "10.0"],
    ];
    for (const [value, text] of rows) expect(formatNumber(value), String(value)).toBe(text);
  });

  it("writes 0 % and 100 % only of shares that are 0 and 1", () => {
    const percents = [0, 1e-9, 0.0004, 0.994, 0.9951, 0.9979, 0.999, 0.99949, 0.9996, 1 - 1e-7, 1, 1 + 1e-7];
    expect(percents.map((share) => formatNumber(share, { style: "percent" }).replace("\u202f%", ""))).toEqual(
      ["0", "<0.1", "<0.1", "99", "99.5", "99.8", "99.9", "99.9", ">99.9", "100", "100", "100"],
    );
    expect([0, 0.0004, 0.123, 0.9991, 0.99951, 1].map(decimalPercent)).toEqual([
      "0.0 %",
      "<0.1 %",
      "12.3 %",
      "99.9 %",
      ">99.9 %",
      "100.0 %",
    ]);
    expect(percents.map(wholePercent)).toEqual([
      "0",
      "<1",
      "<1",
      "99",
      ">99",
      ">99",
      ">99",
      ">99",
      ">99",
      "100",
      "100",
      "100",
    ]);
  });

  it("writes as many digits as asked, units, shares and signs", () => {
    expect(formatNumber(2.42712, { digits: 4 })).toBe("2.427");
    expect(formatNumber(1.22, { unit: "nat" })).toBe("1.22\u202fnat");
    expect(formatNumber(0.614, { style: "percent" })).toBe("61\u202f%");
    expect(formatNumber(0.0234, { style: "percent" })).toBe("2.3\u202f%");
    expect(formatNumber(0.0001, { style: "percent" })).toBe("<0.1\u202f%");
    expect(formatNumber(1, { style: "percent" })).toBe("100\u202f%");
    expect(formatNumber(0.5, { style: "signed" })).toBe("+0.500");
    expect(() => formatNumber(1, { digits: 0 })).toThrow(/digits must be an integer from 1 to 17, got 0/);
  });

  it("reads back to the number it shows, for all sizes", () => {
    for (let power = -8; power <= 12; power++)
      for (const mantissa of [1, 1.005, 2.5, 9.994, 9.996]) {
        const value = mantissa * 10 ** power;
        const plain = formatNumber(value, { digits: 4 })
          .replaceAll("\u202f", "")
          .replace(
            /·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/,
            (_, up: string) => `e${[...up].map((c) => (c === "⁻" ? "-" : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c))).join("")}`,
          );
        expect(Math.abs(Number(plain) / value - 1), `${value} → ${plain}`).toBeLessThanOrEqual(5.1e-4);
      }
  });
});

describe("num", () => {
  it("keeps the value and its source, and notifies its listeners", () => {
    const texts: string[] = [];
    const off = onNumber(({ text, source }) => texts.push(`${text} ${source}`));
    expect(num(0.5, "row")).toEqual({ value: 0.5, text: "0.500", source: "row" });
    off();
    num(1, "row");
    expect(texts).toEqual(["0.500 row"]);
  });

  it("refuses a number without a source", () => {
    expect(() => num(1, "")).toThrow(/needs the name of the function/);
  });
});
