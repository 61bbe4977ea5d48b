import { z } from "zod";

/** Names of the colours: those of Okabe and Ito that stay apart for every kind of colour blindness, and in grey. */
export const COLORS = { blue: "#0072B2", orange: "#D55E00", yellow: "#E69F00", green: "#009E73" } as const;

const Axis = z.object({
  /** With its unit. */
  name: z.string(),
  type: z.enum(["value", "log", "category"]),
  min: z.number().optional(),
  max: z.number().optional(),
  /** The values of a category axis, in order. */
  categories: z.array(z.string()).optional(),
});

const Point = z.object({
  x: z.union([z.number(), z.string()]),
  y: z.number(),
  /** Written beside the point. */
  label: z.string().optional(),
  /** Drawn hollow: the value is a bound, not a measurement. */
  hollow: z.boolean().optional(),
});

const Series = z.object({
  name: z.string(),
  kind: z.enum(["line", "points", "bar"]),
  color: z.enum(["blue", "orange", "yellow", "green"]),
  /** Told apart without colour too. */
  dashed: z.boolean().default(false),
  /** Bars with the same stack stand on each other. */
  stack: z.string().optional(),
  /** Of a bar; a label of a point stands where there is room for it. */
  labelAt: z.enum(["top", "inside"]).default("top"),
  points: z.array(Point),
});

const Panel = z.object({
  title: z.string(),
  x: Axis,
  y: Axis,
  series: z.array(Series).min(1),
  /** Vertical lines with a text. */
  marks: z.array(z.object({ x: z.number(), label: z.string() })).default([]),
});

/** What is to be drawn: rows of panels under one title. Sizes in pixels. */
export const Picture = z.object({
  title: z.string(),
  subtitle: z.string(),
  width: z.number().int().positive(),
  rows: z.array(z.object({ height: z.number().int().positive(), panels: z.array(Panel).min(1) })).min(1),
});

export type Picture = z.input<typeof Picture>;
export type ParsedPicture = z.output<typeof Picture>;
