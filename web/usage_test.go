package web

import (
	"testing"

	"github.com/hocket-dev/hocket/server"
)

// Planning for a run is a run of its own, which is listed, too. So it is added only once.
func TestPlanningIsAddedOnce(t *testing.T) {
	all, planning := 5.0, 2.0
	var sum spent
	sum.add(server.RunLine{CostUSD: &all, TokensIn: 50, Planning: &server.Planning{CostUSD: &planning, Tokens: 20}})
	sum.add(server.RunLine{CostUSD: &planning, TokensIn: 20})
	if *sum.CostUSD != all || sum.Tokens != 50 {
		t.Errorf("%g, %d tokens", *sum.CostUSD, sum.Tokens)
	}
}
