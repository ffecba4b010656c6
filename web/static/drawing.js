// The nodes of a run: how many of their instances are in which state, and how the drawing and the list show it. The
// server paints the page in the same way when it is loaded (drawing.go).

export const order = ["waiting", "running", "interrupted", "error", "timeout", "cancelled", "partial", "success", "skipped"];
const texts = { waiting: "Waiting", running: "Running", interrupted: "Interrupted", error: "Failed", timeout: "Timed out", cancelled: "Cancelled", partial: "Partly failed", success: "Success", skipped: "Skipped", "": "Not started" };
const some = (node, ...states) => states.reduce((sum, s) => sum + (node.counts.get(s) ?? 0), 0);

export const nodes = new Map(); // by place

function newNode(place, row) {
  const node = { place, row, counts: new Map(), past: new Map(), decided: new Set(), marks: [], inner: [], outer: [], out: [], starts: [], status: "" };
  nodes.set(place, node);
  return node;
}

// read reads the list and the drawing of the page, which may be new ones.
export function read() {
  nodes.clear();
  readRows();
  readDrawing();
  for (const line of document.querySelector("#run").dataset.decided.split("\n").filter(Boolean)) {
    const [place, branch] = line.split("\t");
    nodes.get(place)?.decided.add(branch);
  }
  for (const node of nodes.values()) node.status = statusOf(node);
}

const tallied = (text) => new Map((text?.split(", ") ?? []).map((tally) => [tally.split(" ")[0], Number(tally.split(" ")[1])]));

// What is in a loop or a for_each follows it in the list, and is deeper.
function readRows() {
  const around = [];
  for (const row of document.querySelectorAll("tr[data-place]")) {
    const node = newNode(row.dataset.place, row);
    node.counts = tallied(row.dataset.tally);
    node.past = tallied(row.dataset.past);
    node.choice = "choice" in row.dataset;
    node.each = "each" in row.dataset;
    const depth = Number(row.dataset.depth ?? 0);
    around.length = Math.min(around.length, depth);
    for (const outer of around) {
      if (outer && "holds" in outer.row.dataset) {
        outer.inner.push(node);
        node.outer.push(outer);
      }
    }
    around[depth] = node;
  }
}

function readDrawing() {
  for (const mark of document.querySelectorAll(".drawing [data-folded]")) {
    const box = newNode(mark.dataset.place);
    box.folded = mark.dataset.folded.split("\n").map((place) => nodes.get(place)).filter(Boolean);
    for (const node of box.folded) node.outer.push(box);
  }
  for (const mark of document.querySelectorAll(".drawing [data-place]")) nodes.get(mark.dataset.place)?.marks.push(mark);
  for (const line of document.querySelectorAll(".drawing .edge")) {
    const { from, to, on = "", case: text = "" } = line.dataset;
    const edge = { line, on, text, to: nodes.get(to), from: from ? from.split("\n").map((place) => nodes.get(place)).filter(Boolean) : [] };
    for (const node of edge.from) {
      node.out.push(edge);
      if (on === "label" || on === "when") node.chooses = true;
      if (on === "timeout") node.times = true;
    }
    if (!from) edge.to?.starts.push(edge);
  }
}

// iterate notes the last iteration of a step in a loop. It returns the status of the one before if this is another one.
export function iterate(latest, address, status) {
  const step = address.replace(/#\d+/g, "");
  const before = latest.get(step);
  latest.set(step, { address, status });
  return before && before.address !== address ? before.status : undefined;
}

function statusOf(node) {
  if (node.folded) {
    const by = counted(node);
    const done = (by.get("success") ?? 0) + (by.get("skipped") ?? 0) === node.folded.length;
    return order.find((s) => by.get(s) && (done || (s !== "success" && s !== "skipped"))) ?? "";
  }
  const own = order.find((s) => (node.counts.get(s) ?? 0) > (node.past.get(s) ?? 0)) ?? ""; // a later iteration decides
  return own || (order.find((s) => node.inner.some((n) => n.status === s)) ?? "");
}

// counted returns how many steps in a box have which status.
function counted(box) {
  const by = new Map();
  for (const { status } of box.folded) if (status) by.set(status, (by.get(status) ?? 0) + 1);
  return by;
}

function says(box, by) {
  const n = (...states) => states.reduce((sum, s) => sum + (by.get(s) ?? 0), 0);
  const parts = [[n("error", "timeout"), "failed"], [n("cancelled"), "cancelled"], [n("running"), "running"], [n("waiting"), "waiting"]];
  return [`${n("success", "partial", "skipped")} of ${box.folded.length} done`, ...parts.filter(([count]) => count).map((p) => p.join(" "))].join(", ");
}

// branchOf names an edge that was taken, as the attributes of the drawing do: without control characters.
export const branchOf = (branch) => `${branch.on} ${(branch.case ?? "").replace(/[\u0000-\u001f]/g, "")}`;

// paint shows nodes in their states, and what depends on them: what is around several of them once, after them.
export function paint(changed) {
  for (let now = new Set(changed); now.size; ) {
    const around = new Set();
    for (const node of now) {
      paintOne(node);
      for (const outer of node.outer) around.add(outer);
    }
    now = around;
  }
}

function paintOne(node) {
  node.status = statusOf(node);
  if (node.folded) {
    const by = counted(node);
    node.counts = new Map(by);
    if (!node.status && by.size) node.counts.set("running", 1); // some have not started
    for (const mark of node.marks) if (by.size) mark.querySelector(".note").textContent = says(node, by);
  }
  for (const mark of node.marks) {
    mark.classList.remove(...order);
    if (node.status) mark.classList.add(node.status);
  }
  if (node.row) paintRow(node);
  for (const edge of [...node.out, ...node.starts]) paintEdge(edge);
}

function paintRow({ row, counts, status }) {
  const cell = row.cells[1];
  const pill = cell.querySelector(".pill");
  pill.className = `pill ${status}`;
  pill.textContent = texts[status];
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  const states = order.filter((s) => counts.get(s));
  const differ = () => states.map((s) => `${counts.get(s)} ${texts[s].toLowerCase()}`).join(", ");
  small(cell).textContent = total < 2 ? "" : states.length > 1 ? differ() : `×\u00a0${total}`;
}

function small(cell) {
  const found = cell.querySelector("small") ?? document.createElement("small");
  if (!found.parentNode) cell.append(" ", found);
  return found;
}

// bring scrolls the drawing, and not the page, to a mark.
export function bring(mark) {
  const box = mark?.closest(".canvas");
  if (!box) return;
  const [at, room] = [mark.getBoundingClientRect(), box.getBoundingClientRect()];
  if (at.top < room.top || at.bottom > room.bottom) box.scrollTop += (at.top + at.bottom - room.top - room.bottom) / 2;
  if (at.left < room.left || at.right > room.right) box.scrollLeft += (at.left + at.right - room.left - room.right) / 2;
}

function paintEdge(edge) {
  const ways = edge.from.map((node) => takes(node, edge));
  const start = !edge.from.length && edge.to && edge.to.status && edge.to.status !== "skipped";
  const taken = start || ways.includes("taken");
  edge.line.classList.toggle("taken", taken);
  edge.line.classList.toggle("dead", !taken && ways.length > 0 && ways.every((w) => w === "dead"));
}

// takes returns whether a node has taken an edge ("taken"), or will not any more ("dead").
function takes(node, { on, text }) {
  if ((!node.status && !node.folded) || !node.counts.size || some(node, "running", "waiting")) return "";
  const yes = (taken) => (taken ? "taken" : "dead");
  switch (on) {
    case "error":
      return yes(some(node, "error") || (some(node, "timeout") && !node.times));
    case "timeout":
      return yes(some(node, "timeout"));
    case "label":
    case "when":
      return yes(node.decided.has(`${on} ${text}`));
  }
  if (node.chooses) return yes(node.decided.has("else "));
  if (some(node, "success", "partial")) return "taken";
  return some(node, "skipped") === [...node.counts.values()].reduce((a, b) => a + b, 0) ? "dead" : "";
}
read();
