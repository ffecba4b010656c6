package process

import (
	"os"
	"os/exec"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object. Windows adds whatever a process of the job starts, and ends all of
// them when the last handle is closed, even if Hocket dies.
type group struct {
	job   windows.Handle
	ended atomic.Bool
}

// Windows has no sessions in this sense.
func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	g := &group{job: job}
	if err := cmd.Start(); err != nil {
		g.release()
		return nil, err
	}
	if err := g.add(uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		g.release()
		return nil, err
	}
	return g, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// add puts a process into the job. What the process has started before that, in its first
// moments, is not in it.
func (g *group) add(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(g.job, process)
}

// alive returns true until the job was ended: Windows cannot ask processes without a window
// to exit, so there is nothing to wait for either.
func (g *group) alive() bool { return !g.ended.Load() }

func (g *group) ask() { g.kill() }

func (g *group) kill() {
	_ = windows.TerminateJobObject(g.job, 1)
	g.ended.Store(true)
}

func (g *group) release() { _ = windows.CloseHandle(g.job) }

// killMarked does nothing: no process can leave a job.
func killMarked(string, int) {}

// EndLeft does nothing: the job ends with the process that created it.
func EndLeft(string, time.Duration) error { return nil }

// EndOwned does nothing, for the same reason.
func EndOwned(int, time.Duration) error { return nil }

// Stopped returns false: Windows has no signals that stop a process.
func Stopped(int) bool { return false }

// descendants returns nothing: all are in the job.
func descendants(int) []*os.Process { return nil }

// unread reads nothing: pipes have no deadlines here.
func unread(*os.File, []byte) int { return 0 }
