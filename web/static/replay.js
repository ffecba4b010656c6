// Replays a run that is over: a slider over its events, which are loaded when it is first used.
import { branchOf, iterate } from "./drawing.js";

const becomes = { step_started: "running", attempt_started: "running", answered: "running", asked: "waiting", paused: "waiting", retrying: "waiting", step_skipped: "skipped" };

const over = (counts) => [...counts].reduce((sum, [status, n]) => sum + (status === "running" || status === "waiting" ? 0 : n), 0);

// replay sets up the slider. nodes are those of the page by place; paint shows the counts of some.
export function replay(box, api, nodes, placeOf, paint) {
  const slider = box.querySelector("input");
  const says = box.querySelector("output");
  let ends;
  let events;

  async function load() {
    const all = [];
    for (let after = ""; ; ) {
      const answer = await fetch(`${api}/history?limit=1000${after && `&after=${after}`}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const page = await answer.json();
      for (const e of page.items) {
        const node = e.address && nodes.get(placeOf(e.address));
        if (!node || (node.each && e.type !== "step_skipped" && !e.address.endsWith("]"))) continue; // its items are counted
        let status = e.type === "step_ended" ? e.status : becomes[e.type];
        if (e.branch && node.choice) status = "success"; // a choice that asks nobody only decides
        if (status || e.branch) all.push({ address: e.address, status, branch: e.branch, time: Date.parse(e.time) });
      }
      after = page.next;
      if (!after) return all;
    }
  }

  function show(upTo) {
    const at = new Map();
    for (const n of nodes.values()) [n.counts, n.past, n.decided] = [new Map(), new Map(), new Set()];
    for (const e of events.slice(0, upTo)) {
      if (e.status) at.set(e.address, e.status);
      if (e.branch) nodes.get(placeOf(e.address)).decided.add(branchOf(e.branch));
    }
    const latest = new Map();
    for (const [address, status] of at) {
      const { counts, past } = nodes.get(placeOf(address));
      counts.set(status, (counts.get(status) ?? 0) + 1);
      const earlier = iterate(latest, address, status);
      if (earlier) past.set(earlier, (past.get(earlier) ?? 0) + 1);
    }
    if (upTo === events.length) for (const [place, n] of nodes) [n.counts, n.decided, n.past] = ends.get(place);
    for (const [place, n] of nodes) n.row?.classList.toggle("ahead", over(n.counts) < over(ends.get(place)[0])); // what it says is not known yet
    paint(nodes.values());
    const e = events[upTo - 1];
    says.textContent = e ? `${upTo} of ${events.length}: ${e.address} ${e.status ?? e.branch.case ?? e.branch.on}, after ${((e.time - events[0].time) / 1000).toFixed(1)} s` : "the beginning";
  }

  slider.addEventListener("input", async () => {
    const share = slider.value / slider.max;
    if (!events) {
      says.textContent = "loading…";
      try {
        events = await load();
      } catch {
        says.textContent = "the history could not be loaded";
        return;
      }
      ends = new Map([...nodes].map(([place, n]) => [place, [n.counts, n.decided, n.past]]));
      slider.max = events.length;
      slider.value = Math.round(share * events.length);
    }
    show(Number(slider.value));
  });
}
