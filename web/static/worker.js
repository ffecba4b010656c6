// The shared worker: one stream for all tabs.
import { before, Stream } from "./source.js";

const ports = new Map(); // port: the runs that its tab follows
const stream = new Stream((message) => {
  if (message.kind === "event") {
    const run = `${message.data.project}/${message.data.run_id}`;
    for (const [port, runs] of ports) {
      if (runs.has(run)) {
        runs.set(run, message.data.id);
        port.postMessage(message);
      }
    }
    return;
  }
  for (const port of ports.keys()) port.postMessage(message);
});

function update() {
  const runs = new Map();
  for (const theirs of ports.values()) {
    for (const [run, at] of theirs) {
      const other = runs.get(run);
      if (other === undefined ? runs.size < 20 : before(at, other)) runs.set(run, at);
    }
  }
  if (ports.size) stream.follow(runs);
  else stream.close();
}

onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    const fresh = !data.gone && !ports.has(port);
    if (data.gone) ports.delete(port);
    else ports.set(port, new Map(data.follow));
    update();
    // Its page may have been written before it was here.
    if (fresh && stream.open) port.postMessage({ kind: "state", data: { open: true } });
  };
  port.start();
};
