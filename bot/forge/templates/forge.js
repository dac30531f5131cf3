// Keeps what is marked `live` as the server has it, without losing the reader's place, text or open details.
"use strict";

const EVERY = 1500; // milliseconds
let shown = document.getElementById("live")?.innerHTML;

async function refresh() {
  const live = document.getElementById("live");
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!live || !answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("live");
  if (!fresh || fresh.innerHTML === shown) return;
  shown = fresh.innerHTML;
  const before = [...live.querySelectorAll("details")];
  [...fresh.querySelectorAll("details")].forEach((element, index) => {
    if (before[index] && before[index].open) element.open = true;
  });
  live.replaceChildren(...fresh.childNodes);
}

async function follow() {
  try {
    if (!document.hidden) await refresh();
  } catch {
    // The server is away; the next round asks again.
  }
  setTimeout(follow, EVERY);
}

setTimeout(follow, EVERY);
