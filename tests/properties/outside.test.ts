/**
 * Nothing is written outside the outputs: calls change no byte of their inputs, gaps and margins included, and none of the results of
 * earlier calls, which are beside theirs in memory.
 */
import { attentionBackward } from "heed";
import { tidy } from "heed/train";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, use } from "../support/backends/levels.ts";
import { attend } from "../support/cases/call.ts";
import { caseCount } from "../support/cases/count.ts";
import { describeCase } from "../support/cases/problem/case.ts";
import { draw } from "../support/cases/problem/draw.ts";

const CASES = caseCount(40, 100);
afterAll(restore);

/** All bytes of an array's buffer, also those outside a view. */
const bytesOf = ({ buffer }: ArrayBufferView): Uint8Array => new Uint8Array(buffer.slice(0));

for (const level of LEVELS)
  for (const threads of [1, 2])
    describe.skipIf(!has(level))(`${level}, ${threads} threads`, () => {
      beforeAll(() => use(level, threads));

      it("the inputs and the results of earlier calls keep every byte", () => {
        for (let first = 0; first < CASES; first += 10)
          tidy(() => {
            const earlier: {
              readonly name: string;
              readonly data: ArrayBufferView;
              readonly copy: Uint8Array;
            }[] = [];
            for (let seed = first; seed < first + 10; seed++) {
              const c = draw(seed, 60);
              const { query, key, value, options } = c;
              const inputs = [query, key, value].map(({ data }) => ({ data, copy: bytesOf(data) }));
              const state = attend(query, key, value, options);
              const gradients =
                query.dtype === key.dtype && key.dtype === value.dtype
                  ? attentionBackward(state.output, query, key, value, state, options)
                  : undefined;
              for (const { data, copy } of inputs)
                expect(Buffer.compare(bytesOf(data), copy), `an input of ${describeCase(c)}`).toBe(0);
              for (const { name, data, copy } of earlier)
                expect(
                  Buffer.compare(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), copy),
                  `${name}, after ${describeCase(c)}`,
                ).toBe(0);
              const results = [
                state.output,
                state.lse,
                gradients?.dQuery,
                gradients?.dKey,
                gradients?.dValue,
              ];
              for (const one of results)
                if (one)
                  earlier.push({
                    name: `a result of ${describeCase(c)}`,
                    data: one.data,
                    copy: new Uint8Array(one.data.buffer, one.data.byteOffset, one.data.byteLength).slice(),
                  });
            }
          });
      });
    });
