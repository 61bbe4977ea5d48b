import { assert, assertEquals } from "@std/assert";
import { type Box, placeLabels, type Spot } from "../../bench/charts/label_places.ts";
import { drawSvg } from "../../bench/study/draw.ts";

const PLOT: Box = { left: 0, top: 0, right: 400, bottom: 300 };

/** The labels' boxes, for letters of 12 pixels. */
function boxes(line: Spot[], plot = PLOT): Box[] {
  return [...placeLabels([line], plot)].map(([{ x, y, label }, [right, down]]) =>
    box(x + right, y + down, label!)
  );
}

function box(x: number, y: number, label: string): Box {
  const width = label.length * 3.5;
  return { left: x - width, right: x + width, top: y - 6, bottom: y + 6 };
}

function meet(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function assertApart(all: Box[]) {
  all.forEach((one, i) => {
    for (const other of all.slice(i + 1)) {
      assert(!meet(one, other), `${JSON.stringify(one)} and ${JSON.stringify(other)}`);
    }
  });
}

Deno.test("labels of points at one place, or close to each other, stand beside each other", () => {
  assertApart(boxes(["16", "32", "64", "128", "256"].map((label) => ({ x: 200, y: 150, label }))));
  const row = Array.from({ length: 12 }, (_, i) => ({ x: 180 + i * 3, y: 150, label: `${1000 + i}` }));
  assertApart(boxes(row));
});

Deno.test("a label stands within the plot, off its axes, also that of a point in a corner", () => {
  for (const x of [0, 400]) {
    for (const y of [0, 300]) {
      const [{ left, right, top, bottom }] = boxes([{ x, y, label: "64" }]);
      assert(left >= 0 && right <= 400 && top >= 0 && bottom <= 300, `${x} ${y}`);
    }
  }
});

Deno.test("a label keeps off the line and the points without a label", () => {
  const line = [{ x: 0, y: 150 }, { x: 200, y: 150, label: "8" }, { x: 400, y: 300 }];
  const [{ top, bottom }] = boxes(line);
  assert(bottom <= 150 || top >= 150);
  assertEquals(boxes([{ x: 1, y: 1 }]), []);
});

Deno.test("in a drawn picture no two labels of points stand on each other", async () => {
  const labels = ["1", "2", "16", "32", "64"];
  const at = [[0, 10], [2, 10], [1500, 18], [1507, 18.2], [1507, 18.2]];
  const svg = await drawSvg({
    title: "T",
    subtitle: "S",
    width: 1000,
    rows: [{
      height: 420,
      panels: [{
        title: "P",
        x: { name: "x", type: "value", min: 0 },
        y: { name: "y", type: "value", min: 0 },
        series: [{
          name: "points",
          kind: "points",
          color: "blue",
          points: at.map(([x, y], i) => ({ x, y, label: labels[i] })),
        }],
      }],
    }],
  });
  const texts = [...svg.matchAll(/<text[^>]*text-anchor="middle"[^>]*font-size:12px[^>]*>([^<]*)<\/text>/g)];
  const drawn = texts.map(([element, label]) => {
    const [, x, y] = /translate\(([\d.]+) ([\d.]+)\)/.exec(element)!.map(Number);
    return { label, box: box(x, y, label) };
  });
  assertEquals(drawn.map(({ label }) => label), labels);
  assertApart(drawn.map((each) => each.box));
});
