// Stream is a connection to the server that sends what happens.
export class Stream {
  #tell;
  #source;
  #runs = new Map(); // run: the last event that has arrived
  #open = "";

  constructor(tell) {
    this.#tell = tell;
  }

  // follow sets the runs whose events are needed, each after an event.
  follow(runs) {
    const next = new Map();
    for (const [run, after] of runs) {
      const seen = this.#runs.get(run);
      next.set(run, after && (!seen || before(after, seen)) ? after : (seen ?? ""));
    }
    const same = this.#source && next.size === this.#runs.size && [...next].every(([run, at]) => this.#runs.get(run) === at);
    this.#runs = next;
    if (!same) this.#connect();
  }

  close() {
    this.#source?.close();
    this.#source = undefined;
    this.#open = ""; // what happens until it is open again is missed, so pages must hear of it
  }

  get open() {
    return this.#open === true;
  }

  #connect() {
    this.close();
    const query = new URLSearchParams({ facts: true, new: true });
    for (const [run, at] of this.#runs) query.append("run", at ? `${run}@${at}` : run);
    const source = (this.#source = new EventSource(`/api/events?${query}`));
    for (const kind of ["change", "deleted", "event"]) {
      source.addEventListener(kind, (e) => {
        const data = JSON.parse(e.data);
        if (kind === "event") this.#runs.set(`${data.project}/${data.run_id}`, data.id);
        this.#tell({ kind, data });
      });
    }
    source.onopen = () => this.#state(true);
    source.onerror = () => {
      this.#state(false);
      // The browser connects again by itself, unless the server has refused.
      if (source.readyState === EventSource.CLOSED && this.#source === source) setTimeout(() => this.#source === source && this.#connect(), 2000);
    };
  }

  #state(open) {
    if (this.#open === open) return;
    this.#open = open;
    this.#tell({ kind: "state", data: { open } });
  }
}

export function before(a, b) {
  const [s, i] = a.split(".").map(Number);
  const [t, j] = b.split(".").map(Number);
  return s < t || (s === t && i < j);
}
