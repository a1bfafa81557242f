// Searches the index in this page; without it the pages of items stay as they are.
"use strict";
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const rows = JSON.parse(document.getElementById("index").textContent)
  .map(([id, place, shown, text, domain, state]) => ({ id, place, shown, domain, state, text: plain(`${id} ${text}`) }));
const [form, list, said] = ["search", "hits", "said"].map((id) => document.getElementById(id));
const MOST = 100;
// a word is found where a word begins; scripts without blanks between words are found anywhere
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const pattern = (word) => new RegExp((UNSPACED.test(word) ? "" : "(?<![\\p{L}\\p{N}])")
  + word.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&"), "u");
const find = () => {
  const { q, domain, state } = form.elements;
  const words = plain(q.value).split(/\s+/).filter(Boolean).map(pattern);
  const found = rows.filter((row) => (!domain.value || row.domain === domain.value)
    && (!state.value || row.state === state.value) && words.every((word) => word.test(row.text)));
  said.textContent = `${found.length.toLocaleString("en")} ${found.length === 1 ? "item" : "items"}`
    + (found.length > MOST ? `, the first ${MOST} are shown` : "");
  list.replaceChildren(...found.slice(0, MOST).map((row) => {
    const line = document.createElement("li"), link = document.createElement("a");
    const text = document.createElement("span"), state = document.createElement("span");
    link.href = row.place;
    link.textContent = row.id;
    text.dir = "auto";
    text.className = "line";
    text.textContent = row.shown;
    state.className = "soft";
    state.textContent = row.state;
    line.append(link, " ", text, " ", state);
    return line;
  }));
};
form.elements.q.value = new URLSearchParams(location.search).get("q") ?? "";
form.addEventListener("input", find);
form.addEventListener("submit", (event) => { event.preventDefault(); find(); });
find();
