// The size of drawings: buttons, and the keys + - 0 in the drawing. A drawing that is a little too wide is fitted to the page;
// a much larger one would be too small to read then, and is scrolled.

const readable = 0.7; // of its size
const [least, most] = [0.05, 3];

for (const panel of document.querySelectorAll("#drawing, .panel:has(> .canvas)")) set(panel);

function set(panel) {
  let wanted; // "fit", or the factor; undefined: what is best
  let factor = 1;
  let room = 0;
  let canvas;
  let scrolled = [0, 0];
  const part = (selector) => panel.querySelector(selector);

  function show() {
    if (!part(".drawing")) return;
    const style = getComputedStyle(canvas);
    room = canvas.clientWidth;
    const { width, height } = part(".drawing").viewBox.baseVal;
    const fit = Math.min(1, (room - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)) / width);
    const next = wanted === undefined ? (fit < readable ? 1 : fit) : wanted === "fit" ? fit : wanted;
    const at = [(canvas.scrollLeft + canvas.clientWidth / 2) / factor, (canvas.scrollTop + canvas.clientHeight / 2) / factor];
    part(".drawing").setAttribute("width", width * next);
    part(".drawing").setAttribute("height", height * next);
    if (next !== factor) canvas.scrollTo(at[0] * next - canvas.clientWidth / 2, at[1] * next - canvas.clientHeight / 2); // the middle stays
    factor = next;
    part(".zoom").hidden = false;
    part(".zoom output").textContent = `${Math.round(factor * 100)} %`;
    part("[data-zoom=out]").disabled = factor <= least;
    part("[data-zoom=in]").disabled = factor >= most;
  }

  function change(how) {
    wanted = how === "fit" ? "fit" : Math.min(most, Math.max(least, how === "in" ? factor * 1.25 : factor / 1.25));
    show();
  }

  panel.addEventListener("click", (e) => {
    const button = e.target.closest("[data-zoom]");
    if (button) change(button.dataset.zoom);
  });
  panel.addEventListener("keydown", (e) => {
    const how = { "+": "in", "=": "in", "-": "out", 0: "fit" }[e.key];
    if (!how || e.ctrlKey || e.metaKey || e.altKey || !e.target.closest(".canvas")) return;
    e.preventDefault();
    change(how);
  });
  // The drawing may be replaced by another one, which has the same size then.
  const look = new MutationObserver(watch);
  function watch() {
    look.disconnect();
    look.observe(panel, { childList: true });
    const old = canvas;
    canvas = part(".canvas");
    if (!canvas) return;
    look.observe(canvas, { childList: true });
    show();
    if (!old) canvas.scrollLeft = (canvas.scrollWidth - canvas.clientWidth) / 2; // where it begins
    if (old && old !== canvas) canvas.scrollTo(...scrolled);
  }
  watch();
  panel.addEventListener("scroll", () => (scrolled = [canvas.scrollLeft, canvas.scrollTop]), true);
  new ResizeObserver(() => canvas && canvas.clientWidth !== room && show()).observe(panel);
}
