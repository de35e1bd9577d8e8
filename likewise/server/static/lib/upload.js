// Pictures that a person brings: dropped, pasted or chosen; the server says whether they are any.
import { call } from "/static/lib/api.js";
import { go, staying } from "/static/lib/router.js";
import { likeUpload, toParams } from "/static/lib/query.js";
import { complain, say, unsay } from "/static/lib/toasts.js";

const MOST = 32 * 1024 * 1024;

export async function searchByFile(file) {
  if (file.size > MOST) {
    say("That file is larger than 32 MiB, the most that is taken; make it smaller.", { bad: true });
    return;
  }
  const working = say("Looking at your photo …", { lasting: 0 });
  const here = staying(); // who went elsewhere meanwhile is not fetched back
  try {
    const found = await call("/uploads", { raw: file });
    if (here()) go("/results", toParams(likeUpload(found.upload)));
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
  const take = (event, file) => { if (file) { event.preventDefault(); searchByFile(file); } };
  addEventListener("drop", (event) => { body.classList.remove("dropping"); take(event, pictureIn(event.dataTransfer)); });
  addEventListener("paste", (event) => take(event, pictureIn(event.clipboardData)));
}
