// Replays a run that is over: a slider over its events, which are loaded when it is first used.

const becomes = { step_started: "running", attempt_started: "running", answered: "running", asked: "waiting", paused: "waiting", retrying: "waiting", step_skipped: "skipped" };

// replay sets up the slider. nodes are those of the page by place; paint shows the counts of one.
export function replay(box, api, nodes, placeOf, paint) {
  const slider = box.querySelector("input");
  const says = box.querySelector("output");
  const ends = new Map([...nodes].map(([place, n]) => [place, n.counts]));
  let events;

  async function load() {
    const all = [];
    for (let after = ""; ; ) {
      const answer = await fetch(`${api}/history?limit=1000${after && `&after=${after}`}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const page = await answer.json();
      for (const e of page.items) {
        const status = e.type === "step_ended" ? e.status : becomes[e.type];
        if (status && e.address && nodes.has(placeOf(e.address))) all.push({ address: e.address, status, time: Date.parse(e.time) });
      }
      after = page.next;
      if (!after) return all;
    }
  }

  function show(upTo) {
    const at = new Map();
    for (const e of events.slice(0, upTo)) at.set(e.address, e.status);
    for (const n of nodes.values()) n.counts = new Map();
    for (const [address, status] of at) {
      const { counts } = nodes.get(placeOf(address));
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    if (upTo === events.length) for (const [place, n] of nodes) n.counts = ends.get(place);
    for (const n of nodes.values()) paint(n);
    const e = events[upTo - 1];
    says.textContent = e ? `${upTo} of ${events.length}: ${e.address} ${e.status}, after ${((e.time - events[0].time) / 1000).toFixed(1)} s` : "the beginning";
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
      slider.max = events.length;
      slider.value = Math.round(share * events.length);
    }
    show(Number(slider.value));
  });
}
