package local_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func openDriver(t testing.TB, dir string) *local.Driver {
	t.Helper()
	d, err := local.Open(dir, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Looking at a project in which nothing ever ran leaves no trace.
func TestReadingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	d := openDriver(t, dir)
	ctx := context.Background()
	if runs, err := d.Runs(ctx, driver.Filter{}); len(runs) != 0 || err != nil {
		t.Errorf("runs %v, %v", runs, err)
	}
	if qs, err := d.Questions(ctx, ""); len(qs) != 0 || err != nil {
		t.Errorf("questions %v, %v", qs, err)
	}
	_, find := d.Find(ctx, "x-1")
	_, act := d.Act(ctx, "x-1", &engine.CancelAsked{})
	for _, err := range []error{find, act, d.Delete(ctx, "x-1")} {
		var unknown *driver.UnknownRunError
		if !errors.As(err, &unknown) {
			t.Errorf("an unknown run gives %v", err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left %v", files)
	}
}

func TestStartDriveDelete(t *testing.T) {
	d := openDriver(t, t.TempDir())
	ctx := context.Background()
	pin := &driver.Pin{Bundle: chain(task("a", "x"))}
	made, err := d.Start(ctx, driver.Spec{Pin: pin, Limits: workflow.Limits{Parallel: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if i, err := d.Find(ctx, made.Run); err != nil || i.Driven || i.Status != engine.Running {
		t.Errorf("recorded: %+v, %v", i, err)
	}
	res, err := d.Drive(ctx, made.Run, driver.Work{Agents: agentWith(func(context.Context, driver.Attempt) driver.Outcome {
		return driver.Outcome{Output: "done"}
	})})
	if err != nil || res.Status != engine.Success {
		t.Errorf("%s, %v", res.Status, err)
	}
	if err := d.Delete(ctx, made.Run); err != nil {
		t.Error(err)
	}
	if runs, err := d.Runs(ctx, driver.Filter{}); len(runs) != 0 || err != nil {
		t.Errorf("runs %v, %v", runs, err)
	}
}
