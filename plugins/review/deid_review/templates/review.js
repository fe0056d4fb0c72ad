"use strict";
// Reads keys, asks the server, and shows what it answers. Offsets come from the server.
const main = document.getElementById("main");
const keys = document.getElementById("keys");
const state = { mark: 0, set: 0, asked: null, jumping: false, cursor: null, typed: "", busy: 0 };
let line = Promise.resolve();
const note = () => document.getElementById("note");
const marks = () => [...main.querySelectorAll("mark")];
const words = () => [...main.querySelectorAll(".w")];
const current = () => marks().find((one) => Number(one.dataset.mark) === state.mark) || null;

function choose(mark) {
  for (const one of marks()) one.classList.toggle("current", one === mark);
  state.mark = mark ? Number(mark.dataset.mark) : 0;
  for (const panel of main.querySelectorAll(".panel")) {
    panel.hidden = Number(panel.dataset.for) !== state.mark;
  }
  if (mark) mark.scrollIntoView({ block: "nearest" });
}

function say(line, asks = false) {
  const said = document.getElementById("said");
  said.textContent = line;
  said.className = asks ? "said asks" : "said";
}

function nextPending(after, label) {
  const every = marks();
  const at = after ? every.indexOf(after) : -1;
  const round = [...every.slice(at + 1), ...every.slice(0, at + 1)];
  return round.find((one) => one.dataset.status === "pending" && (!label || one.dataset.label === label));
}

function shown(before) {
  leaveCursor();
  const focus = Number(note().dataset.focus);
  const wanted = focus ? marks().find((one) => Number(one.dataset.mark) === focus) : null;
  const old = marks().find((one) => Number(one.dataset.mark) === before) || null;
  choose(wanted || nextPending(old) || old || marks()[0] || null);
  showSet(state.set);
}

const DECIDES = new Set(["accept", "reject", "leave", "relabel"]);

// A key that decides shows the next pending mark at once; what the server answers takes its place.
// Keys that come meanwhile wait in line, and are dropped where an answer asks or refuses.
function press(action, more = {}) {
  const before = state.mark;
  const again = state.asked;
  const sure = Boolean(more.sure) || (again !== null && again.action === action && again.mark === before);
  state.asked = null;
  state.busy += 1;
  if (DECIDES.has(action) && current()) {
    const decided = current();
    const next = nextPending(decided);
    decided.dataset.status = "sent";
    if (next && next !== decided) choose(next);
  }
  const turn = line.then(() => ask(action, before, { ...more, sure }));
  line = turn.catch(() => {});
}

async function ask(action, before, more) {
  if (state.dropped) { state.busy -= 1; if (!state.busy) state.dropped = false; return; }
  const wanted = { action, mark: before, ...more, seen: Number(note().dataset.seen) };
  const adjudicate = note().dataset.adjudicate === "1" ? "?adjudicate=1" : "";
  try {
    const answer = await fetch(`/note/${note().dataset.place}${adjudicate}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted) });
    const told = await answer.json();
    if (told.go) { location.assign(told.go); return; }
    if (!answer.ok) { failed(before, `${told.detail}; ${told.remedy}`); return; }
    const isLast = state.busy === 1;
    const chosen = state.mark;
    main.innerHTML = told.main;
    const isHeld = note().dataset.asks === "1" || Number(note().dataset.focus) !== 0;
    if (isLast || isHeld) shown(before);
    else choose(marks().find((one) => Number(one.dataset.mark) === chosen) || null);
    showSet(state.set);
    if (note().dataset.asks === "1") {
      state.asked = { action, mark: before };
      state.dropped = !isLast;
    }
  } catch {
    failed(before, "The server does not answer: nothing of this key was stored. Start deid review again and reload.");
  } finally {
    state.busy -= 1;
    if (!state.busy) state.dropped = false;
  }
}

function failed(before, why) {
  for (const one of marks()) if (one.dataset.status === "sent") one.dataset.status = "pending";
  choose(marks().find((one) => Number(one.dataset.mark) === before) || null);
  say(why, true);
  state.dropped = state.busy > 1;
}

function showSet(number) {
  state.set = number;
  for (const one of main.querySelectorAll(".label")) one.hidden = Number(one.dataset.set) !== number;
}

function labelOf(digit) {
  const found = main.querySelector(`.label[data-set="${state.set}"][data-digit="${digit}"]`);
  return found ? found.dataset.label : "";
}

function leaveCursor() {
  state.cursor = null;
  state.typed = "";
  for (const one of words()) one.classList.remove("cursor");
}

function showCursor() {
  const every = words();
  const [from, to] = [Math.min(state.cursor.from, state.cursor.to), Math.max(state.cursor.from, state.cursor.to)];
  every.forEach((one, at) => one.classList.toggle("cursor", at >= from && at <= to));
  if (every[state.cursor.to]) every[state.cursor.to].scrollIntoView({ block: "nearest" });
  return [every[from], every[to]];
}

function beginCursor() {
  const every = words();
  if (!every.length) { say("there is no word outside of a mark"); return; }
  const mark = current();
  const after = mark ? every.findIndex((one) => mark.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) : 0;
  const at = Math.max(0, after);
  state.cursor = { from: at, to: at };
  showCursor();
  say("Add: type the word's first letters, Tab for the next such word or number, or use arrows, Shift and arrows for more words, a digit for the category; Esc leaves.");
}

function search(letter) {
  const every = words();
  const wanted = (state.typed + letter).toLowerCase();
  const at = state.typed && letter ? state.cursor.to : state.cursor.to + 1;
  const round = [...every.keys()].map((one) => (at + one) % every.length);
  const found = round.find((one) => every[one].textContent.toLowerCase().startsWith(wanted));
  if (found === undefined) { say(`no word outside of a mark begins with ${wanted}`); return; }
  state.typed = wanted;
  state.cursor = { from: found, to: found };
  showCursor();
}

// The next word that begins as what was typed, or with a digit where nothing was typed.
function searchOn() {
  if (state.typed) { search(""); return; }
  const every = words();
  const round = [...every.keys()].map((one) => (state.cursor.to + 1 + one) % every.length);
  const found = round.find((one) => /^\p{Nd}/u.test(every[one].textContent));
  if (found === undefined) { say("no number stands outside of a mark"); return; }
  state.cursor = { from: found, to: found };
  showCursor();
}

function moveCursor(by, extend) {
  state.typed = "";
  const last = words().length - 1;
  const to = Math.max(0, Math.min(last, state.cursor.to + by));
  state.cursor = { from: extend ? state.cursor.from : to, to };
  showCursor();
}

function lineCursor(by, extend) {
  const every = words();
  const here = every[state.cursor.to].getBoundingClientRect();
  let best = state.cursor.to;
  let least = Infinity;
  every.forEach((one, at) => {
    const box = one.getBoundingClientRect();
    const down = (box.top - here.top) * by;
    if (down < here.height / 2) return;
    const far = down * 10 + Math.abs(box.left - here.left);
    if (far < least) { least = far; best = at; }
  });
  moveCursor(best - state.cursor.to, extend);
}

function selected() {
  const chosen = window.getSelection();
  if (!chosen || chosen.isCollapsed) return null;
  const every = words().filter((one) => chosen.containsNode(one, true));
  return every.length ? [every[0], every[every.length - 1]] : null;
}

function addTo(label) {
  const ends = state.cursor ? showCursor() : selected();
  if (!ends) return false;
  press("add", { mark: 0, start: Number(ends[0].dataset.start), end: Number(ends[1].dataset.end), label });
  return true;
}

function onDigit(digit) {
  if (digit === 0) {
    const sets = new Set([...main.querySelectorAll(".label")].map((one) => one.dataset.set)).size;
    showSet((state.set + 1) % sets);
    return;
  }
  const label = labelOf(digit);
  if (!label) return;
  if (state.jumping) { state.jumping = false; jump(label); return; }
  if (!addTo(label)) press("relabel", { label });
}

function jump(label) {
  const found = nextPending(current(), label);
  if (found) { choose(found); say(""); } else say(`no ${label} is pending in this note`);
}

function step(by) {
  const every = marks();
  if (!every.length) return;
  const at = current() ? every.indexOf(current()) : (by > 0 ? -1 : 0);
  choose(every[(at + by + every.length) % every.length]);
}

const plain = {
  x: () => press("reject"), r: () => press("accept-rest"), i: () => press("remember-all"), l: () => press("leave"), a: () => press("accept-all"), d: () => press("reject-all"),
  c: () => press("confirm"), u: () => press("undo"), n: () => location.assign(`/next?after=${note().dataset.place}`),
  m: beginCursor, f: () => { state.jumping = true; say("Go to the next pending mark of which category? A digit."); },
  "?": () => keys.showModal(),
};

function onEnter() {
  const asked = state.asked;
  if (asked && asked.action.endsWith("-all")) press(asked.action, { sure: true });
  else press("accept");
}

const FINE = { "]": ["end-character", 1], "[": ["end-character", -1], "{": ["start-character", 1], "}": ["start-character", -1] };

function onArrow(event) {
  const by = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1;
  const sideways = event.key === "ArrowRight" || event.key === "ArrowLeft";
  if (state.cursor) {
    if (sideways) moveCursor(by, event.shiftKey); else lineCursor(by, event.shiftKey);
  } else if (sideways) {
    press("move", event.shiftKey ? { edge: "start", by: -by } : { edge: "end", by });
  } else return;
  event.preventDefault();
}

function escape() {
  state.asked = null;
  state.jumping = false;
  leaveCursor();
  say("");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  if (event.key.startsWith("Arrow")) { onArrow(event); return; }
  if (event.target instanceof HTMLButtonElement && event.key === "Enter") return;
  if (event.target instanceof HTMLAnchorElement && event.key === "Enter") return;
  if (/^[0-9]$/.test(event.key)) { event.preventDefault(); onDigit(Number(event.key)); return; }
  if (event.key === "Tab" && state.cursor && !event.shiftKey) { event.preventDefault(); searchOn(); return; }
  if (event.key === "Tab") { event.preventDefault(); step(event.shiftKey ? -1 : 1); return; }
  if (event.key === "Enter") { event.preventDefault(); onEnter(); return; }
  if (event.key === "Escape") { event.preventDefault(); escape(); return; }
  if (state.cursor && /^\p{L}$/u.test(event.key)) { event.preventDefault(); search(event.key); return; }
  if (FINE[event.key]) { event.preventDefault(); press("move", { edge: FINE[event.key][0], by: FINE[event.key][1] }); return; }
  const action = plain[event.key];
  if (action) { event.preventDefault(); action(); }
});

main.addEventListener("click", (event) => {
  const mark = event.target.closest("mark");
  if (mark) choose(mark);
  const count = event.target.closest(".count");
  if (count) { jump(count.dataset.jump); count.blur(); }
  const label = event.target.closest(".label");
  if (label) { onDigit(Number(label.dataset.digit)); label.blur(); }
});

shown(0);
