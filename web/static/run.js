// The page of a run: colours nodes and counts steps by the events of the run, without asking the server, and
// shows a step beside the drawing.
import { follow, later as isLater, watch } from "./stream.js";
import { load, refresh } from "./refresh.js";
import { nodes, paint, read, branchOf, bring, iterate } from "./drawing.js";
import { replay } from "./replay.js";
import { openLogs, closeLogs, readable } from "./log.js";

const run = document.querySelector("#run");

export const placeOf = (address) => address.replace(/#\d+|\[\d+\]/g, "");

const open = new Map(); // instances in progress, by address
const latest = new Map(); // the last iterations of steps in loops, by their addresses without iterations
function readOpen() {
  open.clear();
  latest.clear();
  const lines = (text) => text.split("\n").filter(Boolean).map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" ") + 1)]);
  for (const [address, status] of lines(run.dataset.open)) open.set(address, status);
  for (const [address, status] of lines(run.dataset.latest)) iterate(latest, address, status);
}
readOpen();

const changed = new Set();
let painting = 0;

function paintLater(place) {
  changed.add(place);
  painting ||= requestAnimationFrame(() => {
    painting = 0;
    paint([...changed].map((place) => nodes.get(place)));
    changed.clear();
  });
}

// later has the timeline and the totals follow, not with every event: that is what the colours are for.
let waiting = 0;
function later() {
  waiting ||= setTimeout(() => {
    waiting = 0;
    refresh();
  }, 1500);
}

// become moves an instance to another state.
function become(address, status) {
  const place = placeOf(address);
  const node = nodes.get(place);
  if (!node) return redraw(place);
  if (node.each && status !== "skipped" && !address.endsWith("]")) return; // its items are counted
  const was = open.get(address);
  if (was === status) return;
  if (was) node.counts.set(was, node.counts.get(was) - 1);
  node.counts.set(status, (node.counts.get(status) ?? 0) + 1);
  const earlier = iterate(latest, address, status);
  if (earlier) node.past.set(earlier, (node.past.get(earlier) ?? 0) + 1);
  if (["running", "waiting", "interrupted"].includes(status)) open.set(address, status);
  else open.delete(address);
  paintLater(place);
}

// redraw loads the list and the drawing again, for a step that they do not have: one that was handed off. Until then, the old
// ones go on; what happens meanwhile is shown in the new ones, too.
const unknown = new Set(); // places that the server does not know either
let missed; // the events since the request, if there is one
let patience = 100; // milliseconds: more if the page is large
async function redraw(place) {
  if (missed || unknown.has(place)) return;
  missed = [];
  await new Promise((done) => setTimeout(done, patience)); // what begins together is loaded together
  const began = Date.now();
  const page = await load(location.href).catch(() => null); // the next event tries again
  patience = Math.max(100, 4 * (Date.now() - began));
  const events = missed;
  missed = undefined;
  const fresh = page?.querySelector("#run");
  if (!fresh) return;
  for (const part of [".drawing", "table.steps"]) {
    const [old, next] = [run.querySelector(part), document.importNode(fresh.querySelector(part), true)];
    const focused = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
    old.replaceWith(next);
    if (focused) [...next.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
  }
  Object.assign(run.dataset, fresh.dataset);
  readOpen();
  read();
  figures.clear();
  if (!nodes.has(place)) unknown.add(place);
  document.dispatchEvent(new Event("redrawn"));
  chosen();
  for (const e of events) if (isLater(e.id, fresh.dataset.last)) apply(e);
}

// says shows the error or the beginning of the output of a step.
function says(e) {
  const step = nodes.get(placeOf(e.address))?.row.cells[0];
  const text = e.text || (typeof e.output === "string" ? e.output : "");
  if (!step || !text) return;
  const line = step.querySelector("p") ?? step.appendChild(document.createElement("p"));
  line.textContent = readable(text.slice(0, 4000)).trim().split("\n")[0].slice(0, 120);
}

// decide shows which edges a step has taken. A choice that asks nobody does nothing else.
function decide({ address, branch }) {
  const node = nodes.get(placeOf(address));
  if (!node) return;
  node.decided.add(branchOf(branch));
  if (node.choice && !open.has(address)) become(address, "success");
  paintLater(node.place);
}

watch("event", (e) => {
  missed?.push(e);
  apply(e);
});

function apply(e) {
  if (!e.address) {
    if (e.type === "replanned") location.reload(); // the drawing is another one
    return;
  }
  switch (e.type) {
    case "step_started":
    case "attempt_started":
    case "answered":
      become(e.address, "running");
      break;
    case "asked":
    case "paused":
    case "retrying":
      become(e.address, "waiting");
      break;
    case "step_ended":
      become(e.address, e.status || "success");
      says(e);
      break;
    case "decided":
      decide(e);
      break;
    case "step_skipped":
      become(e.address, "skipped");
      break;
    default:
      return;
  }
  later();
  const shown = document.querySelector("#detail [data-address]");
  if (shown && (shown.dataset.address === e.address || shown.dataset.place === e.address)) again();
}
follow(run.dataset.run, run.dataset.last);

// What the server says about times and costs, and whether the run is driven or over.
const figures = new Map();
function refreshed() {
  for (const line of document.querySelector("#figures").textContent.split("\n").filter(Boolean)) {
    const [place, since, took, cost] = line.split("\t");
    const row = nodes.get(place)?.row;
    if (!row || figures.get(place) === line) continue;
    figures.set(place, line);
    const time = document.createElement("span");
    time.textContent = took;
    if (since) time.dataset.since = since;
    row.cells[3].replaceChildren(...(took ? [time] : []));
    row.cells[4].textContent = cost;
  }
  const left = Boolean(document.querySelector("#status .interrupted"));
  for (const [address, status] of open) if (status === (left ? "running" : "interrupted")) become(address, left ? "interrupted" : "running");
  const slider = document.querySelector("#replay[hidden]");
  if (!slider || document.querySelector("#cancel")) return; // it is there, or the run goes on
  slider.hidden = false;
  replay(slider, `/api${run.dataset.path}`, nodes, placeOf, paint);
}
document.addEventListener("refreshed", refreshed);
refreshed();
setInterval(() => !document.hidden && [...open.values()].includes("running") && refresh(), 5000); // its bar grows

// The chosen step.
let loading = 0;

async function choose(url) {
  const mine = ++loading;
  const ask = new URL(url);
  ask.searchParams.set("part", "detail");
  try {
    const page = await load(ask);
    if (mine !== loading) return;
    show(page.querySelector("#detail"));
  } catch {
    location.href = url; // which says what is wrong
  }
}

// On a narrow page, the chosen step is below all others.
let from;
function intoView() {
  const part = document.querySelector("#detail");
  if (part.getBoundingClientRect().top < innerHeight - 100) return;
  part.scrollIntoView();
  part.focus({ preventScroll: true });
}

let soon = 0;
function again() {
  soon ||= setTimeout(() => {
    soon = 0;
    const fork = document.querySelector("#detail form[data-edited]");
    if (!fork) choose(location.href);
  }, 150);
}

function show(fresh) {
  const part = document.querySelector("#detail");
  const openParts = new Set([...part.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
  const same = part.querySelector("[data-address]")?.dataset.address === fresh.querySelector("[data-address]")?.dataset.address;
  closeLogs(part);
  part.replaceChildren(...[...fresh.childNodes].map((n) => document.importNode(n, true)));
  if (same) for (const s of part.querySelectorAll("details > summary")) if (openParts.has(s.textContent)) s.parentElement.open = true;
  chosen();
  openLogs(part);
}

function chosen() {
  const place = document.querySelector("#detail [data-place]")?.dataset.place;
  for (const was of document.querySelectorAll(".chosen")) was.classList.remove("chosen");
  const node = place && nodes.get(place);
  bring(node?.marks[0]);
  if (node) for (const mark of [node.row, ...node.marks, ...node.outer.filter((n) => n.folded).flatMap((n) => n.marks)]) mark.classList.add("chosen");
}

// What a person has chosen since the page was loaded stays, whichever link they follow.
function onward(link) {
  const url = new URL(link.getAttribute("href"), location.href);
  const { searchParams: now } = new URL(location.href);
  const says = link.closest(".fold, .below") ? "unfold" : link.closest(".tabs") ? "as" : "step"; // what the link is about
  for (const name of ["step", "as", "unfold"]) {
    if (name === says) continue;
    url.searchParams.delete(name);
    for (const value of now.getAll(name)) url.searchParams.append(name, value);
  }
  return url;
}

document.addEventListener("click", (e) => {
  const link = e.target.closest("a[data-step], a.node, a[data-close], #drawing .below a, #source .tabs a");
  if (!link) return;
  const url = onward(link);
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button || !link.matches("a[data-step], a.node:not(.fold), a[data-close]")) {
    link.setAttribute("href", url.pathname + url.search + url.hash); // the browser goes there
    return;
  }
  e.preventDefault();
  history.pushState(null, "", url);
  if (!link.matches("[data-close]")) from = link;
  choose(url).then(() => (link.matches("[data-close]") ? from?.scrollIntoView({ block: "nearest" }) : intoView()));
});
addEventListener("popstate", () => choose(location.href));
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !e.target.matches("input, textarea")) document.querySelector("[data-close]")?.click();
});
bring(["waiting", "running", "interrupted", "error"].map((status) => document.querySelector(`.drawing .node.${status}:not(.holder)`)).find(Boolean));
chosen();
openLogs(document);
