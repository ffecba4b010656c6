// Replaces the parts of the page that are marked with data-live by what the server says now.

let timer = 0;
let last = 0;
let asking = Promise.resolve(); // one request at a time, or an old answer could come last
let patience = 300; // milliseconds between two requests: more if they take long, so that the colours of nodes do not wait

// refresh asks for the page again, soon, and together for all that happens meanwhile.
export function refresh() {
  timer ||= setTimeout(() => (asking = asking.then(now)), Math.max(0, last + patience - Date.now()));
}

async function now() {
  last = Date.now();
  timer = 0; // what happens from here on needs another request
  const url = new URL(document.body.dataset.liveFrom ?? location.href, location.href); // the answer to a form cannot be asked for again
  url.searchParams.set("part", "live");
  try {
    const page = await load(url);
    const key = document.querySelector("input[name=key]")?.getAttribute("value"); // of the forms; a new one would change them all the time
    if (key) for (const input of page.querySelectorAll("input[name=key]")) input.setAttribute("value", key);
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      if (fresh) merge(part, fresh);
    }
    document.dispatchEvent(new Event("refreshed"));
    patience = Math.max(300, 4 * (Date.now() - last));
  } catch {
    // The stream notices that the server has gone, and refreshes when it is back.
  }
}

// load reads a page of this server as a document. Unlike a text that is parsed, it needs no policy.
export function load(url) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.onload = () => (request.status === 200 && request.responseXML ? done(request.responseXML) : failed(new Error(request.statusText)));
    request.onerror = () => failed(new Error("the server does not answer"));
    request.send();
  });
}

// merge makes an element equal to a fresh one. Children that have an id and did not change stay, and so
// does a form that someone is filling in.
export function merge(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (!fresh.querySelector("[id]") || !old.querySelector("[id]")) {
    if (!busy(old)) old.replaceChildren(...take(fresh));
    return;
  }
  const kept = new Map([...old.children].filter((c) => c.id).map((c) => [c.id, c]));
  const next = [];
  for (const child of [...fresh.childNodes]) {
    const was = child.id && kept.get(child.id);
    if (was?.tagName === "DETAILS") child.toggleAttribute("open", was.open); // as the person left it
    if (was && busy(was)) next.push(was);
    else if (was && was.isEqualNode(child)) next.push(was);
    else if (was && child.querySelector?.("[id]")) {
      merge(was, child);
      next.push(was);
    } else if (!child.id && child.nodeType === 1 && child.querySelector("[id]") && old.querySelector(`:scope > ${child.tagName}`) && fresh.querySelectorAll(`:scope > ${child.tagName}`).length === 1) {
      const same = old.querySelector(`:scope > ${child.tagName}`);
      merge(same, child);
      next.push(same);
    } else next.push(document.importNode(child, true));
  }
  const stay = new Set(next);
  for (const child of [...old.childNodes]) if (!stay.has(child)) child.remove();
  next.forEach((child, i) => {
    if (old.childNodes[i] !== child) old.insertBefore(child, old.childNodes[i] ?? null);
  });
}

function take(fresh) {
  return [...fresh.childNodes].map((n) => document.importNode(n, true));
}

function busy(part) {
  return part.nodeType === 1 && (part.matches("form[data-edited]") || part.querySelector("form[data-edited]") || (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")));
}
