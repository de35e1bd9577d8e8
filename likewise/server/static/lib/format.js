// Numbers, times and sizes as people read them.
export const count = (n) => n.toLocaleString("en-GB");
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "";
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export function ago(time) {
  const seconds = Date.now() / 1000 - time;
  return seconds < 60 ? "just now" : `${duration(seconds)} ago`;
}

// 2019-07-14T10:11:12, as cameras write it, is 14 July 2019, 10:11; there is no time zone in it.
export function when(taken) {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d))?/.exec(taken || "");
  if (!found) return taken || "";
  const day = new Date(Date.UTC(found[1], found[2] - 1, found[3]))
    .toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  return found[4] ? `${day}, ${found[4]}` : day;
}

export const bytes = (n) => (n < 1e6 ? `${Math.max(1, Math.round(n / 1e3))} KB` : `${(n / 1e6).toFixed(1)} MB`);
export const folderOf = (path) => path.split("/").slice(0, -1).join(" / ");
