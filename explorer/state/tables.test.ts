import { expect, it } from "vitest";
import { csvOf, type NumberTable } from "./tables.ts";

it("a copied table contains no formulas and keeps numbers in full precision", () => {
  const table: NumberTable = {
    caption: "",
    columns: [
      { name: "token", source: "" },
      { name: "strongest", source: "row weights", pair: true },
      { name: "score", source: "row masked" },
    ],
    count: 2,
    row: (at) =>
      [
        [{ token: "=cmd|calc!A0" }, { token: "-1", value: 0.1 + 0.2 }, { value: -2.5 }],
        [{ token: 'a,"b"' }, {}, { token: "masked" }],
      ][at],
    current: () => false,
    go: () => ({}),
  };
  expect([...csvOf(table, [1, 0])].join("")).toBe(
    "token,strongest key,strongest weight,score\r\n" +
      '"a,""b""",,,masked\r\n' +
      "'=cmd|calc!A0,'-1,0.30000000000000004,-2.5\r\n",
  );
});
