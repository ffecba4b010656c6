package handoff

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket"
)

// request returns a digest of everything that an order says.
func (o *Order) request() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %t %t %t ", o.File, o.Text, o.Agent, o.Mode, o.Spawn, o.Spike, o.Lenient)
	if o.Replies != nil {
		sum.Write(o.Replies.Encode())
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// waves returns in which order the sessions of an order are recorded. With a key, they are recorded one by one.
// So if the process dies, there is a session with the first key, which tells that another order is not the same.
func (o *Order) waves(drafts []*draft) [][]int {
	all := waves(drafts)
	if o.Key == "" {
		return all
	}
	var single [][]int
	for _, i := range slices.Concat(all...) {
		single = append(single, []int{i})
	}
	return single
}

// recall gives each draft its key, and finds the sessions that the same order has recorded.
func (s *Sessions) recall(ctx context.Context, o *Order, drafts []*draft) (err error) {
	if o.Key == "" {
		return nil
	}
	for n, wave := range o.waves(drafts) {
		d := drafts[wave[0]]
		d.key = o.Key + " " + strconv.Itoa(n+1)
		if d.known, err = s.p.StartedWith(ctx, d.key, o.request()); err != nil {
			return err
		}
	}
	return nil
}

// repeated reports whether an order was sent before.
func repeated(drafts []*draft) bool {
	return slices.ContainsFunc(drafts, func(d *draft) bool { return d.known != nil })
}

// again adds a session that was recorded before.
func (s *Sessions) again(ctx context.Context, run *hocket.Run, sent *Sent) error {
	one, err := s.read(ctx, run)
	if err == nil {
		sent.Sessions = append(sent.Sessions, one)
	}
	return err
}
