// What the map shows and how it is moved: by pointer, wheel, keys and buttons.
import { Pages } from "/static/lib/map-pages.js";
import { selected } from "/static/lib/selection.js";

const LARGEST = 120; // pixels along the side of a picture, at most
const MARGIN = 12;
const [NARROWEST, WIDEST] = [0.7, 2.2]; // times that a map is drawn apart sideways
const STILL = 250; // milliseconds without a move after which the list of what is in view is made
const CLICK = 5; // pixels that a click may slip
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class MapView {
  // told: { click(i, more), drawn(line, more), settled(where, box) }
  constructor(host, data, at, told) {
    Object.assign(this, { host, data, told, lasso: false, line: null, pointers: new Map(), closed: false });
    this.pages = new Pages(data.about, () => this.redraw());
    this.density = data.density(getComputedStyle(host).getPropertyValue("--accent").trim());
    this.path = host.querySelector("polygon"); // the line of the lasso
    this.names = [...host.querySelectorAll(".map-names span")];
    const [left, top, right, bottom] = data.box();
    this.shape = (right - left) / (bottom - top);
    this.measure();
    this.view = this.read(at) || this.fitting();
    this.watching = new ResizeObserver(() => {
      const [before, whole] = [data.wide, this.isWhole()];
      this.measure();
      this.view = whole ? this.fitting() : { ...this.view, x: (this.view.x * data.wide) / before };
      this.fit();
      this.redraw();
      this.settle();
    });
    this.watching.observe(host);
    this.listen();
    this.canvas = Object.assign(document.createElement("canvas"), { role: "img" });
    this.canvas.setAttribute("aria-label", `${data.count} photos, the similar near each other`);
    host.prepend(this.canvas);
    this.fit();
    this.redraw();
    this.settle();
    data.whole.then(() => this.closed || this.move(this.view), () => {}); // whoever selects is told
  }

  // -- drawing ------------------------------------------------------------------

  measure() {
    const { width, height } = this.host.getBoundingClientRect();
    this.width = Math.max(50, width);
    this.height = Math.max(50, height);
    // Drawn apart sideways, or pushed together, what is there fills the box.
    const box = (this.width - 2 * MARGIN) / (this.height - 2 * MARGIN);
    this.data.wide = Math.max(NARROWEST, Math.min(WIDEST, box / this.shape));
    this.host.dataset.wide = this.data.wide;
  }

  fit() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    Object.assign(this.canvas, { width: Math.round(this.width * ratio), height: Math.round(this.height * ratio) });
    this.canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  redraw() {
    if (this.frame || this.closed) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }

  paint() {
    if (this.closed) return;
    const level = this.data.level(this.view.scale);
    const items = this.data.shown(this.box(), level);
    this.pages.want([...new Set(items.map(({ i }) => this.pages.pageOf(i)))].sort((a, b) => a - b));
    this.pictures(items, Math.max(0, Math.min(0.55, (this.data.bits - level) * 0.14)));
    this.name();
    this.painted = (this.painted || 0) + 1;
    this.host.dataset.frames = this.painted;
    this.host.dataset.level = level;
    this.host.dataset.shown = items.length;
    if (!this.told.first && items.some(({ i }) => this.pages.get(this.pages.pageOf(i)))) {
      this.told.first = true;
      this.host.dataset.pictures = "true";
      performance.mark("map: first picture");
    }
  }

  // How dense it is there as a shade, and the pictures over it.
  pictures(items, shade) {
    const { view, width, height, pages } = this;
    const context = this.canvas.getContext("2d");
    const [paper, accent] = ["--line", "--accent"].map((name) => getComputedStyle(this.canvas).getPropertyValue(name));
    const [left, top] = [width / 2 - view.x * view.scale, height / 2 - view.y * view.scale];
    context.clearRect(0, 0, width, height);
    context.globalAlpha = shade;
    context.drawImage(this.density, left, top, view.scale * this.data.wide, view.scale);
    context.globalAlpha = 1;
    for (const { i, x, y, side } of items) {
      const size = side * view.scale;
      const at = [left + x * view.scale - size / 2, top + y * view.scale - size / 2];
      const bitmap = pages.get(pages.pageOf(i));
      if (selected.value.has(this.data.ids[i])) {
        context.fillStyle = accent;
        context.fillRect(at[0] - 3, at[1] - 3, size + 6, size + 6);
      }
      context.fillStyle = paper;
      if (bitmap) context.drawImage(bitmap, ...pages.corner(i), pages.about.tile, pages.about.tile, ...at, size, size);
      else context.fillRect(...at, size, size);
    }
  }

  // Names of islands stand where these are, those that do not hide one before them.
  name() {
    const [left, top] = this.box();
    const shown = [];
    for (const [at, { x, y, text }] of this.data.about.names.entries()) {
      const [px, py] = [(x * this.data.wide - left) * this.view.scale, (y - top) * this.view.scale];
      const half = 5 * text.length + 10;
      const free = shown.every(([a, b, wide]) => Math.abs(a - px) > half + wide || Math.abs(b - py) > 26);
      const here = free && px > 0 && py > 0 && px < this.width && py < this.height;
      this.names[at].hidden = !here;
      if (!here) continue;
      shown.push([px, py, half]);
      this.names[at].style.left = `${Math.max(half, Math.min(px, this.width - half))}px`; // whole at an edge, too
      this.names[at].style.top = `${py}px`;
    }
  }

  // -- where --------------------------------------------------------------------

  // The rectangle in view, in shares of the map.
  box() {
    const { x, y, scale } = this.view;
    const [across, down] = [this.width / scale / 2, this.height / scale / 2];
    return [x - across, y - down, x + across, y + down];
  }

  // From pixels in the host to shares of the map.
  world(x, y) {
    const [left, top] = this.box();
    return [left + x / this.view.scale, top + y / this.view.scale];
  }

  fitting() {
    const [left, top, right, bottom] = this.data.box();
    const scale = Math.min((this.width - 2 * MARGIN) / (right - left), (this.height - 2 * MARGIN) / (bottom - top));
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.min(scale, LARGEST * this.data.side) };
  }

  isWhole() {
    const [{ x, y, scale }, all] = [this.view, this.fitting()];
    return Math.abs(scale / all.scale - 1) < 0.01 && Math.hypot(x - all.x, y - all.y) * scale < 1;
  }

  read(at) {
    const [x, y, zoom] = (at || "").split(",").map(Number);
    if (![x, y, zoom].every(Number.isFinite)) return null;
    return this.limited({ x: x * this.data.wide, y, scale: 2 ** zoom });
  }

  limited({ x, y, scale }) {
    const least = Math.min(this.fitting().scale / 1.5, LARGEST * this.data.side);
    const inside = (v, most) => Math.max(0, Math.min(most, v));
    return { x: inside(x, this.data.wide), y: inside(y, 1), scale: Math.max(least, Math.min(LARGEST * this.data.side, scale)) };
  }

  move(next) {
    this.view = this.limited(next);
    this.redraw();
    this.settle();
  }

  settle() {
    clearTimeout(this.still);
    this.still = setTimeout(() => {
      const { x, y, scale } = this.view;
      const at = [(x / this.data.wide).toFixed(4), y.toFixed(4), Math.log2(scale).toFixed(2)];
      this.told.settled(this.isWhole() ? "" : at.join(), this.box()); // what is whole stays so when it is drawn anew
    }, STILL);
  }

  // Nearer or farther; what is at (px, py) stays there.
  zoomed(view, by, px = this.width / 2, py = this.height / 2) {
    const { scale } = this.limited({ ...view, scale: view.scale * by });
    const [dx, dy] = [px - this.width / 2, py - this.height / 2];
    return { x: view.x + dx / view.scale - dx / scale, y: view.y + dy / view.scale - dy / scale, scale };
  }

  zoom(by) {
    this.travel(this.zoomed(this.view, by));
  }

  whole() {
    this.travel(this.fitting());
  }

  // A short way there, unless the person asked for little motion.
  travel(goal) {
    const from = this.view;
    const started = performance.now();
    cancelAnimationFrame(this.travelling);
    if (calm()) { this.move(goal); return; }
    const step = (now) => {
      const t = Math.min(1, (now - started) / 200);
      const ease = 1 - (1 - t) ** 3;
      const mix = (a, b) => a + (b - a) * ease;
      this.move({ x: mix(from.x, goal.x), y: mix(from.y, goal.y), scale: from.scale * (goal.scale / from.scale) ** ease });
      if (t < 1 && !this.closed) this.travelling = requestAnimationFrame(step);
    };
    this.travelling = requestAnimationFrame(step);
  }

  // -- hands --------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 0.2;
    const { x, y, scale } = this.view;
    const go = (dx, dy) => this.travel(this.limited({ x: x + (dx * this.width) / scale, y: y + (dy * this.height) / scale, scale }));
    const acts = {
      ArrowLeft: () => go(-step, 0), ArrowRight: () => go(step, 0), ArrowUp: () => go(0, -step), ArrowDown: () => go(0, step),
      "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5), 0: () => this.whole(),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  listen() {
    const on = (name, act, options) => this.host.addEventListener(name, act, options);
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.drag(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => { this.pointers.delete(event.pointerId); this.draw(null); });
    // The wheel belongs to the page until the map has been touched (or ctrl is held, as for a pinch).
    on("wheel", (event) => {
      if (!event.ctrlKey && document.activeElement !== this.host) return;
      event.preventDefault();
      this.move(this.zoomed(this.view, 2 ** (-event.deltaY / (event.ctrlKey ? 100 : 300)), ...this.at(event)));
    }, { passive: false });
  }

  at(event) {
    const { left, top } = this.host.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  down(event) {
    if (event.button) return;
    this.host.setPointerCapture(event.pointerId);
    this.host.focus({ preventScroll: true });
    const here = this.at(event);
    this.pointers.set(event.pointerId, { from: here, now: here });
    cancelAnimationFrame(this.travelling);
    this.dragged = false;
    if (this.pointers.size > 1) this.draw(null);
    else if (this.lasso || event.shiftKey) this.draw([here]);
  }

  drag(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      const hit = this.data.hit(...this.world(...this.at(event)), this.data.level(this.view.scale));
      this.host.classList.toggle("over", hit >= 0);
      return;
    }
    const here = this.at(event);
    const far = Math.hypot(here[0] - pointer.from[0], here[1] - pointer.from[1]);
    this.dragged ||= far > CLICK;
    const before = pointer.now;
    if (!this.dragged) return;
    pointer.now = here;
    if (this.line) this.draw([...this.line, here]);
    else if (this.pointers.size === 2) this.pinch(pointer, before);
    else {
      const { x, y, scale } = this.view;
      this.move({ x: x - (here[0] - before[0]) / scale, y: y - (here[1] - before[1]) / scale, scale });
    }
  }

  pinch(pointer, before) {
    const other = [...this.pointers.values()].find((p) => p !== pointer).now;
    const gap = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
    this.move(this.zoomed(this.view, gap(pointer.now) / gap(before), (pointer.now[0] + other[0]) / 2, (pointer.now[1] + other[1]) / 2));
  }

  up(event) {
    const pointer = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    if (!pointer) return;
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    const line = this.line;
    this.draw(null);
    if (this.dragged) {
      if (line && line.length > 2) this.told.drawn(line.map((p) => this.world(...p)), event.ctrlKey || event.metaKey);
      return;
    }
    const hit = this.data.hit(...this.world(...pointer.now), this.data.level(this.view.scale));
    if (hit >= 0) this.told.click(hit, more || this.lasso);
  }

  // The line of the lasso, in pixels; null takes it away.
  draw(line) {
    this.line = line;
    this.path.setAttribute("points", (line || []).map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" "));
  }

  close() {
    this.closed = true;
    clearTimeout(this.still);
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.travelling);
    this.watching.disconnect();
    this.pages.close();
    this.canvas.remove();
  }
}
