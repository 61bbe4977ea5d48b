import type { EChartsCoreOption } from "echarts/core.js";
import { type Box, LABEL_SIZE, type Offset } from "./label_places.ts";
import { COLORS, type ParsedPicture } from "./picture.ts";

type Panel = ParsedPicture["rows"][number]["panels"][number];
type Axis = Panel["x"];
type Series = Panel["series"][number];
type Point = Series["points"][number];

const TEXT = "#222222";
const GRID = "#DDDDDD";
const FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif";
const GAP = 24;
/** The library does not know how wide letters are without a canvas, so lines are broken here. */
const TITLE = { size: 18, lineHeight: 24, charsPerLine: 84 };
const SUBTITLE = { size: 12.5, lineHeight: 18, charsPerLine: 146 };
/** Room around a plot for its title and legend, its axis names and its numbers. */
const AROUND = { top: 74, bottom: 56, left: 78, right: 26 };

/** Height of the whole picture in pixels. */
export function heightOf(picture: ParsedPicture): number {
  return headOf(picture) + picture.rows.reduce((sum, row) => sum + row.height + GAP, 0);
}

/** Where each panel's axes span their plot. */
export function plotsOf(picture: ParsedPicture): { panel: Panel; plot: Box }[] {
  return place(picture).map(({ panel, left, top, width, height }) => ({
    panel,
    plot: {
      left: left + AROUND.left,
      right: left + width - AROUND.right,
      top: top + AROUND.top,
      bottom: top + height - AROUND.bottom,
    },
  }));
}

/**
 * The picture in the charting library's terms: one grid, two axes, a title and a legend for each panel.
 *
 * @param offsets of the labels of points; one without stands on its point
 */
export function toOption(
  picture: ParsedPicture,
  offsets: ReadonlyMap<Point, Offset> = new Map(),
): EChartsCoreOption {
  const placed = place(picture);
  return {
    animation: false,
    backgroundColor: "#FFFFFF",
    textStyle: { fontFamily: FONT, color: TEXT },
    title: [
      {
        text: wrap(picture.title, TITLE.charsPerLine).join("\n"),
        subtext: wrap(picture.subtitle, SUBTITLE.charsPerLine).join("\n"),
        left: 10,
        top: 8,
        textStyle: { fontSize: TITLE.size, lineHeight: TITLE.lineHeight, color: TEXT },
        subtextStyle: { fontSize: SUBTITLE.size, lineHeight: SUBTITLE.lineHeight, color: "#555555" },
      },
      ...placed.map(({ panel, left, top }) => ({
        text: panel.title,
        left: left + 10,
        top: top + 2,
        textStyle: { fontSize: 14, color: TEXT },
      })),
    ],
    legend: placed.map(({ panel, left, top }) => ({
      left: left + 10,
      top: top + 26,
      itemWidth: 30,
      // Wide enough for what the library's guess at the letters falls short.
      itemGap: 36,
      textStyle: { fontSize: 12, color: TEXT },
      data: panel.series.map(({ name, kind }) => ({
        name,
        ...(kind === "bar" ? { icon: "roundRect" } : {}),
        // A line without marks at its points has none in the legend.
        ...(kind === "line" ? { itemStyle: { opacity: 0 } } : {}),
      })),
    })),
    grid: plotsOf(picture).map(({ plot: { left, top, right, bottom } }) => ({
      left,
      top,
      width: right - left,
      height: bottom - top,
    })),
    xAxis: placed.map(({ panel }, gridIndex) => ({ ...axis(panel.x, 32), gridIndex })),
    yAxis: placed.map(({ panel }, gridIndex) => ({ ...axis(panel.y, 54), gridIndex })),
    series: placed.flatMap(({ panel }, at) =>
      panel.series.map((series, i) => ({
        ...draw(series, offsets),
        xAxisIndex: at,
        yAxisIndex: at,
        ...(i === 0 ? marks(panel) : {}),
      }))
    ),
  };
}

function headOf({ title, subtitle }: ParsedPicture): number {
  return 32 + wrap(title, TITLE.charsPerLine).length * TITLE.lineHeight +
    wrap(subtitle, SUBTITLE.charsPerLine).length * SUBTITLE.lineHeight;
}

function wrap(text: string, charsPerLine: number): string[] {
  const lines = [""];
  // A number stays with its unit.
  for (const word of text.replace(/(\d) (?=(ms|s|%|×)(\W|$))/g, "$1\u00a0").split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && line.length + 1 + word.length > charsPerLine) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

/** Each panel with its place; those of a row share its width evenly. */
function place(picture: ParsedPicture) {
  const { rows, width } = picture;
  let top = headOf(picture);
  return rows.flatMap(({ height, panels }) => {
    const share = width / panels.length;
    const row = panels.map((panel, i) => ({ panel, left: i * share, top, width: share, height }));
    top += height + GAP;
    return row;
  });
}

function axis({ name, type, min, max, categories }: Axis, nameGap: number) {
  return {
    type,
    name,
    nameLocation: "middle",
    nameGap,
    nameTextStyle: { fontSize: 12.5, color: TEXT },
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(categories ? { data: categories } : {}),
    axisLabel: { fontSize: 11.5, color: TEXT },
    axisLine: { show: true, lineStyle: { color: "#777777" } },
    splitLine: { show: type !== "category", lineStyle: { color: GRID } },
  };
}

function draw(
  { name, kind, color, dashed, stack, labelAt, points }: Series,
  offsets: ReadonlyMap<Point, Offset>,
) {
  const ink = COLORS[color];
  const data = points.map((point) => {
    const { x, y, label, hollow } = point;
    const offset = offsets.get(point);
    return {
      value: [x, y],
      ...(hollow ? { itemStyle: { color: "#FFFFFF", borderColor: ink, borderWidth: 2 } } : {}),
      label: label === undefined
        ? { show: false }
        : { show: true, formatter: label, ...(offset && { offset }) },
    };
  });
  const label = { position: kind === "bar" ? labelAt : "inside", fontSize: LABEL_SIZE, color: TEXT };
  if (kind === "bar") {
    return {
      ...{ name, type: "bar", data, label, barMaxWidth: 90 },
      ...(stack === undefined ? {} : { stack }),
      itemStyle: { color: ink },
    };
  }
  return {
    ...{ name, type: "line", data, label },
    symbol: kind === "line" ? "none" : dashed ? "diamond" : "circle",
    symbolSize: dashed ? 11 : 9,
    itemStyle: { color: ink },
    lineStyle: { color: ink, width: 2.5, type: dashed ? "dashed" : "solid" },
  };
}

function marks({ marks }: Panel) {
  if (marks.length === 0) return {};
  return {
    markLine: {
      symbol: "none",
      silent: true,
      lineStyle: { color: "#777777", type: "dotted", width: 1.5 },
      data: marks.map(({ x, label }) => ({
        xAxis: x,
        label: { formatter: label, position: "end", color: "#555555", fontSize: 11.5 },
      })),
    },
  };
}
