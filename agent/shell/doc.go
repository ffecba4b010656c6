// Package shell runs commands: the built-in agent "shell", and the executor of
// every agent definition with `agent: shell`.
//
// # Settings
//
//	command        a list is a program with its arguments; a text is a script for
//	               `sh -c`, whose $1, $2, … are args
//	script         instead of command: a file in the project. It is executed as it
//	               is where it may be executed, otherwise given to the shell
//	args           list of arguments, after those of command
//	stdin          text on standard input
//	env            map of environment variables
//	dir            working directory, relative to the project; default: the project
//	shell          sh (default) or bash: what runs a script text
//	max_output_kb  most that the command may print to standard output; default:
//	               what the agent's definition says, else 1024
//
// # What the command is given
//
// Values are never inserted into a script's text. A script gets them by name:
//
//   - Each input of the task is an environment variable. A name that is not valid for a
//     variable (the-file) becomes HOCKET_INPUT_the_file, with an underscore for every
//     character but letters and digits. Text is passed unchanged, null as nothing,
//     everything else as JSON.
//   - HOCKET_INPUTS holds all inputs as a JSON object. HOCKET_RUN, HOCKET_WORKFLOW,
//     HOCKET_NODE, HOCKET_ADDRESS, HOCKET_ATTEMPT and HOCKET_KEY identify the attempt (the
//     key stays the same when the attempt is repeated after a crash), and HOCKET_PROJECT is
//     the path of the project. HOCKET_LABELS is a JSON list of the labels of which a router
//     must print one. HOCKET_FEEDBACK says what was wrong with the previous attempt.
//   - Standard input is stdin, if it is set; otherwise the prompt of the definition and the
//     prompt of the task, separated by a blank line.
//   - The rest of the environment is that of Hocket itself. `env` wins over
//     inputs, and Hocket's own variables win over both. Until the project is
//     trusted, variables that hold secrets are left out.
//
// A variable can hold at most 128 KiB on Linux. Inputs that together are larger as JSON
// cause an error; standard input has no such limit, so use `stdin: ${nodes.log.output}` for
// large values.
//
// # Output
//
// The output is what the command printed to standard output, without trailing newlines,
// like `$(…)` in a shell. It must be text: output that is not UTF-8 fails the attempt
// permanently, because the next step would get something else. Output over max_output_kb
// ends the command and fails the attempt permanently: half an output would look like a
// complete one. Both standard output and standard error go to the log. An exit status other
// than 0 fails the attempt; the error has the last lines of standard error, or of standard
// output if the command wrote nothing there.
//
// # Termination
//
// A command and everything that it starts end together, at the end of the command
// itself as well as when the attempt is cancelled. On Unix the command has a
// process group of its own, which gets SIGTERM, and SIGKILL after a grace period.
//
// On Linux a process that leaves the group (setsid, a daemon, `set -m` in a shell) is found
// by the HOCKET_KEY in its environment and killed at once, without a SIGTERM, however the
// command ended. To let a process outlive the step, start it without the variable: env -u
// HOCKET_KEY setsid …. If the step has a workspace of its own, it ends nevertheless. On
// other Unix systems, and without the variable, such a process survives. If one keeps a pipe open, its output is cut off after two seconds.
//
// If Hocket itself is killed, Linux kills the command with it. What the command had started
// keeps running until the run is cancelled, resumed, retried or forked: then all processes
// with a key of the run are killed first. Windows, where commands run in a job object,
// kills all of them; on other systems the command and what it started keep running. Windows
// has no SIGTERM: there the command is killed at once.
//
// The working directory and the script must be inside the project, even after symbolic
// links are followed. This protects against mistakes. It is not a sandbox: a command may do
// whatever the user may do.
package shell
