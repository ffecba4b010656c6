// Logs: they open at their end, load what is before and after by ranges, and follow what is written.
import { turn } from "./turn.js";

const chunk = 32768; // bytes of a request
const most = 1000000; // characters of one log in the page; what is furthest away goes
const near = 200; // pixels from its edge at which more is loaded
const long = /[^\n]{2000}/; // such a line may break anywhere: to look for spaces in it takes the browser ten times as long
const lookBehind = 2048; // bytes at the edge of a part that are examined for a good place to begin or to end
// Control sequences of terminals. A string that has no end extends to the end of its line at most.
const escapes = /\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(\x07|\x1b\\)?|[@-Z\\-_])/g;
const unfinished = /\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b\n]{0,2048}\x1b?)?$/;
const logs = new Map(); // by element

// Log is a window of a log: the bytes from start to end. Its text is in several blocks, so that one more does not have the
// browser lay out all of them again.
class Log {
  #pre;
  #start;
  #end;
  #grows; // the attempt has not ended
  #last = true; // the window reaches to the end of the log
  #loading = false;
  #length = 0; // of the text
  #hidden; // matches what is invisible and means something, as in the rest of the page
  #stop; // ends following

  constructor(pre) {
    this.#pre = pre;
    this.#start = Number(pre.dataset.start);
    this.#end = Number(pre.dataset.end);
    this.#grows = "follow" in pre.dataset;
    this.#hidden = new RegExp(pre.dataset.hidden, "gu");
    const text = pre.textContent;
    pre.replaceChildren();
    this.#add(text, this.#start, this.#end);
    const down = () => (pre.scrollTop = pre.scrollHeight);
    down();
    pre.closest("details:not([open])")?.addEventListener("toggle", down, { once: true });
    pre.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    document.querySelector(`a[data-log="${CSS.escape(pre.id)}"]`)?.addEventListener("click", (e) => {
      e.preventDefault();
      this.#jump(e.currentTarget);
    });
    this.follow();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#pre;
    if (scrollTop < near && this.#start) this.#load(() => this.#earlier());
    else if (scrollHeight - scrollTop - clientHeight < near && !this.#last) this.#load(() => this.#later());
  }

  async #load(part) {
    if (this.#loading) return;
    this.#loading = true;
    this.#pre.ariaBusy = true;
    try {
      await part();
    } catch {
      // The server has gone, which the page says. Scrolling tries again.
    } finally {
      this.#loading = false;
      this.#pre.ariaBusy = false;
    }
  }

  // jump shows the beginning of the log, or again its end.
  #jump(link) {
    const end = link.dataset.to === "end";
    link.dataset.to = end ? "beginning" : "end";
    link.textContent = end ? "Show its beginning" : "Show its end";
    this.#load(async () => {
      const pieces = await this.#read(end ? -chunk : 0, chunk);
      this.close();
      this.#pre.replaceChildren();
      this.#length = 0;
      const part = end ? pieces.at(-1) : pieces[0];
      if (!part) return;
      const skip = part.at > 0 ? beginning(part.bytes) : 0;
      this.#start = this.#end = part.at + skip;
      this.#last = false;
      this.#append(part.bytes.subarray(skip, ending(part.bytes) || part.bytes.length));
      this.#pre.scrollTop = end ? this.#pre.scrollHeight : 0;
      if (end) await this.#later();
    });
  }

  // read returns the parts of a range that are kept, each with its offset.
  async #read(from, limit) {
    const answer = await fetch(`${this.#pre.dataset.api}?offset=${from}&limit=${limit}`);
    if (!answer.ok) throw new Error(answer.statusText);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const parts = [];
    let read = 0;
    for (const piece of (answer.headers.get("Hocket-Pieces") ?? "").split(",").filter(Boolean)) {
      const [at, size] = piece.split("+").map(Number);
      const before = parts.at(-1);
      read += size;
      if (before && before.at + before.bytes.length === at) before.bytes = bytes.subarray(read - size - before.bytes.length, read);
      else parts.push({ at, bytes: bytes.subarray(read - size, read) });
    }
    return parts;
  }

  // earlier loads the part before what is shown.
  async #earlier() {
    const end = this.#start;
    const from = Math.max(0, end - chunk);
    const part = (await this.#read(from, end - from)).filter(({ at }) => at < end).at(-1);
    const pre = this.#pre;
    const { scrollTop, scrollHeight } = pre;
    if (part) {
      const bytes = part.bytes.subarray(0, end - part.at);
      const skip = part.at > 0 ? beginning(bytes) : 0;
      this.#gap(part.at + bytes.length, end, true);
      this.#start = part.at + skip;
      this.#add(this.#decode(bytes.subarray(skip)), this.#start, part.at + bytes.length, true);
    } else {
      this.#gap(0, end, true);
      this.#start = 0;
    }
    pre.scrollTop = scrollTop + pre.scrollHeight - scrollHeight;
    while (this.#length > most && pre.children.length > 1) {
      this.#end = this.#remove(pre.lastChild).start;
      this.#last = false;
      this.close();
    }
    this.#note();
  }

  // later loads the part after what is shown.
  async #later() {
    const [part] = await this.#read(this.#end, chunk);
    if (!part) {
      this.#last = true;
      this.follow();
      return;
    }
    this.#gap(this.#end, part.at);
    this.#end = part.at;
    this.#append(part.bytes.subarray(0, ending(part.bytes) || part.bytes.length));
  }

  // append shows the bytes after end. What belongs to one line stays in one block, if it is not too long.
  #append(bytes) {
    const pre = this.#pre;
    const text = this.#decode(bytes);
    const end = this.#end + bytes.length;
    const into = pre.lastChild;
    if (into && !into.gap && into.textContent.length < (into.textContent.endsWith("\n") ? chunk / 4 : chunk)) {
      into.firstChild.appendData(text);
      into.end = end;
      into.classList.toggle("long", long.test(into.textContent));
      this.#length += text.length;
    } else this.#add(text, this.#end, end);
    this.#end = end;
    while (this.#length > most && pre.children.length > 1) {
      const { scrollTop, scrollHeight } = pre;
      this.#start = this.#remove(pre.firstChild).end;
      pre.scrollTop = scrollTop - (scrollHeight - pre.scrollHeight);
    }
    this.#note();
  }

  #decode(bytes) {
    return readable(new TextDecoder().decode(bytes), this.#hidden);
  }

  // add shows a text in a block of its own.
  #add(text, start, end, first) {
    const block = document.createElement("span");
    block.append(document.createTextNode(text));
    Object.assign(block, { start, end });
    block.classList.toggle("long", long.test(text));
    this.#length += text.length;
    if (first) this.#pre.prepend(block);
    else this.#pre.append(block);
    return block;
  }

  // gap says what is not kept of a long log.
  #gap(from, to, first) {
    if (from >= to) return;
    const block = this.#add(`… ${(to - from).toLocaleString("en")} bytes${from ? "" : " or less"} are not kept …\n`, from, to, first);
    block.gap = true;
    block.classList.add("note");
  }

  #remove(block) {
    this.#length -= block.textContent.length;
    block.remove();
    return block;
  }

  // note says for the style sheet and tests which part of the log is shown.
  #note() {
    Object.assign(this.#pre.dataset, { start: this.#start, end: this.#end });
  }

  // follow shows what the attempt writes, as long as somebody can see it.
  follow() {
    if (!this.#grows || !this.#last || this.#stop || document.hidden) return;
    const pre = this.#pre;
    const late = setTimeout(() => (pre.dataset.waits = ""), 1000); // says that it waits for a connection
    const stop = turn(() => {
      clearTimeout(late);
      delete pre.dataset.waits;
      let rest = new Uint8Array(); // the beginning of a character or a control sequence
      const source = new EventSource(`${pre.dataset.api}?follow=true&offset=${this.#end}`);
      source.addEventListener("piece", (e) => {
        const { at, data } = JSON.parse(e.data);
        const down = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
        if (at > this.#end + rest.length) {
          this.#gap(this.#end, at);
          this.#end = at;
          rest = new Uint8Array();
        }
        const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
        const all = new Uint8Array(rest.length + bytes.length);
        all.set(rest);
        all.set(bytes, rest.length);
        const cut = ending(all);
        rest = all.subarray(cut);
        this.#append(all.subarray(0, cut));
        if (down) pre.scrollTop = pre.scrollHeight;
      });
      const over = () => {
        this.#grows = false;
        this.#append(rest);
        this.close();
      };
      source.addEventListener("end", over);
      source.addEventListener("problem", over);
      return () => source.close();
    });
    this.#stop = () => {
      clearTimeout(late);
      stop();
    };
  }

  close() {
    this.#stop?.();
    this.#stop = undefined;
  }
}

export function openLogs(root) {
  for (const pre of root.querySelectorAll("pre.log")) logs.set(pre, new Log(pre));
}

export function closeLogs(root) {
  for (const pre of root.querySelectorAll("pre.log")) {
    logs.get(pre)?.close();
    logs.delete(pre);
  }
}

function look(visible) {
  for (const log of logs.values()) {
    if (visible) log.follow();
    else log.close();
  }
}

document.addEventListener("visibilitychange", () => look(!document.hidden));
addEventListener("pagehide", () => look(false));
addEventListener("pageshow", () => look(!document.hidden));

// beginning returns where the text of a part that was cut somewhere can begin: after a line break, or in a very long line
// neither inside of a character nor of a control sequence.
export function beginning(bytes) {
  const ahead = Math.min(lookBehind, bytes.length >> 1);
  const line = bytes.subarray(0, ahead).indexOf(10);
  if (line >= 0) return line + 1;
  const start = bytes.subarray(0, ahead).lastIndexOf(27);
  if (start >= 0) {
    escapes.lastIndex = 0;
    const found = escapes.exec(raw(bytes.subarray(start, start + 2 * lookBehind)));
    if (found?.index === 0 && start + found[0].length > ahead) return start;
  }
  let at = ahead;
  while (at < bytes.length && (bytes[at] & 0xc0) === 0x80) at++;
  return at;
}

// ending returns where the text of a part ends after which more comes: not inside of a character or a control sequence.
export function ending(bytes) {
  const from = Math.max(0, bytes.length - lookBehind);
  const found = raw(bytes.subarray(from)).search(unfinished);
  if (found >= 0) return from + found;
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 4); at--) {
    const first = bytes[at];
    if ((first & 0xc0) === 0x80) continue;
    const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    return at + size > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

// raw returns a character for each byte.
const raw = (bytes) => String.fromCharCode(...bytes);

export function readable(text, hidden) {
  return text.replace(escapes, "").replace(hidden, (c) => {
    const code = c.codePointAt();
    const [letter, size] = code < 0x80 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(size, "0")}`;
  });
}
