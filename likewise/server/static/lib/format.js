// Numbers and times as people read them.
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
