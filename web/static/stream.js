// One stream of events for all tabs of the browser: a browser has six connections to a server. A shared
// worker has the stream; without one, each visible tab has its own.
import { Stream } from "./source.js";

const handlers = { change: [], deleted: [], event: [], state: [] };
const followed = new Map(); // run: the last event that this page has seen
let port;

// watch calls a function for each message of a kind: change, deleted, event, or state (whether the stream is open).
export function watch(kind, handle) {
  handlers[kind].push(handle);
}

// follow also asks for the events of a run after one.
export function follow(run, after) {
  followed.set(run, after);
  send();
}

function send() {
  port.postMessage({ follow: [...followed] });
}

// tell hands a message to the page, unless it has seen it.
function tell({ kind, data }) {
  if (kind === "event") {
    const run = `${data.project}/${data.run_id}`;
    if (!followed.has(run) || !later(data.id, followed.get(run))) return;
    followed.set(run, data.id);
  }
  for (const handle of handlers[kind] ?? []) handle(data);
}

export function later(a, b) {
  const [s, i] = a.split(".").map(Number);
  const [t, j] = (b || "0.0").split(".").map(Number);
  return s > t || (s === t && i > j);
}

const here = new URL("worker.js", import.meta.url).href;
const policy = globalThis.trustedTypes?.createPolicy("hocket", {
  createScriptURL(url) {
    if (url !== here) throw new TypeError("not the worker of this page");
    return url;
  },
});

if (globalThis.SharedWorker) {
  port = new SharedWorker(policy ? policy.createScriptURL(here) : here, { type: "module", name: "hocket" }).port;
  port.onmessage = (e) => tell(e.data);
  addEventListener("pagehide", () => port.postMessage({ gone: true }));
  addEventListener("pageshow", (e) => e.persisted && send());
  send();
} else {
  const stream = new Stream(tell);
  port = { postMessage: ({ follow }) => stream.follow(new Map(follow)) };
  const look = () => (document.hidden ? stream.close() : send());
  document.addEventListener("visibilitychange", look);
  look();
}
