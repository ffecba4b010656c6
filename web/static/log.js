// Logs: they open at their end, load what was before by ranges, and follow what is written.

const chunk = 65536;
const most = 2000000; // characters of one log in the page; what is furthest away goes
const escapes = /\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])/g;

export function openLogs(root) {
  for (const log of root.querySelectorAll("pre.log")) {
    log.scrollTop = log.scrollHeight;
    log.addEventListener("scroll", () => log.scrollTop < 200 && earlier(log), { passive: true });
    log.closest("details:not([open])")?.addEventListener("toggle", () => (log.scrollTop = log.scrollHeight), { once: true });
    if ("follow" in log.dataset) live(log);
  }
}

export function closeLogs(root) {
  for (const log of root.querySelectorAll("pre.log")) log.source?.close();
}

// earlier loads the part before what is shown.
async function earlier(log) {
  const end = Number(log.dataset.start);
  if (!end || log.loading) return;
  log.loading = true;
  try {
    const start = Math.max(0, end - chunk);
    const answer = await fetch(`${log.dataset.api}?offset=${start}&limit=${end - start}`);
    if (!answer.ok) return;
    let bytes = new Uint8Array(await answer.arrayBuffer());
    let skip = 0;
    if (start > 0) {
      skip = bytes.indexOf(10) + 1; // not in the middle of a line,
      while (!skip && skip < 4 && (bytes[skip] & 0xc0) === 0x80) skip++; // or at least of a character
    }
    const pieces = answer.headers.get("Hocket-Pieces") ?? "";
    if (Number(pieces.split("+")[0]) >= end || !bytes.length) {
      log.dataset.start = 0;
      return;
    }
    bytes = bytes.subarray(skip);
    const below = log.scrollHeight - log.scrollTop;
    log.prepend(readable(new TextDecoder().decode(bytes)));
    log.dataset.start = start + skip;
    log.scrollTop = log.scrollHeight - below;
    while (log.textContent.length > most && log.childNodes.length > 1) log.lastChild.remove();
  } finally {
    log.loading = false;
  }
}

// live shows what an attempt writes.
function live(log) {
  const decoder = new TextDecoder();
  const source = (log.source = new EventSource(`${log.dataset.api}?follow=true&offset=${log.dataset.end}`));
  source.addEventListener("piece", (e) => {
    const { data } = JSON.parse(e.data);
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.append(readable(decoder.decode(bytes, { stream: true })));
    while (log.textContent.length > most && log.childNodes.length > 1) log.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  });
  source.addEventListener("end", () => source.close());
  source.addEventListener("problem", () => source.close());
}

export function readable(text) {
  return text.replace(escapes, "");
}
addEventListener("pagehide", () => closeLogs(document));
