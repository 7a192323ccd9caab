// Small comforts; without this file every page still says everything.
"use strict";

// An evidence link opens the turn that holds its span.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target && target.closest("details");
  if (!fold) return;
  fold.open = true;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}
addEventListener("hashchange", reveal);
addEventListener("DOMContentLoaded", reveal);

// Empty fields are left out of the query: an empty filter means any.
for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
  });
}

// The list follows new conversations while it is in view and nobody is selecting text in it.
const live = document.getElementById("live");
async function follow() {
  if (document.hidden || String(getSelection())) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer || !answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
  if (fresh && fresh.innerHTML !== live.innerHTML && !live.contains(document.activeElement)) live.replaceChildren(...fresh.childNodes);
}
if (live) setInterval(follow, 5000);
