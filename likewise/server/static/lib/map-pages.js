// Pages of small pictures: those in view are fetched, a few at a time; the latest are kept.
const AT_ONCE = 4;
const KEPT = 40;

export class Pages {
  // changed(): another page can be drawn now.
  constructor(about, changed) {
    Object.assign(this, { about, changed, held: new Map(), failed: new Map(), asked: new Set(), wanted: [], stop: new AbortController() });
  }

  pageOf(i) {
    return Math.floor(i / this.about.on_page);
  }

  // Left and top of an item's picture on its page.
  corner(i) {
    const at = i % this.about.on_page;
    return [(at % this.about.across) * this.about.tile, Math.floor(at / this.about.across) * this.about.tile];
  }

  get(page) {
    return this.held.get(page) || null;
  }

  // What is in view now, the most important first; what was wanted before no longer is.
  want(pages) {
    for (const page of pages) {
      const bitmap = this.held.get(page);
      if (bitmap) { this.held.delete(page); this.held.set(page, bitmap); }
    }
    const tooOften = (page) => (this.failed.get(page) || 0) >= 3;
    this.wanted = pages.filter((page) => !this.held.has(page) && !this.asked.has(page) && !tooOften(page));
    this.needed = new Set(pages);
    this.next();
  }

  next() {
    while (this.asked.size < AT_ONCE && this.wanted.length) this.fetch(this.wanted.shift());
  }

  async fetch(page) {
    this.asked.add(page);
    try {
      const answer = await fetch(this.about.pages[page], { credentials: "same-origin", signal: this.stop.signal });
      if (!answer.ok) throw new Error(String(answer.status));
      const bitmap = await createImageBitmap(await answer.blob());
      if (this.stop.signal.aborted) { bitmap.close(); return; }
      this.held.set(page, bitmap);
      this.trim();
      this.changed();
    } catch {
      this.failed.set(page, (this.failed.get(page) || 0) + 1);
    } finally {
      this.asked.delete(page);
      if (!this.stop.signal.aborted) this.next();
    }
  }

  trim() {
    for (const [page, bitmap] of this.held) {
      if (this.held.size <= KEPT) return;
      if (this.needed.has(page)) continue;
      this.held.delete(page);
      bitmap.close();
    }
  }

  close() {
    this.stop.abort();
    for (const bitmap of this.held.values()) bitmap.close();
    this.held.clear();
  }
}
