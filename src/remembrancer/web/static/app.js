// What a page cannot do by itself. Everything essential works without it.
"use strict";

// Forms without a button for what a choice does: with a script, choosing is enough.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-submit-on-change]");
  if (form) form.requestSubmit();
});

// Copy what an element holds: data-copy names it.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const said = button.querySelector("[data-said]") || button;
  const before = said.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    said.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    said.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => { said.textContent = before; }, 2000);
});

// What is wider than the screen is shown from where one is.
for (const place of document.querySelectorAll("nav [aria-current]")) {
  const bar = place.parentElement;
  bar.scrollLeft = place.offsetLeft - (bar.clientWidth - place.offsetWidth) / 2;
}
for (const picture of document.querySelectorAll(".graph")) {
  picture.scrollLeft = (picture.scrollWidth - picture.clientWidth) / 2;
}

// In a list, j and k go down and up, as in a mail program; / goes to the search field.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) { event.preventDefault(); search.focus(); }
    return;
  }
  if (event.key !== "j" && event.key !== "k") return;
  const stops = [...document.querySelectorAll("[data-stop]")];
  if (!stops.length) return;
  const here = stops.findIndex((one) => one === document.activeElement || one.closest("li")?.contains(document.activeElement));
  const next = event.key === "j" ? Math.min(here + 1, stops.length - 1) : Math.max(here - 1, 0);
  stops[next].focus();
  event.preventDefault();
});

// A request that no answer came to is said, too.
document.addEventListener("htmx:sendError", () => {
  const notices = document.getElementById("notices");
  if (!notices) return;
  const told = document.createElement("p");
  told.className = "notice bad";
  told.textContent = "The server does not answer. Nothing was changed; try again.";
  notices.replaceChildren(told);
});
