import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { Picture } from "../../bench/charts/picture.ts";
import { drawSvg } from "../../bench/study/draw.ts";
import { htmlPage } from "../../bench/study/page.ts";

const PICTURE: Picture = {
  title: "What was found",
  subtitle: "Under which conditions",
  width: 800,
  rows: [{
    height: 300,
    panels: [{
      title: "A panel of lines",
      x: { name: "time (s)", type: "value" },
      y: { name: "length (readers)", type: "value" },
      marks: [{ x: 2, label: "the end" }],
      series: [
        { name: "first line", kind: "line", color: "blue", points: [{ x: 0, y: 1 }, { x: 3, y: 4 }] },
        {
          name: "second line",
          kind: "points",
          color: "orange",
          dashed: true,
          points: [{ x: 0, y: 2 }, { x: 3, y: 1, label: "a bound", hollow: true }],
        },
      ],
    }],
  }, {
    height: 300,
    panels: [{
      title: "A panel of bars",
      x: { name: "percentile", type: "category", categories: ["p50", "p99"] },
      y: { name: "TTFT (ms)", type: "log", min: 10 },
      series: [{
        name: "the bars",
        kind: "bar",
        color: "green",
        points: [{ x: "p50", y: 85, label: "85 ms" }, { x: "p99", y: 4200, label: "4.2 s" }],
      }],
    }],
  }],
};

/** A name of an XML namespace is not fetched; every other address would be. */
function addressesIn(text: string): string[] {
  const names = /\sxmlns(:\w+)?="[^"]*"/g;
  return [...text.replace(names, "").matchAll(/(https?:)?\/\/[^\s"']+|\burl\((?!#)[^)]*\)|@import/g)].map((
    m,
  ) => m[0]);
}

Deno.test("a drawn picture has every series, axis, mark, label and title, and is the same each time", async () => {
  const [svg, again] = await Promise.all([drawSvg(PICTURE), drawSvg(PICTURE)]);
  assertEquals(svg, again);
  assertMatch(svg, /^<svg [^]*<\/svg>\n$/);
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]);
  const wanted = PICTURE.rows.flatMap(({ panels }) =>
    panels.flatMap((panel) => [
      panel.title,
      panel.x.name,
      panel.y.name,
      ...panel.x.categories ?? [],
      ...(panel.marks ?? []).map(({ label }) => label),
      ...panel.series.flatMap(({ name, points }) => [name, ...points.flatMap(({ label }) => label ?? [])]),
    ])
  );
  for (const text of [PICTURE.title, PICTURE.subtitle, ...wanted]) {
    assert(texts.includes(text), `no text "${text}"`);
  }
  for (const color of ["#0072B2", "#D55E00", "#009E73"]) assertStringIncludes(svg, color);
  // The second line is told apart without its colour.
  const line = /<path[^>]*stroke="#D55E00"[^>]*>/.exec(svg)?.[0] ?? "";
  assertMatch(line, /stroke-dasharray/);
});

Deno.test("a long title is broken between words, never between a number and its unit", async () => {
  const title = "All " + "480 ms ".repeat(20).trim();
  const svg = await drawSvg({ ...PICTURE, title });
  const lines = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) =>
    match[1].replaceAll("\u00a0", " ")
  );
  const at = lines.findIndex((line) => line.startsWith("All"));
  assertEquals(`${lines[at]} ${lines[at + 1]}`, title);
  assertMatch(lines[at], /ms$/);
});

Deno.test("neither picture nor page names anything to be fetched", async () => {
  const svg = await drawSvg(PICTURE);
  const html = htmlPage({ title: "T", svg, table: [["a", "b"], ["c", "d"]], notes: ["e"] });
  assertEquals(addressesIn(svg), []);
  assertEquals(addressesIn(html), []);
  assertEquals(/<(script|link|img|iframe|object|image)\b/.exec(svg + html), null);
  assertEquals(addressesIn('<a href="https://example.com/x">'), ["https://example.com/x"]);
});

Deno.test("a page holds the picture, every cell and note, with what is special in HTML escaped", () => {
  const html = htmlPage({
    title: "a < b",
    svg: "<svg></svg>",
    table: [["", "x & y"], ["≥ 3 s", "<b>"]],
    notes: ['"quoted"'],
  });
  for (
    const part of [
      "<title>a &#60; b</title>",
      "<svg></svg>",
      "<th>x &#38; y</th>",
      "<td>≥ 3 s</td>",
      "<td>&#60;b&#62;</td>",
      "<p>&#34;quoted&#34;</p>",
    ]
  ) assertStringIncludes(html, part);
});

Deno.test("what is no picture is refused, not drawn as an empty one", async () => {
  await assertRejects(
    () => drawSvg({ ...PICTURE, rows: [] }),
    Error,
    "the picture could not be drawn",
  );
});
