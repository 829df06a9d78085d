"use strict";
// Links the lines of the two sides.  A line is pointed at (hover), at (the place of the keyboard in a
// list) or chosen (by click or keyboard); a chosen line stays until Escape.
const all = [...document.querySelectorAll(".line")];
const lists = [...document.querySelectorAll(".lines")];
const told = document.getElementById("told");
const nothing = told.innerHTML;
let chosen = null;

all.forEach((line, place) => { line.id = `line-${place}`; });

function linked(line) {
  const key = line.dataset.key;
  return key ? all.filter((other) => other !== line && other.dataset.key === key) : [];
}

function mark(line) {
  for (const other of all) other.classList.remove("linked", "chosen", "here");
  if (!line) return;
  line.classList.add("chosen");
  for (const other of linked(line)) other.classList.add("linked");
}

function side(line) { return line.closest(".lines").dataset.side; }

function tell(line) {
  if (!line) { told.innerHTML = nothing; return; }
  const others = linked(line);
  const across = others.filter((other) => side(other) !== side(line));
  const text = document.createElement("p");
  const what = side(line) === "source" ? `Line ${line.dataset.number}` : "A generated line";
  const from = side(line) === "source"
    ? `: ${across.length} ${across.length === 1 ? "line" : "lines"} of the gradient`
    : across.length ? `, from line ${line.dataset.number} of the source` : ", from no line of the source";
  text.textContent = what + from;
  told.replaceChildren(text);
  const notes = (side(line) === "source" ? [line] : across).map((one) => one.querySelector("template"));
  steps(across);
  for (const note of notes) if (note) told.append(note.content.cloneNode(true));
}

// The lines of the other side that belong to the chosen line, sweep by sweep, each a button that shows it.
let stops = [];
let stop = -1;

function steps(lines) {
  stops = [];
  stop = -1;
  const list = document.createElement("dl");
  list.className = "steps";
  let sweep = null;
  let group = null;
  for (const line of lines) {
    const name = line.dataset.sweep ? `${line.dataset.sweep} sweep` : "source";
    if (name !== sweep) {
      sweep = name;
      const title = document.createElement("dt");
      title.textContent = name;
      group = document.createElement("dd");
      list.append(title, group);
    }
    const button = document.createElement("button");
    button.type = "button";
    const code = document.createElement("code");
    code.innerHTML = line.querySelector("code").innerHTML.trimStart();
    button.append(code);
    const place = stops.length;
    button.addEventListener("click", () => go(place));
    stops.push({ line, button });
    group.append(button);
  }
  if (stops.length) told.append(list);
}

function go(place) {
  if (!stops.length) return;
  if (stop >= 0) for (const one of Object.values(stops[stop])) one.classList.remove("here");
  stop = (place + stops.length) % stops.length;
  const { line, button } = stops[stop];
  line.classList.add("here");
  button.classList.add("here");
  line.scrollIntoView({ block: "nearest" });
  button.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (!chosen || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") go(stop + 1);
  else if (event.key === "p") go(stop < 0 ? -1 : stop - 1);
  else return;
  event.preventDefault();
});

function choose(line, scroll) {
  if (chosen) chosen.setAttribute("aria-selected", "false");
  chosen = line;
  mark(line);
  tell(line);
  if (!line) return;
  line.setAttribute("aria-selected", "true");
  if (!scroll) return;
  const across = linked(line).find((other) => side(other) !== side(line));
  if (across) across.scrollIntoView({ block: "nearest" });
}

function move(list, line) {
  for (const other of list.querySelectorAll(".at")) other.classList.remove("at");
  line.classList.add("at");
  list.setAttribute("aria-activedescendant", line.id);
  line.scrollIntoView({ block: "nearest" });
  choose(line, true);
}

for (const line of all) {
  line.addEventListener("mouseenter", () => { if (!chosen) { mark(line); tell(line); } });
  line.addEventListener("mouseleave", () => { if (!chosen) { mark(null); tell(null); } });
  line.addEventListener("click", () => {
    if (line === chosen) choose(null, false);
    else move(line.closest(".lines"), line);
  });
}

for (const list of lists) {
  const lines = [...list.querySelectorAll(".line")];
  list.addEventListener("keydown", (event) => {
    const at = lines.findIndex((line) => line.classList.contains("at"));
    const last = lines.length - 1;
    const places = {
      ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last,
      PageDown: Math.min(at + 15, last), PageUp: Math.max(at - 15, 0),
    };
    if (event.key in places) move(list, lines[places[event.key]]);
    else if (event.key === "Escape") choose(null, false);
    else if ((event.key === "Enter" || event.key === " ") && at >= 0) choose(lines[at] === chosen ? null : lines[at], true);
    else return;
    event.preventDefault();
  });
}
