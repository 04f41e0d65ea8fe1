import { expect, it } from "vitest";
import { align, shared } from "../../../src/core/align.ts";
import { comparable } from "./align.ts";

const words = (text: string) => text.split(" ");

it("pairs the same words of models with different tokenizers", () => {
  const bert = comparable(words("[CLS] Time flies like an arr ##ow [SEP]"));
  const roberta = comparable(words("<s> time Ġflies Ġlike Ġan Ġarrow </s>"));
  expect(bert).toEqual(words("[CLS] time flies like an arr ow [SEP]"));
  expect(shared(align(bert, roberta)).map(({ a, b }) => `${bert[a]} ${roberta[b]}`)).toEqual([
    ...["[CLS] [CLS]", "time time", "flies flies", "like like", "an an"],
    ...[expect.stringMatching(/^(?:arr|ow) arrow$/), "[SEP] [SEP]"],
  ]);
  expect(comparable(["Ġ", "<pad>", "a"])).toEqual(["Ġ", "<pad>", "a"]);
});
