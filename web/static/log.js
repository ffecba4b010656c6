// Logs: they open at their end, load what was before by ranges, and follow what is written.

const chunk = 65536;
const most = 2000000; // characters of one log in the page; what is furthest away goes
const lookBehind = 2048; // bytes at the beginning of a part that are examined for a good place to begin
// Control sequences of terminals. A string that has no end extends to the end of its line at most.
const escapes = /\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(\x07|\x1b\\)?|[@-Z\\-_])/g;
const unfinished = /\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b\n]{0,2048}\x1b?)?$/;
// What is invisible and means something, as in the pages that the server writes.
const hidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

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
    const skip = start > 0 ? beginning(bytes) : 0;
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
  let rest = ""; // the beginning of a control sequence
  const source = (log.source = new EventSource(`${log.dataset.api}?follow=true&offset=${log.dataset.end}`));
  source.addEventListener("piece", (e) => {
    const { data } = JSON.parse(e.data);
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    const text = rest + decoder.decode(bytes, { stream: true });
    rest = text.match(unfinished)?.[0] ?? "";
    log.append(readable(text.slice(0, text.length - rest.length)));
    while (log.textContent.length > most && log.childNodes.length > 1) log.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  });
  source.addEventListener("end", () => source.close());
  source.addEventListener("problem", () => source.close());
}

// beginning returns where the text of a part that was cut somewhere can begin: after a line break, or in a very long line
// neither inside of a character nor of a control sequence.
export function beginning(bytes) {
  const ahead = Math.min(lookBehind, bytes.length >> 1);
  const line = bytes.subarray(0, ahead).indexOf(10);
  if (line >= 0) return line + 1;
  const start = bytes.subarray(0, ahead).lastIndexOf(27);
  if (start >= 0) {
    const text = Array.from(bytes.subarray(start, start + 2 * lookBehind), (b) => String.fromCharCode(b)).join("");
    escapes.lastIndex = 0;
    const found = escapes.exec(text);
    if (found?.index === 0 && start + found[0].length > ahead) return start;
  }
  let at = ahead;
  while (at < bytes.length && (bytes[at] & 0xc0) === 0x80) at++;
  return at;
}

export function readable(text) {
  return text.replace(escapes, "").replace(hidden, (c) => (c < "\x7f" ? `\\x${c.charCodeAt().toString(16).padStart(2, "0")}` : `\\u${c.codePointAt().toString(16).padStart(4, "0")}`));
}
addEventListener("pagehide", () => closeLogs(document));
