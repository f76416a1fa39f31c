// What a page cannot do by itself. Everything essential works without it.
"use strict";

// The texts below in the language of the page, which has those that differ.
const texts = JSON.parse(document.documentElement.dataset.texts || "{}");
const say = (text, values = {}) => (texts[text] || text).replace(/%\((\w+)\)s/g, (_, name) => values[name]);

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
    said.textContent = say("Copied");
  } catch {
    getSelection().selectAllChildren(source);
    said.textContent = say("Selected: press Ctrl+C");
  }
  setTimeout(() => { said.textContent = before; }, 2000);
});

// What is wider than the screen is shown from where one is.
for (const place of document.querySelectorAll("nav [aria-current]")) {
  const bar = place.parentElement;
  bar.scrollLeft = place.offsetLeft - (bar.clientWidth - place.offsetWidth) / 2;
}
// A bar with all of its links in view needs no menu of them.
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("cut", target.scrollWidth > target.clientWidth);
});
for (const bar of document.querySelectorAll("nav:has(.all)")) sizes.observe(bar);

// A notice goes when it is closed; Escape closes the toasts.
document.addEventListener("click", (event) => {
  event.target.closest("[data-dismiss]")?.closest(".notice").remove();
});

// After a part of the page was replaced, the focus is as near as can be to where it was.
const canFocus = "a[href], button:enabled, input:enabled, select, summary";
let trail = [];

function focusIn(id) {
  const place = document.getElementById(id);
  if (!place) return false;
  // A closed menu has its button.
  const menu = place.closest("[popover]:not(:popover-open)");
  const opener = menu && !menu.checkVisibility() && document.querySelector(`[popovertarget="${menu.id}"]`);
  const stops = [opener || place, ...place.querySelectorAll("[data-stop]"), ...place.querySelectorAll(canFocus)];
  const stop = stops.find((one) => one.matches(canFocus) && one.checkVisibility());
  if (stop) stop.focus();
  return Boolean(stop);
}

document.addEventListener("htmx:beforeRequest", (event) => {
  const from = document.activeElement;
  if (!from || from === document.body) return;
  const row = from.closest("li[id]");
  const near = [from, from.closest("[popover]"), row, row?.nextElementSibling, row?.previousElementSibling, event.detail.target];
  trail = near.map((one) => one?.id).filter(Boolean);
});

document.addEventListener("htmx:afterSettle", () => {
  const active = document.activeElement;
  if (!trail.length || (active && active !== document.body)) return;
  if (!trail.some(focusIn)) document.getElementById("main").focus();
});

// A person is chosen from a list that follows what is typed: arrows, Enter, Escape, a tap. Without
// a script the field is plain text, and the server asks whom it means.
for (const box of document.querySelectorAll("[data-picker]")) {
  const list = document.getElementById(`${box.dataset.picker}-choices`);
  const fields = box.form.elements;
  const options = () => [...list.querySelectorAll("[data-id]")];
  const marked = () => list.querySelector("[aria-selected=true]");
  const mark = (one) => {
    for (const other of options()) other.setAttribute("aria-selected", String(other === one));
    if (one) box.setAttribute("aria-activedescendant", one.id);
    else box.removeAttribute("aria-activedescendant");
    one?.scrollIntoView({ block: "nearest" });
  };
  const open = (isOpen) => {
    list.hidden = !isOpen;
    box.setAttribute("aria-expanded", String(isOpen));
    mark(null);
  };
  const choose = (one) => {
    box.value = fields.person_for.value = one.dataset.name;
    const chosen = fields[box.dataset.picker];
    // Of several people the server has made a list, which has no other values.
    if (chosen.tagName === "SELECT") chosen.add(new Option(one.dataset.name, one.dataset.id));
    chosen.value = one.dataset.id;
    open(false);
  };
  const step = (by) => {
    const all = options();
    if (list.hidden) open(true);
    if (all.length) mark(all[(all.indexOf(marked()) + by + all.length + (by < 0 && !marked())) % all.length]);
  };
  list.setAttribute("role", "listbox");
  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", list.id);
  box.setAttribute("aria-expanded", "false");
  box.addEventListener("input", () => {
    fields[box.dataset.picker].value = "";
    if (!box.value.trim()) open(false);
  });
  box.addEventListener("blur", () => open(false));
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const one = event.target.closest("[data-id]");
    if (one) choose(one);
  });
  list.addEventListener("htmx:afterSwap", () => {
    open(document.activeElement === box && box.value.trim() !== "" && !fields[box.dataset.picker].value);
  });
  box.addEventListener("keydown", (event) => {
    const one = marked();
    if (event.key === "ArrowDown" && list.children.length) step(1);
    else if (event.key === "ArrowUp" && list.children.length) step(-1);
    else if (event.key === "Enter" && !list.hidden && one) choose(one);
    else if (event.key === "Escape" && !list.hidden) open(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// A list by keyboard: j and k go down and up, x ticks, a letter presses the button that has it, of
// the bar if rows are ticked, else of the row. Everything here can be done with the buttons, too.
const list = () => document.querySelector("[data-list]");
const ticks = () => [...(list()?.querySelectorAll("[data-tick]") || [])];

document.addEventListener("change", (event) => {
  const all = event.target.closest("[data-all]");
  if (all) for (const one of ticks()) one.checked = all.checked;
  const ticked = ticks().filter((one) => one.checked).length;
  for (const box of document.querySelectorAll("[data-all]")) {
    box.checked = ticked > 0 && ticked === ticks().length;
    box.indeterminate = ticked > 0 && !box.checked;
  }
  for (const count of document.querySelectorAll("[data-ticked]")) count.textContent = ticked;
});

function tick(boxes, checked) {
  for (const one of boxes) one.checked = checked;
  if (boxes.length) boxes[0].dispatchEvent(new Event("change", { bubbles: true }));
}

function press(key, row) {
  const boxes = ticks();
  if (key === "a") tick(boxes, !boxes.every((one) => one.checked));
  else if (key === "u") document.querySelector("#notices form button")?.click();
  else if (key === "x" || key === " ") {
    const box = row?.querySelector("[data-tick]");
    if (!box) return false;
    tick([box], !box.checked);
  } else {
    const many = boxes.some((one) => one.checked) && list().querySelector(`.bar [data-key="${key}"]`);
    const button = many || row?.querySelector(`[data-key="${key}"]`);
    if (!button) return false;
    button.click();
  }
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") for (const one of document.querySelectorAll(".toasts .notice")) one.remove();
  if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  const active = document.activeElement;
  if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (!search) return;
    search.focus();
  } else if (event.key === "j" || event.key === "k") {
    const stops = [...document.querySelectorAll("[data-stop]")];
    if (!stops.length) return;
    const here = stops.findIndex((one) => one === active || one.closest("li")?.contains(active));
    stops[event.key === "j" ? Math.min(here + 1, stops.length - 1) : Math.max(here - 1, 0)].focus();
  } else {
    if (event.key.length !== 1 || !list()) return;
    // Space presses what has the focus; on a link it ticks the row.
    if (event.key === " " && !active.matches("a[data-stop]")) return;
    if (!press(event.key, active.closest("[data-list] li"))) return;
  }
  event.preventDefault();
});

// A slider over days fills the date that data-slides names, and a date moves its slider.
document.addEventListener("input", (event) => {
  const slider = event.target.closest("[data-slides]") || document.querySelector(`[data-slides="${event.target.id}"]`);
  const field = slider && document.getElementById(slider.dataset.slides);
  if (!field) return;
  const first = new Date(slider.dataset.first);
  if (event.target === slider) {
    first.setUTCDate(first.getUTCDate() + Number(slider.value));
    field.value = first.toISOString().slice(0, 10);
    field.dispatchEvent(new Event("slid", { bubbles: true }));
  } else slider.value = (new Date(field.value) - first) / 86400000;
  slider.setAttribute("aria-valuetext", field.value);
});

// A request that no answer came to is said, too.
document.addEventListener("htmx:sendError", () => {
  const notices = document.getElementById("notices");
  if (!notices) return;
  const told = document.createElement("p");
  told.className = "notice bad";
  told.textContent = say("The server does not answer. Nothing was changed; try again.");
  notices.replaceChildren(told);
});

// Pages of nobody in particular tell times in the time zone of the browser, from the second page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=strict`;

// Somebody new has the time zone of their browser, until they choose another.
for (const select of document.querySelectorAll("select[data-zone]")) {
  if ([...select.options].some((option) => option.value === zone)) select.value = zone;
}

// A file that is dropped on its form is chosen.
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    const form = event.target.closest?.("form[data-drop]");
    if (!form) return;
    event.preventDefault();
    form.classList.toggle("over", type === "dragover");
    if (type === "drop" && event.dataTransfer.files.length) form.querySelector("[type=file]").files = event.dataTransfer.files;
  });
}
