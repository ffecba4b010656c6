// A click on the number of a line opens a field for a comment on it. Without this, the comment on the file names the line.
const form = document.querySelector("#change");

form.addEventListener("click", (e) => {
  const line = e.target;
  if (!line.matches(".code > :is([data-old], [data-new])") || e.offsetX > parseFloat(getComputedStyle(line).paddingLeft)) return;
  const open = line.nextElementSibling;
  if (open?.matches(".remark")) return open.querySelector("textarea").focus();
  for (const other of form.querySelectorAll(".code .remark")) if (!other.querySelector("textarea").value.trim()) other.remove();
  const remark = document.querySelector("#remark").content.firstElementChild.cloneNode(true);
  const at = `${line.closest(".file").dataset.path}:${line.dataset.new ?? `${line.dataset.old} (before)`}`;
  remark.querySelector("span").textContent = `Comment on ${at}`;
  remark.querySelector("[name=at]").value = at;
  line.after(remark);
  remark.querySelector("textarea").focus();
});
