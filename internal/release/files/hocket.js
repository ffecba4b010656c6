#!/usr/bin/env node
// Starts the program of the package that npm installed for this platform.
"use strict";
const { spawn } = require("node:child_process");

const name = `@hocket-dev/hocket-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/hocket${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `hocket: the package ${name} is not installed.\n` +
      "If npm was told to leave out optional dependencies, install again without --omit=optional.\n" +
      "Otherwise there is no build for this platform: {{.Repository}}/releases lists what there is.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`hocket: cannot start ${program}: ${err.message}`);
  process.exit(1);
});
// A terminal sends Ctrl-C to both processes; hocket decides what it means. Other signals
// reach only this one.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    return;
  }
  process.exit(code);
});
