// The editor of a workflow. It replaces the field of the form, which works without it. What is right or wrong in
// the text, the drawing and the suggestions come from the server, which reads the text as a run would.
import { EditorState, Compartment } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { setDiagnostics, lintGutter, lintKeymap } from "@codemirror/lint";
import { HighlightStyle, syntaxHighlighting, bracketMatching, indentUnit } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { mode } from "./modes.js";

const form = document.querySelector("#edit");
const field = document.querySelector("#text");
const said = document.querySelector("#said");
const file = form.elements.file;
const revision = form.elements.revision;
const patience = 60; // milliseconds without a key

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.tagName, tags.keyword], color: "var(--link)" },
  { tag: [tags.attributeName, tags.labelName], color: "var(--warn)" },
  { tag: [tags.string], color: "var(--good)" },
  { tag: [tags.atom, tags.operator], color: "light-dark(#8a3fb0, #c79af0)" },
  { tag: tags.variableName, color: "light-dark(#8a3fb0, #c79af0)", fontWeight: "600" },
  { tag: tags.meta, color: "var(--soft)" },
  { tag: [tags.heading, tags.strong], fontWeight: "650" },
]);

const theme = EditorView.theme({
  "&": { fontSize: "0.9rem", color: "var(--ink)", minHeight: "24rem", maxHeight: "calc(100vh - 12rem)" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { background: "transparent", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-tooltip": { background: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "0 4px 16px rgb(0 0 0 / 0.2)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "#fff" },
  ".cm-completionInfo": { maxWidth: "24rem", padding: "0.4rem 0.6rem" },
  ".cm-completionDetail": { opacity: "0.75", fontStyle: "normal", marginLeft: "0.8em" },
  ".cm-diagnostic": { padding: "0.3rem 0.6rem", whiteSpace: "pre-wrap" },
});

// In a tree of its own, the styles of the editor are objects and not elements, which the policy of the page forbids.
const host = document.querySelector("#editor");
const root = host.attachShadow({ mode: "open" });
const language = new Compartment();

const view = new EditorView({
  root,
  parent: root,
  state: EditorState.create({
    doc: field.value,
    extensions: [
      lineNumbers(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      EditorState.allowMultipleSelections.of(true),
      indentUnit.of("  "),
      syntaxHighlighting(colours),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      lintGutter(),
      autocompletion({ override: [suggest] }),
      language.of(mode(form.dataset.notation, file.value)),
      EditorView.contentAttributes.of({ "aria-label": "Text of the workflow", "aria-describedby": "keys", tabindex: "0" }),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
      EditorView.updateListener.of((u) => {
        if (!u.docChanged) return;
        changed = true;
        say("");
        later();
      }),
      theme,
    ],
  }),
});
host.view = view; // so that a test can look at it

field.hidden = true;
host.hidden = document.querySelector("#keys").hidden = false;
for (const b of form.querySelectorAll("[data-plain]")) b.hidden = true; // it is checked all the time

let changed = false;
const text = () => view.state.doc.toString();

function say(words, bad) {
  const p = document.createElement("p");
  p.className = bad ? "bad" : "note";
  p.textContent = words;
  said.replaceChildren(...(words ? [p] : []));
}

// The preview: one request at a time, and the newest text in the next.
let timer = 0;
let asking = false;
let again = false;

function later() {
  clearTimeout(timer);
  timer = setTimeout(look, patience);
}

function look() {
  if (asking) return void (again = true);
  asking = true;
  const sent = text();
  const request = new XMLHttpRequest();
  request.open("POST", form.dataset.preview);
  request.responseType = "document";
  request.onloadend = () => {
    asking = false;
    if (request.status === 200 && request.responseXML) show(request.responseXML, sent);
    else say(request.status ? `The server refuses to check the text (${request.status}). Your text is still here.` : "The server does not answer. Your text is still here.", true);
    if (again) later();
    again = false;
  };
  const as = form.querySelector("input[name=as]:checked");
  request.send(new URLSearchParams({ file: file.value, text: sent, as: as?.value ?? "" }));
}

function show(page, of) {
  for (const id of ["diagnostics", "drawing", "converted"]) {
    const old = document.getElementById(id);
    const fresh = page.getElementById(id);
    if (!fresh) continue;
    if (id === "drawing" && !fresh.querySelector("svg")) {
      old.classList.add("old"); // better than none
      continue;
    }
    old.classList.remove("old");
    if (old.isEqualNode(fresh)) continue;
    const focused = id === "converted" && document.activeElement?.name === "as";
    old.replaceChildren(...[...fresh.childNodes].map((n) => document.importNode(n, true)));
    if (focused) old.querySelector("input[name=as]:checked")?.focus();
  }
  if (of === text()) mark();
}

// mark shows the diagnostics of the page in the text.
function mark() {
  const all = [];
  for (const li of document.querySelectorAll("#diagnostics li")) {
    if (li.dataset.file || !Number(li.dataset.line)) continue;
    const from = place(li.dataset.line, li.dataset.column);
    const to = Math.max(from, place(li.dataset.endLine, li.dataset.endColumn));
    const severity = { error: "error", warning: "warning" }[li.classList[0]] ?? "info";
    all.push({ from, to, severity, message: [...li.childNodes].slice(1).map((n) => n.textContent.trim()).filter(Boolean).join("\n") });
  }
  view.dispatch(setDiagnostics(view.state, all));
}

// place returns the offset of a line and a column, which counts characters and not halves of them.
function place(line, column) {
  const at = view.state.doc.line(Math.min(Math.max(1, Number(line)), view.state.doc.lines));
  return at.from + [...at.text].slice(0, Math.max(0, Number(column) - 1)).join("").length;
}

async function suggest(context) {
  const before = context.state.sliceDoc(0, context.pos);
  if (!context.explicit && !/[\w$.{<"|:\s-]$/.test(before)) return null;
  const line = before.slice(before.lastIndexOf("\n") + 1);
  if (!context.explicit && /^\s*$/.test(line)) return null;
  const answer = await call("POST", "/complete", { file: file.value, text: context.state.doc.toString(), offset: new TextEncoder().encode(before).length }).catch(() => null);
  if (!answer?.ok || context.aborted) return null;
  const { word, suggestions } = await answer.json();
  if (!context.explicit && word === "" && !/(\$\{|\{\{|: |"|<|\|)\s*$/.test(line)) return null;
  const types = { key: "property", value: "enum", agent: "class", workflow: "function", template: "text", step: "variable", input: "variable", variable: "variable", element: "type" };
  return {
    from: context.pos - word.length,
    options: suggestions.map((s) => ({ label: s.text, type: types[s.kind], detail: s.kind, info: s.note || undefined, apply: s.kind === "key" && /yaml|mermaid|plantuml/.test(form.dataset.notation) && !/<<\w*$/.test(line) ? `${s.text}: ` : s.text })),
    validFor: /^[\w.-]*$/,
  };
}

function call(method, path, body) {
  return fetch(form.dataset.api + path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

let saving = false;

async function save() {
  if (saving) return; // a key that is held must not conflict with itself
  saving = true;
  await put().finally(() => (saving = false));
}

async function put() {
  const sent = text();
  if (!form.dataset.name) return send(); // a new file: the page moves to its address
  const answer = await call("PUT", `/workflows/${encodeURIComponent(form.dataset.name)}`, { text: sent, revision: revision.value }).catch(() => null);
  if (!answer) return say("Not saved: the server does not answer.", true);
  if (!answer.ok) return send(); // the page says why, and keeps the text
  revision.value = (await answer.json()).revision;
  changed = text() !== sent;
  document.querySelector("#problem")?.remove();
  say("Saved.");
}

// send sends the form, as it is sent without this module.
function send(button) {
  changed = false;
  field.value = text();
  form.requestSubmit(button ?? form.querySelector("button[value=save]"));
}

async function format() {
  const sent = text();
  const answer = await call("POST", "/convert", { file: file.value, text: sent }).catch(() => null);
  if (!answer) return say("The server does not answer.", true);
  if (!answer.ok) return say("A text with mistakes is not formatted.", true);
  const { text: fresh } = await answer.json();
  if (text() !== sent || fresh === sent) return say(fresh === sent ? "Nothing to format." : "");
  const at = view.state.selection.main.head;
  view.dispatch({ changes: { from: 0, to: sent.length, insert: fresh }, selection: { anchor: Math.min(at, fresh.length) }, annotations: isolateHistory.of("full") });
}

form.addEventListener("click", (e) => {
  const button = e.target.closest("button");
  if (!button) return;
  if (button.value === "format") {
    e.preventDefault();
    format();
  } else if (button.value === "save" && form.dataset.name) {
    e.preventDefault();
    save();
  }
});
form.addEventListener("submit", () => {
  changed = false;
  field.value = text();
});
form.addEventListener("change", (e) => {
  if (e.target.name === "as") look();
  if (e.target === file) {
    const ending = file.value.split(".").pop();
    const notation = { yml: "yaml", yaml: "yaml", xml: "xml", md: "mermaid", mmd: "mermaid", mermaid: "mermaid" }[ending] ?? "plantuml";
    view.dispatch({ effects: language.reconfigure(mode(notation, file.value)) });
    look();
  }
});
document.addEventListener("click", (e) => {
  const li = e.target.closest?.("#diagnostics li");
  if (!li || li.dataset.file || !Number(li.dataset.line)) return;
  view.dispatch({ selection: { anchor: place(li.dataset.line, li.dataset.column) }, scrollIntoView: true });
  view.focus();
});
document.addEventListener("keydown", (e) => {
  if (e.key.toLowerCase() !== "s" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
  e.preventDefault();
  save();
});
addEventListener("beforeunload", (e) => {
  if (changed) e.preventDefault();
});
if (document.querySelector("#problem")) view.focus(); // the person was writing
mark();
