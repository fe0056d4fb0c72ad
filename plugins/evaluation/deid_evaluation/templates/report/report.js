"use strict";
// Filters the errors of this page and keeps the causes that a reviewer ticks. Values are set as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = Object.fromEntries(data.columns.map((name, place) => [name, place]));
  const get = (row, name) => row[at[name]];
  const PAGE = 50;
  const WORDS = { missed: "missed", boundary: "boundaries", label: "category", spurious: "spurious" };
  const causes = new Map(data.rows.map((row) => [get(row, "id"), new Set(get(row, "causes") || [])]));
  const chosen = {};
  let start = 0;
  let unsaved = 0;

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const distinct = (values) => [...new Set(values.filter((value) => value !== null && value !== undefined))].sort();
  const by = data.columns.filter((name) => name.startsWith("by:"));
  const FILTERS = [
    ["system", "System", (row) => [get(row, "system")]],
    ["kind", "Error", (row) => [get(row, "kind")]],
    ["label", "Category", (row) => [get(row, "label"), get(row, "predicted")]],
    ["whose", "Name of", (row) => [get(row, "whose")]],
    ["source", "Detector", (row) => get(row, "sources") || []],
    ...by.map((name) => [name, name.slice(3), (row) => [get(row, name)]]),
    ["left", "Leaves text", (row) => [get(row, "left") ? "yes" : "no"]],
    ["cause", "Cause", (row) => [...(causes.get(get(row, "id")).size ? causes.get(get(row, "id")) : ["none yet"])]],
  ];

  const form = document.getElementById("filters");
  for (const [key, words, values] of FILTERS) {
    const options = key === "cause" ? ["none yet", ...Object.keys(data.causes)] : distinct(data.rows.flatMap(values));
    if (options.length < 2) continue;
    const label = element("label", words);
    const select = element("select");
    select.name = key;
    select.append(new Option("all", ""));
    for (const option of options) select.append(new Option(key === "kind" ? WORDS[option] : option, option));
    select.addEventListener("change", () => { chosen[key] = select.value; start = 0; show(); });
    label.append(select);
    form.append(label);
  }
  const label = element("label", "Note id holds");
  const search = element("input");
  search.type = "search";
  search.name = "note";
  search.addEventListener("input", () => { chosen.note = search.value; start = 0; show(); });
  label.append(search);
  form.append(label);
  form.addEventListener("submit", (event) => event.preventDefault());

  const passing = () => data.rows.filter((row) =>
    (!chosen.note || get(row, "note").includes(chosen.note)) &&
    FILTERS.every(([key, , values]) => !chosen[key] || values(row).includes(chosen[key])));

  const total = () => {
    let sum = 0;
    for (const [system, kinds] of Object.entries(data.totals))
      for (const [kind, count] of Object.entries(kinds))
        if ((!chosen.system || chosen.system === system) && (!chosen.kind || chosen.kind === kind)) sum += count;
    return sum;
  };

  const where = (row) => {
    const cell = element("td", `${get(row, "start")}–${get(row, "end")}`, "nowrap");
    const moved = get(row, "pred_start") !== null && get(row, "pred_start") !== undefined &&
      (get(row, "pred_start") !== get(row, "start") || get(row, "pred_end") !== get(row, "end"));
    if (moved) cell.append(element("span", `as ${get(row, "pred_start")}–${get(row, "pred_end")}`, "sub"));
    return cell;
  };
  const looks = (row) => {
    const cell = element("td");
    if (typeof get(row, "text") === "string") {
      const context = element("span", null, "context");
      context.append(get(row, "before"), element("mark", get(row, "text")), get(row, "after"));
      cell.append(context);
    } else {
      cell.append(element("code", get(row, "shape")), " ", element("span", `${get(row, "length")} ch.`, "sub-in"));
    }
    return cell;
  };
  const boxes = (row) => {
    const cell = element("td", null, "nowrap");
    const given = causes.get(get(row, "id"));
    for (const [cause, words] of Object.entries(data.causes)) {
      const wrapper = element("label", null, "cause");
      wrapper.title = words;
      const box = element("input");
      box.type = "checkbox";
      box.checked = given.has(cause);
      box.addEventListener("change", () => {
        if (box.checked) given.add(cause); else given.delete(cause);
        unsaved += 1;
        document.getElementById("unsaved").textContent = "Causes are not saved yet.";
      });
      wrapper.append(box, cause);
      cell.append(wrapper);
    }
    return cell;
  };

  const head = document.querySelector("#rows thead");
  const several = Object.keys(data.totals).length > 1;
  const headings = ["Note", ...(several ? ["System"] : []), "Error", "Annotated", "Predicted", "Place",
    data.rows.some((row) => typeof get(row, "text") === "string") ? "Text" : "Shape", "Left", "Causes"];
  const line = element("tr");
  for (const heading of headings) {
    const cell = element("th", heading, heading === "Left" ? "n" : "");
    cell.scope = "col";
    line.append(cell);
  }
  head.append(line);

  const show = () => {
    const rows = passing();
    start = Math.max(0, Math.min(start, rows.length - 1));
    const body = document.querySelector("#rows tbody");
    body.replaceChildren(...rows.slice(start, start + PAGE).map((row) => {
      const made = element("tr");
      const note = element("th", get(row, "note"));
      note.scope = "row";
      const predicted = element("td", get(row, "predicted"));
      if (typeof get(row, "score") === "number") {
        const by = (get(row, "sources") || []).join(", ");
        predicted.append(element("span", `${by} ${get(row, "score").toFixed(2)}`, "sub"));
      }
      made.append(note, ...(several ? [element("td", get(row, "system"))] : []), element("td", WORDS[get(row, "kind")]),
        element("td", [get(row, "label"), get(row, "whose")].filter(Boolean).join(" ")), predicted, where(row), looks(row),
        element("td", get(row, "left") || "", "n"), boxes(row));
      return made;
    }));
    const all = total();
    const listed = data.rows.filter((row) => (!chosen.system || chosen.system === get(row, "system")) &&
      (!chosen.kind || chosen.kind === get(row, "kind"))).length;
    document.getElementById("count").textContent = `${rows.length} errors pass the filters` +
      (listed < all ? `; ${all - listed} more were counted and are not listed: of every kind and category a sample is kept.` : ".");
    const last = Math.min(rows.length, start + PAGE);
    document.getElementById("page").textContent = rows.length ? `${start + 1} to ${last} of ${rows.length}` : "none";
    document.getElementById("back").disabled = start === 0;
    document.getElementById("next").disabled = last >= rows.length;
  };
  document.getElementById("back").addEventListener("click", () => { start -= PAGE; show(); });
  document.getElementById("next").addEventListener("click", () => { start += PAGE; show(); });

  const tagged = () => data.rows.filter((row) => causes.get(get(row, "id")).size).map((row) => ({
    id: get(row, "id"), system: get(row, "system"), kind: get(row, "kind"), note: get(row, "note"),
    start: get(row, "start"), end: get(row, "end"), label: get(row, "label") || get(row, "predicted"),
    causes: [...causes.get(get(row, "id"))].sort(),
  }));
  const save = (name, type, text) => {
    const link = element("a");
    const address = URL.createObjectURL(new Blob([text], { type }));
    link.href = address;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    unsaved = 0;
    document.getElementById("unsaved").textContent = `${tagged().length} errors with causes saved as ${name}.`;
  };
  const quoted = (value) => {
    const text = Array.isArray(value) ? value.join(";") : String(value ?? "");
    return `"${(/^[=+\-@\t\r]/.test(text) ? "'" : "") + text.replaceAll('"', '""')}"`;
  };
  document.getElementById("save-json").addEventListener("click", () =>
    save("causes.json", "application/json", JSON.stringify({ ...data.export, causes: tagged() }, null, 1)));
  document.getElementById("save-csv").addEventListener("click", () => {
    const names = ["id", "system", "kind", "note", "start", "end", "label", "causes"];
    const lines = tagged().map((entry) => names.map((name) => quoted(entry[name])).join(","));
    save("causes.csv", "text/csv", [names.join(","), ...lines].join("\n") + "\n");
  });
  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

  if (data.rows.length) {
    document.getElementById("browser").hidden = false;
    document.getElementById("static").hidden = true;
    show();
  }
})();
