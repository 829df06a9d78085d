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
  for (const other of all) other.classList.remove("linked", "chosen");
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
  for (const note of notes) if (note) told.append(note.content.cloneNode(true));
}

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
