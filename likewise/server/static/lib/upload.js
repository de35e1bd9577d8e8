// Pictures that a person brings: dropped, pasted or chosen; the server says whether they are any.
import { call } from "/static/lib/api.js";
import { go } from "/static/lib/router.js";
import { likeUpload, toParams } from "/static/lib/query.js";
import { complain, say, unsay } from "/static/lib/toasts.js";

const MOST = 32 * 1024 * 1024;

export async function searchByFile(file) {
  if (file.size > MOST) {
    say("That file is larger than 32 MiB, the most that is taken; make it smaller.", { bad: true });
    return;
  }
  const working = say("Looking at your photo …", { lasting: 0 });
  try {
    const found = await call("/uploads", { raw: file });
    go("/results", toParams(likeUpload(found.upload)));
  } catch (error) {
    complain(error);
  } finally {
    unsay(working);
  }
}

const pictureIn = (transfer) =>
  [...(transfer?.files || [])].find((f) => f.type.startsWith("image/")) || transfer?.files?.[0];

export function takeDropsAndPastes() {
  const body = document.body;
  const over = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    body.classList.add("dropping");
  };
  addEventListener("dragenter", over);
  addEventListener("dragover", over);
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) body.classList.remove("dropping"); });
  addEventListener("drop", (event) => {
    body.classList.remove("dropping");
    const file = pictureIn(event.dataTransfer);
    if (!file) return;
    event.preventDefault();
    searchByFile(file);
  });
  addEventListener("paste", (event) => {
    const file = pictureIn(event.clipboardData);
    if (!file) return;
    event.preventDefault();
    searchByFile(file);
  });
}
