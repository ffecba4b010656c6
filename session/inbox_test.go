package session_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/session"
)

// Tasks that start at the same time share the messages: each message is taken once. All
// attempts of a task get the same messages, and those that arrive later are for others.
func TestInbox(t *testing.T) {
	const messages, tasks = 20, 4
	b := session.OpenInbox(t.TempDir())
	put := func(id string) {
		t.Helper()
		if err := b.Put("ann", id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range messages {
		put(fmt.Sprint(i))
		put(fmt.Sprint(i)) // it is there already
	}
	var group sync.WaitGroup
	var taken [tasks]string
	take := func(task int, first bool) string {
		got, err := b.Take("ann", fmt.Sprint("task ", task), first)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("%s", got)
	}
	for i := range tasks {
		group.Go(func() { taken[i] = take(i, true) })
	}
	group.Wait()
	put("0") // it was taken already
	put("late")
	count := 0
	for i := range tasks {
		if again := take(i, false); again != taken[i] {
			t.Errorf("the first attempt got %s, the second %s", taken[i], again)
		}
		got, err := b.Take("ann", fmt.Sprint("task ", i), false)
		if count += len(got); err != nil {
			t.Error(err)
		}
	}
	if count != messages {
		t.Errorf("%d messages were taken, want %d", count, messages)
	}
	if got := take(tasks, true); got != "[late]" {
		t.Errorf("the next task got %s", got)
	}
	if got, err := b.Take("bob", "task", true); err != nil || len(got) > 0 {
		t.Errorf("bob got %s, %v", got, err)
	}
}
