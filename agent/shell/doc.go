// Package shell runs commands: the built-in agent "shell", and the executor of
// every agent definition with `agent: shell`.
//
// # Settings
//
//	command        a list is a program with its arguments; a text is a script for
//	               `sh -c`, whose $1, $2, … are args
//	script         instead of command: a file in the project. It is executed as it
//	               is where it may be executed, else given to the shell
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
// Values are never spliced into a script's text. A script gets them by name:
//
//   - Each input of the task is an environment variable. A name that is none for
//     an environment (the-file) becomes HOCKET_INPUT_the_file, with an underscore
//     for every character but letters and digits. Text is given as it is, null as
//     nothing, everything else as JSON.
//   - HOCKET_INPUTS holds all inputs as a JSON object. HOCKET_RUN, HOCKET_WORKFLOW,
//     HOCKET_NODE, HOCKET_ADDRESS, HOCKET_ATTEMPT and HOCKET_KEY say which attempt
//     this is (the key is the same when the attempt is repeated after a crash),
//     HOCKET_PROJECT where the project is. HOCKET_LABELS is a JSON list of the
//     labels of which a router has to print one. HOCKET_FEEDBACK says what was
//     wrong with the attempt before.
//   - Standard input is stdin, where it is set; else the prompt of the definition
//     and the prompt of the task, with a blank line between them.
//   - The rest of the environment is that of Hocket itself. `env` wins over
//     inputs, and Hocket's own variables win over both. Until the project is
//     trusted, variables that hold secrets are left out.
//
// A variable can hold at most 128 KiB on Linux. Inputs that are larger, taken
// together as JSON, are refused with an error that says so; standard input has no
// such limit, so `stdin: ${nodes.log.output}` is the way for large values.
//
// # What comes back
//
// The output is what the command printed to standard output, without the newlines
// at its end, as `$(…)` in a shell has it. It is text: a byte that is not UTF-8
// fails the attempt for good, because the next step would get something else.
// Output over max_output_kb ends the command and fails the attempt for good: half
// an output would look like a whole one. Both standard output and
// standard error go to the log. An exit status other than 0 fails the attempt;
// the error has the last lines of standard error, or of standard output if the
// command wrote nothing there.
//
// # How it ends
//
// A command and everything that it starts end together, at the end of the command
// itself as well as when the attempt is cancelled. On Unix the command has a
// process group of its own, which gets SIGTERM, and SIGKILL after a grace period.
//
// On Linux a process that leaves the group (setsid, a daemon, `set -m` in a shell)
// is found by the HOCKET_KEY in its environment and killed at once, without a
// SIGTERM, however the command ended. One that is to outlive the step is started
// without the variable: env -u HOCKET_KEY setsid …. On other Unix systems, and
// without the variable, such a process survives. Nobody waits for one that keeps a
// pipe open: after two seconds its output is cut off.
//
// If Hocket itself is killed, Linux kills the command with it. What the command
// had started runs on until the run is cancelled, resumed, retried or forked: then all
// that carries a key of the run is ended first. Windows, where commands run in a job object, kills all of them;
// on other systems the command and what it started run on. Windows has no SIGTERM:
// there the command is ended at once.
//
// The working directory and the script must be inside the project, also after
// symbolic links are followed. This keeps a workflow from the wrong place by
// mistake. It is no sandbox: a command may do whatever the user may do.
package shell
