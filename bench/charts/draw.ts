/** Reads a picture as JSON on standard input and writes it as SVG to standard output. */
import { BarChart, LineChart } from "echarts/charts.js";
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from "echarts/components.js";
import { init, use } from "echarts/core.js";
import { SVGRenderer } from "echarts/renderers.js";
import { type Offset, placeLabels, type Spot } from "./label_places.ts";
import { heightOf, plotsOf, toOption } from "./option.ts";
import { type ParsedPicture, Picture } from "./picture.ts";

use([
  BarChart,
  LineChart,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  SVGRenderer,
]);

const picture = Picture.parse(JSON.parse(await new Response(Deno.stdin.readable).text()));
const chart = init(null, null, {
  renderer: "svg",
  ssr: true,
  width: picture.width,
  height: heightOf(picture),
});
chart.setOption(toOption(picture));
// Only a chart that is laid out knows where its points are.
chart.setOption(toOption(picture, labelOffsets(picture)), true);
console.log(chart.renderToSVGString());
chart.dispose();

function labelOffsets(picture: ParsedPicture) {
  type Point = ParsedPicture["rows"][number]["panels"][number]["series"][number]["points"][number];
  const offsets = new Map<Point, Offset>();
  plotsOf(picture).forEach(({ panel, plot }, gridIndex) => {
    const points = new Map<Spot, Point>();
    const lines = panel.series.filter(({ kind }) => kind !== "bar").map((series) =>
      series.points.map((point) => {
        const [x, y] = chart.convertToPixel({ gridIndex }, [point.x, point.y]);
        const spot = { x, y, label: point.label };
        points.set(spot, point);
        return spot;
      })
    );
    for (const [spot, offset] of placeLabels(lines, plot)) offsets.set(points.get(spot)!, offset);
  });
  return offsets;
}
