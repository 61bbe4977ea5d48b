/** A rectangle in pixels, by its edges. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A point of a line in pixels, with the text that is to stand beside it. */
export interface Spot {
  x: number;
  y: number;
  label?: string;
}

/** From a point to the middle of its label, in pixels to the right and down. */
export type Offset = [right: number, down: number];

export const LABEL_SIZE = 12;
/** Digits of that size are narrower in the fonts that are asked for. */
const CHAR_WIDTH = 7.5;
/** Half of the largest symbol at a point. */
const SYMBOL = 6;
/** Rings of places around a point, by their distance from its symbol; the nearest with room is taken. */
const DISTANCES = [2, 8, 16, 26, 38];
const DIRECTIONS: Offset[] = [[-1, 1], [0, 1], [1, 1], [0, -1], [1, 0], [-1, 0], [1, -1], [-1, -1]];
/** What a label hides, the worst first: another label, the edge of the plot, a symbol, a line. */
const COST = { label: 1000, edge: 1000, symbol: 100, line: 10 };

/**
 * A place for the label of each point such that it hides as little as possible: the charting
 * library has one side for all labels of a line, where those of close points would stand on each other.
 *
 * @param lines of one plot
 */
export function placeLabels(lines: readonly (readonly Spot[])[], plot: Box): Map<Spot, Offset> {
  const symbols = lines.flat().map(({ x, y }) => around(x, y, SYMBOL, SYMBOL));
  const taken: Box[] = [];
  const places = new Map<Spot, Offset>();
  for (const spot of lines.flat()) {
    if (spot.label === undefined) continue;
    const [width, height] = [spot.label.length * CHAR_WIDTH / 2, LABEL_SIZE / 2];
    const candidates = DISTANCES.flatMap((distance) =>
      DIRECTIONS.map(([right, down]): Offset => [
        right * (SYMBOL + distance + width),
        down * (SYMBOL + distance + height),
      ])
    );
    const boxAt = ([right, down]: Offset) => around(spot.x + right, spot.y + down, width, height);
    const costs = candidates.map((offset) => {
      const box = boxAt(offset);
      return (inside(box, plot) ? 0 : COST.edge) +
        taken.filter((other) => meet(box, other)).length * COST.label +
        symbols.filter((symbol) => meet(box, symbol)).length * COST.symbol +
        lines.filter((line) => crosses(line, box)).length * COST.line;
    });
    const best = candidates[costs.indexOf(Math.min(...costs))];
    places.set(spot, best);
    taken.push(boxAt(best));
  }
  return places;
}

function around(x: number, y: number, width: number, height: number): Box {
  return { left: x - width, right: x + width, top: y - height, bottom: y + height };
}

function inside(box: Box, plot: Box): boolean {
  return box.left >= plot.left && box.right <= plot.right && box.top >= plot.top && box.bottom <= plot.bottom;
}

function meet(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Looks at a line pixel by pixel, which is as exact as it is drawn. */
function crosses(line: readonly Spot[], box: Box): boolean {
  return line.slice(1).some((end, i) => {
    const start = line[i];
    const steps = Math.ceil(Math.hypot(end.x - start.x, end.y - start.y));
    for (let step = 0; step <= steps; step++) {
      const share = step / (steps || 1);
      const x = start.x + (end.x - start.x) * share, y = start.y + (end.y - start.y) * share;
      if (x > box.left && x < box.right && y > box.top && y < box.bottom) return true;
    }
    return false;
  });
}
