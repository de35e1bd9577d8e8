// The map drawn by PixiJS with WebGL.  Moving about changes one transform; pictures are touched
// only when they come into view, leave it, change their size or are selected.
let loading = null;

const script = (src) => new Promise((loaded, failed) => {
  document.head.append(Object.assign(document.createElement("script"), { src, onload: loaded, onerror: failed }));
});

// The second file replaces the parts of the first that would make code from text, which the
// page's policy rightly forbids.
const library = () => {
  loading ||= script("/static/vendor/pixi.min.js").then(() => script("/static/vendor/pixi-unsafe-eval.min.js"));
  return loading;
};

export async function pixiPainter(canvas, pages, { lost }) {
  await library();
  const PIXI = globalThis.PIXI;
  const renderer = new PIXI.WebGLRenderer();
  await renderer.init({
    canvas, width: 8, height: 8, backgroundAlpha: 0, antialias: false, preserveDrawingBuffer: false,
    eventMode: "none", eventFeatures: { move: false, globalMove: false, click: false, wheel: false },
    accessibilityOptions: { enabledByDefault: false, activateOnTab: false },
  });
  canvas.addEventListener("webglcontextlost", lost);
  return new Painter(PIXI, renderer, canvas, pages, lost);
}

class Painter {
  constructor(PIXI, renderer, canvas, pages, lost) {
    Object.assign(this, { PIXI, renderer, canvas, pages, lost, kind: "webgl" });
    this.stage = new PIXI.Container();
    this.ground = new PIXI.Sprite(PIXI.Texture.EMPTY);
    this.frames = new PIXI.Container();
    this.pictures = new PIXI.Container();
    this.stage.addChild(this.ground, this.frames, this.pictures);
    this.sprites = new Map(); // item -> its sprite
    this.marks = new Map(); // item -> the frame behind it, where it is selected
    this.sources = new Map(); // page -> { source, textures }
    this.shade = null;
  }

  resize(width, height, ratio) {
    this.renderer.resize(width, height, ratio);
  }

  texture(i) {
    const { PIXI, pages } = this;
    const page = pages.pageOf(i);
    const bitmap = pages.get(page);
    if (!bitmap) return PIXI.Texture.WHITE;
    if (!this.sources.has(page)) {
      this.sources.set(page, { source: new PIXI.ImageSource({ resource: bitmap, autoGarbageCollect: false }), textures: new Map() });
    }
    const { source, textures } = this.sources.get(page);
    if (!textures.has(i)) {
      const [left, top] = pages.corner(i);
      const side = pages.about.tile - 1; // half a pixel in, so that neighbours do not shine through
      textures.set(i, new PIXI.Texture({ source, frame: new PIXI.Rectangle(left + 0.5, top + 0.5, side, side) }));
    }
    return textures.get(i);
  }

  // A page has come: its pictures take the place of their grey squares.
  changed(page) {
    for (const [i, sprite] of this.sprites) if (this.pages.pageOf(i) === page) this.dress(i, sprite);
  }

  dropped(page) {
    const gone = this.sources.get(page);
    if (!gone) return;
    for (const [i, sprite] of this.sprites) {
      if (this.pages.pageOf(i) === page) { sprite.texture = this.PIXI.Texture.WHITE; sprite.dressed = false; }
    }
    this.sources.delete(page);
    for (const texture of gone.textures.values()) texture.destroy(false);
    gone.source.destroy();
  }

  dress(i, sprite) {
    const ready = !!this.pages.get(this.pages.pageOf(i));
    sprite.texture = this.texture(i);
    sprite.tint = ready ? 0xffffff : 0x8a8a8a;
    sprite.alpha = ready ? 1 : 0.35;
    sprite.dressed = ready;
  }

  draw({ view, wide, width, height, items, density, shade, picked }) {
    const left = width / 2 - view.x * view.scale;
    const top = height / 2 - view.y * view.scale;
    // Shares of the map are tiny numbers; a thousand of them to a unit keeps digits on the way.
    for (const layer of [this.frames, this.pictures]) {
      layer.position.set(left, top);
      layer.scale.set(view.scale / 1000);
    }
    this.backdrop(density, shade, left, top, view.scale, wide);
    const seen = new Set();
    const edge = (3 / view.scale) * 1000;
    for (const { i, x, y, side } of items) {
      seen.add(i);
      let sprite = this.sprites.get(i);
      if (!sprite) {
        sprite = new this.PIXI.Sprite(this.PIXI.Texture.WHITE);
        sprite.anchor.set(0.5);
        this.dress(i, sprite);
        this.sprites.set(i, sprite);
        this.pictures.addChild(sprite);
      } else if (!sprite.dressed && this.pages.get(this.pages.pageOf(i))) {
        this.dress(i, sprite);
      }
      place(sprite, 1000 * x, 1000 * y, 1000 * side);
      this.mark(i, picked(i), 1000 * x, 1000 * y, 1000 * side + 2 * edge);
    }
    for (const [i, sprite] of this.sprites) {
      if (seen.has(i)) continue;
      this.sprites.delete(i);
      sprite.destroy();
      this.mark(i, false);
    }
    this.renderer.render(this.stage);
  }

  mark(i, wanted, x, y, size) {
    let frame = this.marks.get(i);
    if (!wanted) {
      if (frame) { this.marks.delete(i); frame.destroy(); }
      return;
    }
    if (!frame) {
      frame = new this.PIXI.Sprite(this.PIXI.Texture.WHITE);
      frame.anchor.set(0.5);
      this.marks.set(i, frame);
      this.frames.addChild(frame);
    }
    frame.tint = getComputedStyle(this.canvas).getPropertyValue("--accent").trim();
    place(frame, x, y, size);
  }

  backdrop(density, shade, left, top, scale, wide) {
    if (this.shade !== density) {
      if (this.shade) this.ground.texture.destroy(true);
      this.shade = density;
      this.ground.texture = new this.PIXI.Texture({ source: new this.PIXI.ImageSource({ resource: density, autoGarbageCollect: false }) });
    }
    this.ground.visible = shade > 0;
    this.ground.alpha = shade;
    this.ground.position.set(left, top);
    this.ground.setSize(scale * wide, scale);
  }

  close() {
    this.canvas.removeEventListener("webglcontextlost", this.lost);
    for (const page of [...this.sources.keys()]) this.dropped(page);
    this.stage.destroy({ children: true });
    this.renderer.destroy();
  }
}

function place(sprite, x, y, size) {
  if (sprite.x !== x || sprite.y !== y) sprite.position.set(x, y);
  if (sprite.size !== size || sprite.sized !== sprite.texture) {
    sprite.setSize(size, size);
    sprite.size = size;
    sprite.sized = sprite.texture;
  }
}
