// The map's items as numbers: which are shown from how far, which stand where.
//
// The server has put every item into a cell of a grid, and says from which level on it is shown:
// level 3 is a grid of 8 x 8 cells, and each cell that holds anything shows one picture.
import { call } from "/static/lib/api.js";

const SMALLEST = 26; // pixels along the side of a cell, at least
const COUNTED = 8; // finest level at which it is worth saying how many stand behind a picture

// The map with what is seen from afar; the rest of its items follows (whole: when they are there).
export async function loadMap(about) {
  const part = async (number) => (await call(`${about.items.replace("/api/v1", "")}?part=${number}`)).arrayBuffer();
  const data = new MapData(about, await part(0));
  const rest = async () => { while (data.held < data.count) data.add(await part(data.parts.length)); };
  return Object.assign(data, { whole: rest() });
}

export class MapData {
  constructor(about, buffer) {
    const n = about.count;
    Object.assign(this, { about, count: n, held: 0, parts: [], bits: about.bits, side: 2 ** about.bits, wide: 1 });
    Object.assign(this, { ids: new Float64Array(n), xs: new Uint16Array(n), ys: new Uint16Array(n), levels: new Uint8Array(n) });
    this.coarse = Math.min(this.bits, 6);
    this.counted = new Map([[this.coarse, { counts: about.counts, most: Math.max(...about.counts) }]]);
    const [across, held] = [2 ** this.coarse, about.counts.flatMap((count, square) => (count ? [square] : []))];
    const [xs, ys] = [held.map((square) => square % across), held.map((square) => Math.floor(square / across))];
    this.edges = [Math.min(...xs), Math.min(...ys), Math.max(...xs) + 1, Math.max(...ys) + 1].map((v) => v / across);
    this.add(buffer);
  }

  // More items: each part by coarse square, in the order in which they appear.
  add(buffer) {
    const [n, from, squares] = [buffer.byteLength / 13, this.held, 4 ** this.coarse];
    if (!n) throw new Error("The map has fewer photos than it says.");
    this.ids.set(new Float64Array(buffer, 0, n), from);
    this.xs.set(new Uint16Array(buffer, 8 * n, n), from);
    this.ys.set(new Uint16Array(buffer, 10 * n, n), from);
    this.levels.set(new Uint8Array(buffer, 12 * n, n), from);
    this.held += n;
    const [starts, sorted] = [new Uint32Array(squares + 1), new Uint32Array(n)];
    for (let i = from; i < this.held; i++) starts[this.cell(i, this.coarse) + 1] += 1;
    for (let q = 0; q < squares; q++) starts[q + 1] += starts[q];
    const next = starts.slice(0, squares);
    for (let i = from; i < this.held; i++) sorted[next[this.cell(i, this.coarse)]++] = i;
    this.parts.push({ starts, sorted });
  }

  // The cell of a level that an item stands in.
  cell(i, level) {
    const shift = this.bits - level;
    return ((this.ys[i] >> shift) << level) + (this.xs[i] >> shift);
  }

  // The rectangle of squares that hold everything, also what is still to follow, in shares of the map.
  box() {
    const [left, top, right, bottom] = this.edges;
    return [left * this.wide, top, right * this.wide, bottom];
  }

  // The level that suits so many pixels along the side of the whole map.
  level(scale) {
    return Math.max(0, Math.min(this.bits, Math.floor(Math.log2((scale * Math.min(1, this.wide)) / SMALLEST))));
  }

  // Calls back with every item in a rectangle (shares of the map, drawn apart sideways), the first to appear first in
  // each square; until says from which level on the rest of a square is left out.
  each([left, top, right, bottom], until, found) {
    const n = 2 ** this.coarse;
    const low = (v) => Math.max(0, Math.floor(v * n));
    const high = (v) => Math.min(n - 1, Math.floor(v * n));
    for (let row = low(top); row <= high(bottom); row++) {
      for (let column = low(left / this.wide); column <= high(right / this.wide); column++) {
        this.square(row * n + column, until, found);
      }
    }
  }

  square(square, until, found) {
    for (const { starts, sorted } of this.parts) {
      for (let at = starts[square]; at < starts[square + 1]; at++) {
        if (this.levels[sorted[at]] > until) return;
        found(sorted[at]);
      }
    }
  }

  // What a level shows in a rectangle: [{ i, x, y, side }], the middles in shares of the map.
  shown([left, top, right, bottom], level) {
    const cell = 2 ** -level;
    const shift = this.bits - level;
    const out = [];
    this.each([left - this.wide * cell, top - cell, right + this.wide * cell, bottom + cell], level, (i) => {
      const x = ((this.xs[i] >> shift) + 0.5) * cell * this.wide;
      const y = ((this.ys[i] >> shift) + 0.5) * cell;
      if (x < left - cell || x > right + cell || y < top - cell || y > bottom + cell) return;
      out.push({ i, x, y, side: cell * Math.min(1, this.wide) * this.share(i, level) });
    });
    return out;
  }

  // Far away, a picture is the larger the more stand behind it.
  share(i, level) {
    if (level >= this.bits || level > (this.held < this.count ? this.coarse : COUNTED)) return 0.94;
    const { counts, most } = this.counts(level);
    return most > 1 ? 0.58 + 0.4 * (Math.log(counts[this.cell(i, level)]) / Math.log(most)) : 0.94;
  }

  counts(level) {
    if (!this.counted.has(level)) {
      const counts = new Uint32Array(4 ** level);
      const [n, finer] = [2 ** level, level < this.coarse ? this.counts(level + 1).counts : []];
      finer.forEach((count, at) => { counts[(at >> (level + 2) << level) + ((at % (2 * n)) >> 1)] += count; });
      if (level > this.coarse) for (let i = 0; i < this.count; i++) counts[this.cell(i, level)] += 1;
      this.counted.set(level, { counts, most: counts.reduce((a, b) => Math.max(a, b), 0) });
    }
    return this.counted.get(level);
  }

  // The item whose picture is at a point, or -1.
  hit(x, y, level) {
    let best = -1;
    for (const one of this.shown([x, y, x, y], level)) {
      if (Math.abs(one.x - x) * 2 <= one.side && Math.abs(one.y - y) * 2 <= one.side) best = one.i;
    }
    return best;
  }

  // Where an item's own cell is, whatever is shown.
  place(i) {
    return [((this.xs[i] + 0.5) / this.side) * this.wide, (this.ys[i] + 0.5) / this.side];
  }

  // Every item in a rectangle, shown or hidden behind another, the first to appear first.
  within([left, top, right, bottom]) {
    const out = [];
    this.each([left, top, right, bottom], 255, (i) => {
      const [x, y] = this.place(i);
      if (x >= left && x <= right && y >= top && y <= bottom) out.push(i);
    });
    return Uint32Array.from(out).sort();
  }

  // Every item inside a line that was drawn around some: [[x, y], ...].
  inside(line) {
    const xs = line.map((p) => p[0]);
    const ys = line.map((p) => p[1]);
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    return this.within(box).filter((i) => encloses(line, ...this.place(i)));
  }

  // How densely items stand, as a small picture of one colour.
  density(colour) {
    const { counts, most } = this.counts(this.coarse);
    const n = 2 ** this.coarse;
    const canvas = Object.assign(document.createElement("canvas"), { width: n, height: n });
    const context = canvas.getContext("2d");
    context.fillStyle = colour;
    context.fillRect(0, 0, n, n);
    const image = context.getImageData(0, 0, n, n);
    for (let cell = 0; cell < n * n; cell++) {
      image.data[4 * cell + 3] = counts[cell] ? 40 + 150 * (Math.log(1 + counts[cell]) / Math.log(1 + most)) : 0;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }
}

export function encloses(line, x, y) {
  let inside = false;
  for (let a = 0, b = line.length - 1; a < line.length; b = a++) {
    const [xa, ya] = line[a];
    const [xb, yb] = line[b];
    if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) inside = !inside;
  }
  return inside;
}
