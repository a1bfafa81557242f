// Keys press what stands on the page: every button works without this script.
"use strict";
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape" && typing) return typing.blur();
  if (typing) return;
  if (event.key === "/") {
    const search = document.querySelector("#q, input[name=reason]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
    return;
  }
  const wanted = [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === event.key.toLowerCase());
  if (wanted && !event.repeat) {
    event.preventDefault();
    wanted.click();
  }
});
// a decision is sent once, however often it is pressed
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
