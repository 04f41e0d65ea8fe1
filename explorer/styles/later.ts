/** Styles that are loaded after the first picture: the dialogs, and the panels that switch and rank heads and show causes. */
import { css } from "lit";

export const later = css`
.ask { text-align: start; block-size: auto; padding-block: 4px; }
.asking { display: flex; justify-content: space-between; gap: 8px; align-items: center; }
.answers { margin-block: 4px 8px; }
.answers li { display: grid; grid-template-columns: 62px 1fr auto 44px; gap: 0 8px; align-items: center; min-block-size: 26px; }
.answers li.current .link { font-weight: 700; }
.answers .found { grid-column: 2 / -1; color: var(--second); }
.causes { margin-block-start: 20px; display: grid; gap: 6px; }
.compare-causes .causes { margin: 0; }
.why-heading { margin-block-start: 12px; }
.effect-grid .whole { inline-size: 25px; }
.causes > * { min-inline-size: 0; }
.choice.wraps { flex-wrap: wrap; }
.choice.wraps button { padding-inline: 6px; }
.causes progress, .answers + p progress, p.quiet progress { inline-size: 72px; vertical-align: middle; }
.effects li { display: grid; grid-template-columns: 84px 1fr auto; gap: 0 8px; align-items: center; min-block-size: 26px; }
.effects .found { grid-column: 2 / -1; color: var(--second); }
.effects li.current .link { font-weight: 700; }
.effect-grid { table-layout: fixed; }
.effect-grid th, .effect-grid td { padding: 0; text-align: center; font-size: 10px; color: var(--second); border: 0; overflow: hidden; }
.effect-grid button { display: block; inline-size: 100%; min-inline-size: 0; min-block-size: 18px; padding: 0; border: 1px solid var(--line); border-radius: 2px; }
.effect-grid button[aria-current] { outline: 2px solid var(--query); outline-offset: -1px; }
.effect-grid button:disabled { cursor: default; }
.causes code, .why + details code { font: 11px/16px var(--mono); overflow-wrap: anywhere; }
.lens { table-layout: fixed; min-inline-size: 860px; margin-block: 10px; }
.lens :is(th, td) { padding: 0; border: 1px solid var(--line); }
.lens th { padding: 2px 4px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.lens :is(button, td > span) { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px; inline-size: 100%; padding: 2px 4px; border-radius: 0; text-align: start; font-size: 11px; }
.lens .token { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 11px; }
.lens button[aria-current] { outline: 2px solid var(--query); outline-offset: -2px; }
.block tfoot :is(th, td) { font-weight: 700; border-block-start: 1px solid var(--line); }
.block th { white-space: nowrap; }
.block td.wide { inline-size: 18%; }
.why tfoot th, .why tfoot td { font-weight: 700; border-block-start: 1px solid var(--line); }
.why td.wide { inline-size: 22%; }
.answers .logit { grid-column: 2 / -1; }
.over-texts td[colspan] { white-space: normal; overflow-wrap: anywhere; padding-block-end: 8px; }
.over-texts tr:has(+ tr) > * { border-block-end: 0; }
.ablation, .continuation { margin-block-start: 20px; }
.continuation > p { margin-block: 6px; }
.continuation .settings { display: flex; flex-wrap: wrap; gap: 6px 12px; }
.continuation input { inline-size: 64px; min-block-size: 26px; padding: 0 4px; font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 6px; }
.continuation .written { overflow-wrap: anywhere; }
.continuation .written .link { min-block-size: 24px; min-inline-size: 24px; }
.ablation > p:not(:last-child), .ablation > h2 { margin-block-end: 6px; }
.ablated { display: grid; gap: 2px; margin-block: 8px; }
.ablated li { display: flex; align-items: center; gap: 8px; min-block-size: 26px; }
.ablated li > :last-child { margin-inline-start: auto; }
.ablation table { margin-block: 8px; }
.ablation caption { text-align: start; padding-block-end: 4px; }
.ablation td.wide .track { display: block; margin-block: 1px; }
.ablation th[scope="row"] { max-inline-size: 88px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.ablation .before { color: var(--query); }
.ablation .after { color: var(--weight); }
.predict { display: flex; flex-wrap: wrap; gap: 4px; margin-block: 8px; }
.predict button, .ablation .quiet button { block-size: auto; padding-block: 4px; text-align: start; }
.dialog > .closing { float: inline-end; margin-block: -2px 0; }
.dialog .buttons { align-items: center; }
.search { inline-size: 100%; min-block-size: 36px; font-size: 14px; padding: 0 12px; }
.choices { margin-block: 8px; max-block-size: 400px; overflow: auto; }
.choices li { display: flex; justify-content: space-between; gap: 12px; padding: 4px 12px; min-block-size: 28px; border-radius: 6px; cursor: pointer; }
.choices li:hover { background: var(--hover); }
.choices li.at { background: var(--ink); color: var(--paper); }
.choices li.at kbd, .choices li.at .quiet { color: inherit; background: none; }
.keylist { columns: 2 300px; column-gap: 32px; margin-block: 8px; }
.keylist div { display: grid; grid-template-columns: 104px 1fr; gap: 16px; padding-block: 2px; break-inside: avoid; }
.sentences { list-style: disc; padding-inline-start: 20px; display: grid; gap: 4px; overflow-wrap: anywhere; }
figure.sheet { display: grid; place-items: center; padding: 16px; margin-block: 12px; background: var(--hover); overflow: auto; }
figure.sheet svg { max-inline-size: 100%; block-size: auto; }
.dialog > p { margin-block: 8px; }
`;
