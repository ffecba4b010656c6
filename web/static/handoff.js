// The form of a handoff: shows what it makes and what is wrong with it while it is filled in. The server says both.

const form = document.querySelector("#handoff");
const patience = 150; // milliseconds without a key
let timer = 0;
let asking = false;
let again = false;

function look() {
  if (asking) return void (again = true);
  asking = true;
  const request = new XMLHttpRequest(); // which parses the answer without a policy
  request.open("POST", form.dataset.preview);
  request.responseType = "document";
  request.onloadend = () => {
    asking = false;
    const fresh = request.status === 200 && request.responseXML?.querySelector("#preview");
    if (fresh) document.querySelector("#preview").replaceChildren(...[...fresh.childNodes].map((n) => document.importNode(n, true)));
    if (again) later();
    again = false;
  };
  request.send(new URLSearchParams(new FormData(form)));
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(look, patience);
}

for (const b of form.querySelectorAll("[data-plain]")) b.hidden = true; // it is checked all the time
form.addEventListener("input", later);
