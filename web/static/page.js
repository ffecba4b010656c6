// What every page does: it follows all projects, and shows what has changed.
import { watch } from "./stream.js";
import { refresh } from "./refresh.js";
import "./zoom.js";

// Times that go on are counted here, so that the server does not have to say them again.
function tick() {
  for (const at of document.querySelectorAll("[data-since]")) {
    at.textContent = duration(Date.now() - Date.parse(at.dataset.since));
  }
}

function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(s / 86400)} days`;
}

tick();
setInterval(tick, 1000);
document.addEventListener("refreshed", tick);
watch("change", () => refresh());
watch("deleted", () => refresh());
watch("state", ({ open }) => {
  document.querySelector("#says").textContent = open ? "" : "The server does not answer. What you see may be old.";
  if (open) refresh();
});

// A form that was edited is not replaced; one that is being sent cannot be sent twice.
document.addEventListener("input", (e) => e.target.form?.toggleAttribute("data-edited", true));
document.addEventListener("submit", (e) => {
  if (e.target.hasAttribute("data-sent")) e.preventDefault();
  e.target.toggleAttribute("data-sent", true);
  const back = e.target.elements.namedItem("back"); // the step that was chosen meanwhile
  if (back && new URL(back.value, location.href).pathname === location.pathname) back.value = location.pathname + location.search;
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((f) => f.removeAttribute("data-sent")));
document.querySelector("a[data-back]")?.addEventListener("click", (e) => {
  if (history.length > 1) {
    e.preventDefault();
    history.back();
  }
});
