#!/usr/bin/env bash
# Starts three validations at the same time, waits until all have ended, and writes their
# results into one file. With --replies, the files in replies/ answer in place of the agent.
set -euo pipefail
cd "$(dirname "$0")"

create() {
  if [[ "$1" == --replies ]]; then
    hocket handoff create devops-agent "validate-$2.md" --replies "replies/validate-$2.yml"
  else
    hocket handoff create devops-agent "validate-$2.md"
  fi
}

status() { hocket handoff status "$1" --json | jq -r .status; }

grafana=$(create "${1-}" grafana)
prometheus=$(create "${1-}" prometheus)
traefik=$(create "${1-}" traefik)

while [[ $(status "$grafana") == RUNNING || $(status "$prometheus") == RUNNING || $(status "$traefik") == RUNNING ]]; do
  sleep 1
done

cd docs/.scratch/sessions
jq -s . "$grafana/result.json" "$prometheus/result.json" "$traefik/result.json" > validation-summary.json
jq -r '.[].handoff | "\(.session_id)  \(.status)  \(.response.summary)"' validation-summary.json
