package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket"
)

// open opens a project. If another program has its driver, that one takes over the whole command.
func (a *app) open(dir string, o hocket.Options) (*hocket.Project, error) {
	o.State, o.Agents, o.Drivers, o.Metrics = a.state, a.with.Agents, a.with.Drivers, a.metrics
	switch driver := os.Getenv("HOCKET_DRIVER"); driver {
	case "":
	case "local":
		o.Local = true
	default:
		return nil, usagef("unset it, or set it to local for the runs that are stored on this machine", "invalid HOCKET_DRIVER=%s", driver)
	}
	p, err := hocket.Open(dir, o)
	if err != nil {
		return nil, err
	}
	a.opened = append(a.opened, p)
	a.local = o.Local && p.Config().Driver != ""
	return p, a.handOver(p)
}

// handedVariable has the process that has handed over a command.
const handedVariable = "HOCKET_HANDED_OVER"

// handOver lets the program that has the driver of a project execute this command. It returns if no other program is
// needed or known: many commands work without the driver.
func (a *app) handOver(p *hocket.Project) error {
	if a.std.In != os.Stdin || a.std.Out != os.Stdout { // the command is only part of a program
		return nil
	}
	if os.Getenv(handedVariable) == strconv.Itoa(predecessor()) { // the other program does not have it either
		return nil
	}
	program := p.DriverProgram()
	if program == "" {
		return nil
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, handedVariable+"=") }) // of an outer one
	code, err := execute(program, a.args, append(env, handedVariable+"="+strconv.Itoa(os.Getpid())))
	if err != nil {
		return err
	}
	return exitError(code)
}
