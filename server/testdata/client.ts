// A client that is generated from openapi.json: it starts a run, follows it, answers its question and
// reads its output. Its types come from the document, so that tsc checks every name in it.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

type Event = components["schemas"]["Event"];

const [base, token, project] = process.argv.slice(2) as [string, string, string];
const api = createClient<paths>({ baseUrl: base + "/api", headers: { Authorization: "Bearer " + token } });

function must<T>(got: { data?: T; error?: unknown }): T {
  if (got.data === undefined) throw new Error(JSON.stringify(got.error));
  return got.data;
}

async function* follow(run: string): AsyncGenerator<Event> {
  const url = `${base}/api/projects/${project}/runs/${run}/events`;
  const response = await fetch(url, { headers: { Authorization: "Bearer " + token } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const messages = rest.split("\n\n");
    rest = messages.pop()!;
    for (const message of messages) {
      const fields = new Map(message.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)] as const));
      if (fields.get("event") === "end") return;
      if (fields.get("event") === "event") yield JSON.parse(fields.get("data")!) as Event;
    }
  }
}

const path = { project };
const names = must(await api.GET("/projects/{project}/workflows", { params: { path } })).map((w) => w.name);
const started = must(await api.POST("/projects/{project}/runs", {
  params: { path, header: { "Idempotency-Key": "from the client" } },
  body: { workflow: "gated" },
}));
const run = started.run_id;
for await (const event of follow(run)) {
  if (event.type !== "asked") continue;
  const question = must(await api.GET("/questions", {})).items.find((q) => q.run_id === run)!;
  must(await api.POST("/projects/{project}/runs/{run}/questions/{question}/answer", {
    params: { path: { project, run, question: question.id } },
    body: { value: question.options[0]!.value, digest: question.digest },
  }));
}
const ended = must(await api.GET("/projects/{project}/runs/{run}", { params: { path: { project, run } } }));
const refused = await api.POST("/projects/{project}/runs/{run}/cancel", { params: { path: { project, run } }, body: {} });
console.log(JSON.stringify({ names, status: ended.status, steps: ended.step_list.map((s) => s.node), refused: refused.error?.type }));
