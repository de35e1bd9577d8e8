// The map drawn with the browser's plain canvas.
export function canvasPainter(canvas, pages) {
  const context = canvas.getContext("2d");
  const colour = (name) => getComputedStyle(canvas).getPropertyValue(name);
  return {
    resize(width, height, ratio) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
    },
    draw({ view, wide, width, height, items, density, shade, picked }) {
      context.clearRect(0, 0, width, height);
      const left = width / 2 - view.x * view.scale;
      const top = height / 2 - view.y * view.scale;
      if (shade > 0) {
        context.globalAlpha = shade;
        context.drawImage(density, left, top, view.scale * wide, view.scale);
        context.globalAlpha = 1;
      }
      const paper = colour("--line");
      const accent = colour("--accent");
      const { tile } = pages.about;
      for (const { i, x, y, side } of items) {
        const size = side * view.scale;
        const at = [left + x * view.scale - size / 2, top + y * view.scale - size / 2];
        if (picked(i)) {
          context.fillStyle = accent;
          context.fillRect(at[0] - 3, at[1] - 3, size + 6, size + 6);
        }
        const bitmap = pages.get(pages.pageOf(i));
        if (bitmap) {
          const [sx, sy] = pages.corner(i);
          context.drawImage(bitmap, sx, sy, tile, tile, at[0], at[1], size, size);
        } else {
          context.fillStyle = paper;
          context.fillRect(at[0], at[1], size, size);
        }
      }
    },
  };
}
