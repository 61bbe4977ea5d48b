/** Reads a picture as JSON on standard input and writes it as SVG to standard output. */
import { BarChart, LineChart } from "echarts/charts.js";
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from "echarts/components.js";
import { init, use } from "echarts/core.js";
import { SVGRenderer } from "echarts/renderers.js";
import { heightOf, toOption } from "./option.ts";
import { Picture } from "./picture.ts";

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
console.log(chart.renderToSVGString());
chart.dispose();
