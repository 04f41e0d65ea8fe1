// @ts-check
/**
 * Mistakes with the data, properties and methods of <attention-view>, in one page: each is said in the event `error` or in the error that the
 * method throws. embedding.spec.mjs has the attributes, and where else the message is.
 */
import { expect } from "@playwright/test";
import { test } from "./support/fixtures.ts";

/** Code with `one`, the element, and the start of the message. @type {readonly (readonly [string, string])[]} */
// biome-ignore format: a mistake is a line
const MISTAKES = [
  ["await one.open({ blocks: [{ layers: [] }] })", "storeFrom: no heads were given"],
  ["await one.open({ blocks: [] })", "storeFrom: no heads were given"],
  ["await one.open({ blocks: {} })", "storeFrom: expected { blocks: [...] } (of a model's attention, storeFromModel makes a store), got Object"],
  ["await one.open({ blocks: null })", "storeFrom: expected { blocks: [...] } (of a model's attention, storeFromModel makes a store), got Object"],
  ["await one.open({ blocks: [{}] })", "storeFrom: block \"self\": layers must be a list of objects, got undefined"],
  ["await one.open({ blocks: [{ layers: [{ query: makeInput({}).blocks[0].layers[0].query }] }] })", "storeFrom: layer 0 of `self` is left out: `self.q.0` is present, but `self.k.0` is missing"],
  ["await one.open({ blocks: [{ layers: [{ q: 1, k: 2 }] }] })", "storeFrom: blocks[0].layers[0]: unknown option \"q\"; expected one of layer, query, key, wei"],
  ["await one.open({ layers: makeInput({}).blocks[0].layers })", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open({ weights: [[1, 0], [0, 1]] })", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open({ query: [[[1, 0]]], key: [[[1, 0]]] })", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open({ ...makeInput({}), tokens: ['a', 'b'] })", "storeFrom: unknown option \"tokens\"; expected one of name, model, text, warnings, lang, blo"],
  ["await one.open('hello')", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open('a.json')", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(new URL('a.json', location.href))", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(new Response('x'))", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(Promise.resolve(makeInput({})))", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(new Blob([]))", "openStore: the file is empty"],
  ["await one.open(new Blob(['hello world']))", "openStore: the file begins with \"hello wo\": not a safetensors, npz, npy or JSON file. Save"],
  ["await one.open(new Blob(['<!doctype html><p>404']))", "openStore: the file begins with \"<!doctyp\": not a safetensors, npz, npy or JSON file. Save"],
  ["await one.open(new Blob(['{\"a\": 1}']))", "openStore: the file: no attention in it: expected nested lists [layers][heads][queries][ke"],
  ["await one.open(new Blob(['[1, 2, 3]']))", "openStore: `attn` is [3]; expected [layers, heads, queries, keys or numbers], with or with"],
  ["await one.open(new Uint8Array([255, 0, 0, 0, 0, 0, 0, 0, 123]))", "openStore: the file begins with the bytes ff 00 00 00 00 00 00 00: not a safetensors, npz,"],
  ["await one.open(new Uint8Array([0x50, 0x4b, 3, 4, 0, 0]))", "openStore: not a zip file: no end record closes it (byte 6)"],
  ["await one.open(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 0]))", "openStore: the file begins with the bytes 89 50 4e 47 0d 0a 1a 0a: not a safetensors, npz,"],
  ["await one.open(new Float32Array(8))", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(new DataView(new ArrayBuffer(8)))", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open([])", "attention-view: no file was given"],
  ["await one.open(['a', 'b'])", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(makeInput({}), 5)", "The second argument of open is 5, not a text. It has no effect."],
  ["await one.open(makeInput({}), { name: 'a' })", "The second argument of open is Object, not a text. It has no effect."],
  ["await one.open(makeInput({}), 'a', {})", "attention-view.open: expected at most 2 arguments, got 3; leave out Object"],
  ["await one.open(undefined)", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(() => makeInput({}))", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["await one.open(view.store)", "storeFrom: options must be { name, model, text, warnings, lang, blocks }"],
  ["one.reader = async () => 1", "The property reader is a function, not { name, read(text) }. It has no effect."],
  ["one.reader = { read() {} }", "The property reader is Object, not { name, read(text) }. It has no effect."],
  ["one.reader = { name: 5, read() {} }", "The property reader is Object, not { name, read(text) }. It has no effect."],
  ["one.sources = { name: 'a', src: 'b' }", "The property sources is Object, not a list of { name, src } or { name, data }, each with a"],
  ["one.sources = [{ name: 'a', src: 5 }]", "The property sources is [Object], not a list of { name, src } or { name, data }, each with a"],
  ["one.sources = [{ name: 'a', data: 'x' }]", "attention-view: expected arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a "],
  ["one.sources = [{ name: 'a', src: undefined, data: makeInput({}) }]", "The property sources is [Object], not a list of { name, src } or { name, data }, each with a"],
  ["one.sources = [{ name: 'a', data: makeInput({}), model: {} }]", "The property sources is [Object], not a list of { name, src } or { name, data }, each with a"],
  ["one.sources = [{ name: 'a', data: makeInput({}), model: 'bert' }]", "The property sources is [Object], not a list of { name, src } or { name, data }, each with a"],
  ["one.sources = [{ name: 'a', data: makeInput({}), tokens: ['a'] }]", "The property sources is [Object], not a list of { name, src } or { name, data }, each with a"],
  ["one.store = {}", "The property store is Object, not a store, as openStore and storeFrom of heed/view return."],
  ["one.store = Promise.resolve(view.store)", "The property store is Promise, not a store, as openStore and storeFrom of heed/view return"],
  ["one.store = makeInput({})", "The property store is Object, not a store, as openStore and storeFrom of heed/view return."],
  ["one.store = { blocks: [] }", "The property store is Object, not a store, as openStore and storeFrom of heed/view return."],
  ["one.state = 'row'", "The property state is “row”, not an object with parts of the state, { view: \"row\", query: "],
  ["one.state = { head: 99 }", "There is no head 99: this file has 0, 1. Shown is 1."],
  ["one.state = { layer: 99 }", "There is no layer 99: this file has 0, 1. Shown is 1."],
  ["one.state = { query: 999 }", "There is no query token 999: this file has 0 to 11. Shown is 11."],
  ["one.state = { key: 999 }", "There is no key token 999: this file has 0 to 11. Shown is 11."],
  ["one.state = { block: 'decoder' }", "There is no block decoder: this file has self. Shown is self."],
  ["one.state = { query: NaN }", "The part query of the state is NaN, not a whole number from 0. It has no effect."],
  ["one.state = { rows: [999] }", "This file does not have, and the picture leaves out: chosen query 999."],
  ["one.state = { hidden: [999] }", "This file does not have, and the picture leaves out: hidden token 999."],
  ["one.state = { pinned: [999, 0] }", "This file does not have, and the picture leaves out: pinned cell of query 999 and key 0."],
  ["one.state = { pins: [{ block: one.state.block, layer: 9, head: 9 }] }", "This file does not have, and the picture leaves out: pinned head L9 H9."],
  ["one.state = { other: { text: 9, layer: 0, head: 0 } }", "This file does not have, and the picture leaves out: text or head to compare with, 9."],
  ["one.state = { ablated: [{ layer: 9, head: 9, replace: 'zero', position: null }] }", "This file does not have, and the picture leaves out: head turned off L9 H9."],
  ["one.state = { predict: 999 }", "This file does not have, and the picture leaves out: token to predict, 999."],
  ["one.state = { fromLayer: 99 }", "This file does not have, and the picture leaves out: first layer, 99."],
  ["one.state = { querySegments: [99] }", "This file does not have, and the picture leaves out: chosen segment 99."],
  ["one.state = { filters: [{ metric: 'entropy', low: 1, high: 0 }] }", "The part filters of the state is [Object], not a list of { metric, low, high }, each metri"],
  ["one.state = { edits: [{ what: 'query', index: 999, value: 1 }] }", "This file does not have, and the picture leaves out: changed number 999 of the query."],
  ["one.state = [1]", "The property state is [1], not an object with parts of the state, { view: \"row\", query: 3 "],
  ["one.state = new Map([['layer', 1]])", "The property state is Map, not an object with parts of the state, { view: \"row\", query: 3 "],
  ["one.setCursor()", "The argument of setCursor is undefined, not an object with parts of the cursor, { layer: 1"],
  ["one.setCursor(1)", "The argument of setCursor is 1, not an object with parts of the cursor, { layer: 1, query:"],
  ["one.setCursor([1, 2])", "The argument of setCursor is [1, 2], not an object with parts of the cursor, { layer: 1, q"],
  ["one.setCursor({ layer: 9 })", "There is no layer 9: this file has 0, 1. Shown is 1."],
  ["one.setCursor({ view: 'row' })", "The cursor has no part view: set state."],
  ["one.setCursor({ i: 1, j: 2 })", "The state has no part i, which has no effect. Its parts are text, view, mode, block, layer"],
  ["one.setCursor('1')", "The argument of setCursor is “1”, not an object with parts of the cursor, { layer: 1, quer"],
  ["await one.metrics(1)", "attention-view.metrics: expected an object with parts of a head, { layer: 1, head: 2 }, go"],
  ["await one.metrics(1, 2)", "attention-view.metrics: expected one argument, got 2; "],
  ["await one.metrics({ head: 99 })", "head must be an integer from 0 to 1, got 99"],
  ["await one.metrics({ head: '1' })", "head must be an integer from 0 to 1, got \"1\""],
  ["await one.metrics(null)", "attention-view.metrics: expected an object with parts of a head, { layer: 1, head: 2 }, go"],
  ["await one.overTexts(5)", "attention-view.overTexts: expected no arguments, got 1; leave out 5"],
  ["await one.toSVG({ width: '100' })", "figure: width must be a number of millimeters from 40 to 400, got \"100\""],
  ["await one.toSVG({ colour: 'red' })", "renderFigure: unknown option \"colour\"; expected one of view, stage, transfer, domain, ramp"],
  ["await one.toSVG({ width: -1 })", "figure: width must be a number of millimeters from 40 to 400, got -1"],
  ["await one.toSVG({ theme: 'night' })", "figure: theme must be one of light, dark, got \"night\""],
  ["await one.toSVG(null)", "attention-view: expected options of a figure as an object, { width: 170 }, got null"],
  ["await one.toPNG({}, 0)", "attention-view.toPNG: scale must be an integer from 1 to 4, got 0"],
  ["await one.toPNG({}, '2')", "attention-view.toPNG: scale must be an integer from 1 to 4, got \"2\""],
  ["await one.toPNG(2)", "attention-view: expected options of a figure as an object, { width: 170 }, got 2"],
  ["await one.toPNG({ scale: 2 })", "renderFigure: unknown option \"scale\"; expected one of view, stage, transfer, domain, ramp,"],
  ["await one.toHTML({})", "attention-view.toHTML: expected no arguments, got 1; leave out Object"],
  ["await one.add()", "The argument of add is undefined, not { name, src } or { name, data }, each with a name"],
  ["await one.add('a')", "The argument of add is “a”, not { name, src } or { name, data }, each with a name"],
  ["await one.add(makeInput({}))", "The argument of add is Object, not { name, src } or { name, data }, each with a name"],
  ["await one.add('a', makeInput({}))", "attention-view.add: expected one argument, got 2; leave out Object"],
  ["one.head = 99", "There is no head 99: this file has 0, 1. Shown is 1."],
  ["one.rows = [1]", "The element has no property rows. Set it in state: element.state = { rows: … }."],
  ["one.pinned = [1, 1]", "The element has no property pinned. Set it in state: element.state = { pinned: … }."],
  ["one.state = { mode: 'photo' }", "This file cannot be drawn as photo. Shown is matrix."],
  ["one.sources = [{ name: '', data: makeInput({}) }]", "The property sources is [Object], not a list of { name, src } or { name, data }, each with a name"],
  ["await one.add({ name: ' ', data: makeInput({}) })", "The argument of add is Object, not { name, src } or { name, data }, each with a name"],
  ["one.setCursor({ layer: 1 }, 2)", "attention-view.setCursor: expected one argument, got 2; leave out 2"],
  ["one.pick(1)", "attention-view.pick: expected no arguments, got 1; leave out 1"],
  ["await document.createElement('attention-view').overTexts()", "attention-view.overTexts: nothing is open; wait for the event load"],
  ["const was = console.error; console.error = () => {}; const other = document.createElement('attention-view'); other.setAttribute('address', ''); const told = new Promise((resolve) => other.addEventListener('error', resolve)); other.addEventListener('error', heard); one.after(other); await told; other.remove(); console.error = was", "Two elements of this page have the attribute address, and each writes its state there: leave one out."],
  ["await one.add({ name: 'a', data: new Blob(['x']) })", "openStore: a begins with the bytes 78: not a safetensors, npz, npy or JSON file. Save q an"],
  ["await one.add({ name: 'a', data: view.store })", "storeFrom: options must be { name, model, text, warnings, lang, blocks }"],
  ["const { store } = one; store.dispose(); one.store = undefined; one.store = store", "HeadStore: the store has been disposed; open it again"],
  ["await one.add([{ name: 'a', data: makeInput({}) }])", "The argument of add is [Object], not { name, src } or { name, data }, each with a name"],
];

test("each mistake with data, properties and methods is said in words that help", ({ visit }) =>
  visit({ heads: {} }, async (page) => {
    for (const [code, start] of MISTAKES) {
      const message = await page.evaluate(`(async (one) => {
        let message;
        const heard = ({ detail }) => { message ??= detail.message; };
        one.addEventListener("error", heard);
        try { ${code}; } catch (error) { message ??= error.message; }
        const end = performance.now() + 10_000;
        while (message === undefined && performance.now() < end) await new Promise(requestAnimationFrame);
        // A method that rejects may also send the event.
        for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
        one.removeEventListener("error", heard);
        return message;
      })(view)`);
      expect.soft(message, code).toContain(start);
    }
    // Numbers that are NaN are shown with a sentence about them.
    await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const input = makeInput({});
      input.blocks[0].layers[0].query.data[3] = Number.NaN;
      await view.open(input);
    });
    await expect(page.locator("attention-view .notices")).toContainText("NaN or infinite");
    // What the element returns cannot be changed past it.
    expect(
      await page.evaluate(() => {
        const { view } = /** @type {any} */ (globalThis);
        return [view.state, view.state.rows, view.sources].map(Object.isFrozen);
      }),
    ).toEqual([true, true, true]);
  }));
