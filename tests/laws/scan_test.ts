import { assertEquals, assertStringIncludes } from "@std/assert";
import { blank } from "./blank.ts";
import { exportsOf, importsOf } from "./scan.ts";

Deno.test("words in comments, strings, templates and patterns are not code", () => {
  const text = [
    `// Deno.env`,
    `/* import "a" */ const a = "Deno", b = 'Deno\\'s', c = \`Deno \${d + "Deno"} Deno \${\`Deno\`}\`;`,
    `const e = /Deno["'\`/]/.test(f) ? g / h : i / /Deno/.length;`,
    `const j = "import { k } from 'l'";`,
  ].join("\n");
  assertEquals(blank(text).length, text.length);
  assertEquals(/Deno|import/.exec(blank(text)), null);
  assertStringIncludes(blank(text), "g / h");
  assertStringIncludes(blank(text), "${d + ");
  assertEquals(importsOf(text), []);
});

Deno.test("every form of import is seen, with the names that it takes", () => {
  const text = `
import a, { b as c, type D } from "./1.ts";
import * as e from './2.ts';
import type { F } from "./3.ts";
import {
  g,
  h, // a comment
} from "./4.ts";
import "./5.ts";
const i = await import("./6.ts");
new Worker(new URL("./7.ts", import.meta.url));
import.meta.resolve("./8.ts");
spawn(here("../11b.ts")); // not "./11c.ts"
export * from "./9.ts";
export { j as k, type L } from "./10.ts";
export interface M { from: "./11.tsv" }
import n from "./12.json" with { type: "json" };
`;
  const seen = importsOf(text).map((
    { specifier, names, kind },
  ) => [specifier, kind, names.toSorted().join()]);
  assertEquals(
    new Set(seen),
    new Set([
      ["./1.ts", "import", "D,b,default"],
      ["./2.ts", "import", "*"],
      ["./3.ts", "import", "F"],
      ["./4.ts", "import", "g,h"],
      ["./5.ts", "import", ""],
      ["./6.ts", "import", "*"],
      ["./7.ts", "path", ""],
      ["./8.ts", "path", ""],
      ["./9.ts", "export", "*"],
      ["./10.ts", "export", "L,j"],
      ["../11b.ts", "path", ""],
      ["./12.json", "import", "default"],
    ]),
  );
});

Deno.test("every form of export is seen", () => {
  const text = `
export function a(): void; export function a(b?: number): void {}
export async function c() {}
export async function* d() {}
export abstract class E {}
export const f = 1; export let g = 2;
export const { h, i: j } = k;
export interface L {} export type M = L; export enum N { A }
export { o as p, type Q };
export type { R };
export default 1;
export { s } from "./s.ts";
const t = { export: 1 };
`;
  const seen = exportsOf(text);
  assertEquals(
    seen.map(({ name }) => name).toSorted().join(" "),
    "E L M N Q R a c d default f g h j p",
  );
  assertEquals(seen.filter(({ type }) => type).map(({ name }) => name).toSorted().join(" "), "L M Q R");
});
