import { expect, it } from "vitest";
import { storeFrom } from "../../../src/store/layout/from.ts";
import { madeInput } from "../../../tests/explorer/support/stores.ts";
import { Session } from "../session.ts";
import { ACTIONS, type ActionContext } from "./actions.ts";

it("the key for the next block leaves no token of the previous block selected, hidden or shown alone", () => {
  const block = (name: string) => ({
    ...madeInput({
      segments: [
        { name: "a", query: [0, 4], key: [0, 4] },
        { name: "b", query: [4, 9], key: [4, 9] },
      ],
    }).blocks[0],
    name,
  });
  const session = new Session();
  session.open(storeFrom({ blocks: [block("encoder"), block("decoder")] }));
  session.set({ rows: [5], columns: [6], hide: "chosen", hidden: [7], querySegments: [1], keySegments: [1] });
  ACTIONS.find(({ name }) => name === "next-block")?.run({ session } as ActionContext);
  expect(session.state).toMatchObject({
    block: "decoder",
    pinned: null,
    rows: [],
    columns: [],
    hidden: [],
    querySegments: [],
    keySegments: [],
    camera: null,
  });
});
