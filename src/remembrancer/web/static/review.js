// What waits, by keyboard; everything here can be done with the buttons as well.
"use strict";

(() => {
  const KEYS = "cersoxa";
  const waiting = () => document.getElementById("waiting");
  const ticks = () => [...document.querySelectorAll("#waiting [data-stop]")];
  let at = 0;

  function row() {
    const active = document.activeElement;
    return active && active.closest ? active.closest("#waiting li") : null;
  }

  // The box for all follows those of the rows, and they follow it.
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-all]");
    if (all) for (const one of ticks()) one.checked = all.checked;
    const box = document.querySelector("#waiting [data-all]");
    if (!box) return;
    const ticked = ticks().filter((one) => one.checked).length;
    box.checked = ticked > 0 && ticked === ticks().length;
    box.indeterminate = ticked > 0 && !box.checked;
  });

  function tick(boxes, checked) {
    for (const one of boxes) one.checked = checked;
    if (boxes.length) boxes[0].dispatchEvent(new Event("change", { bubbles: true }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !waiting()) return;
    if (event.key.length !== 1 || !KEYS.includes(event.key)) return;
    if (event.target.closest("textarea, select, input:not([type=checkbox])")) return;
    const boxes = ticks();
    const here = row();
    if (event.key === "a") {
      tick(boxes, !boxes.every((one) => one.checked));
    } else if (event.key === "x") {
      if (here) tick([here.querySelector("[data-stop]")], !here.querySelector("[data-stop]").checked);
    } else {
      const many = event.key !== "o" && boxes.some((one) => one.checked);
      const where = many ? document.querySelector("#waiting .bar") : here;
      const button = where && where.querySelector(`[data-key="${event.key}"]`);
      if (!button) return;
      at = here ? Math.max(boxes.indexOf(here.querySelector("[data-stop]")), 0) : 0;
      button.click();
    }
    event.preventDefault();
  });

  // After a decision the focus is where it was: on what has moved up, or on the last.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "waiting" && !event.target.querySelector?.("#waiting")) return;
    const boxes = ticks();
    if (boxes.length) boxes[Math.min(at, boxes.length - 1)].focus();
    else document.getElementById("main").focus();
  });
})();
