package flow

import (
	"slices"
	"testing"
)

func TestLift(t *testing.T) {
	for _, c := range []struct {
		name, drawn, want string
		found             []string
	}{
		{name: "nothing"},
		{name: "one", drawn: "a", want: "a"},
		{name: "sequence", drawn: "a->b->c", want: "a b c | a->b b->c"},
		{name: "edges in the order of what they leave", drawn: "b->c a->b b->d a->d", want: "b c a d | b->c b->d a->b a->d"},
		{name: "diamond", drawn: "a->b a->c b->d c->d", want: "a b c d | a->b a->c b->d c->d"},
		{name: "an end says nothing", drawn: "a->b b->.", want: "a b | a->b"},
		{name: "an end beside another edge", drawn: "a->b a->.", want: "a b | a->b a->."},
		{name: "an end as else", drawn: "a-x->b a->.", want: "a b | a-x->b a->."},
		{name: "an end after a failure", drawn: "a->b a-error->. a->.", want: "a b | a->b a-error->. a->."},
		{name: "an end beside an error edge", drawn: "a-error->b a->.", want: "a b | a-error->b"},

		{name: "loop", drawn: "a->b->c c-bad->b c-good->d", want: "a loop{ b c | b->c c-bad->@again c-good->d } d | a->loop"},
		{name: "loop at the beginning", drawn: "a->b b-bad->a b->c", want: "loop{ a b | a->b b-bad->@again b->c } c"},
		{name: "self-loop", drawn: "a->b b-more->b b-done->c", want: "a loop{ b | b-more->@again b-done->c } c | a->loop"},
		{name: "loop that ends", drawn: "a->b b-bad->a b-good->.", want: "loop{ a b | a->b b-bad->@again b-good->. }"},
		{name: "a plain end in a loop", drawn: "a->b b->a b->.", want: "loop{ a b | a->b b->@again b->. }"},
		{name: "branches in a loop", drawn: "a-x->b a-y->c b->d c->d d-more->a d->e", want: "loop{ a b c d | a-x->b a-y->c b->d c->d d-more->@again d->e } e"},
		{name: "continue", drawn: "a->b b-skip->a b->c c-bad->a c->d", want: "loop{ a b c | a->b b-skip->@again b->c c-bad->@again c->d } d"},
		{name: "break", drawn: "a->b b-out->d b->c c-bad->a c->d", want: "loop{ a b c | a->b b-out->d b->c c-bad->@again c->d } d"},
		{name: "loops in a row", drawn: "a-more->a a->b b-more->b b->c", want: "loop{ a | a-more->@again a->loop-2 } loop-2{ b | b-more->@again b->c } c"},
		{name: "loops share a header", drawn: "a->b b-x->a b->c c-y->a c->d", want: "loop{ a b c | a->b b-x->@again b->c c-y->@again c->d } d"},
		{name: "nested", drawn: "a->b->c c-x->b c->d d-y->a d->e", want: "loop{ a loop-2{ b c | b->c c-x->@again c->d } d | a->loop-2 d-y->@again d->e } e"},
		{name: "names in the order of headers", drawn: "b->c c-x->b c->d d-y->a a->b d->e >a", want: "loop-2{ loop{ b c | b->c c-x->@again c->d } d a | d-y->@again d->e a->loop } e"},
		{name: "names that are taken", drawn: "loop->choice->b b-x->b b-y->choice b->d", want: "loop loop-2{ choice loop-3{ b | b-x->@again b-y->choice-2 b->d } choice-2 | choice->loop-3 choice-2->@again } d | loop->loop-2"},
		{name: "exit of two loops", drawn: "a->b b-x->b b-out->e b->c c-y->a c->e", want: "loop{ a loop-2{ b | b-x->@again b-out->e b->c } c | a->loop-2 c-y->@again c->e } e"},
		{name: "exit to the outer header", drawn: "a->b->c c-x->b c-y->a c->d", want: "loop{ a loop-2{ b c | b->c c-x->@again c-y->choice c->d } choice | a->loop-2 choice->@again } d"},
		{name: "two exits share a choice", drawn: "a->b->c b-z->a c-x->b c-y->a c->d", want: "loop{ a loop-2{ b c | b->c b-z->choice c-x->@again c-y->choice c->d } choice | a->loop-2 choice->@again } d"},
		{name: "exits that can be poisoned do not", drawn: "a->b~->c b-z->a c-x->b c-y->a c-w->a c->d", want: "loop{ a loop-2{ b c | b->c b-z->choice c-x->@again c-y->choice-2 c-w->choice-2 c->d } choice choice-2 | a->loop-2 choice->@again choice-2->@again } d"},
		{name: "exit out of three", drawn: "a->b->c c-x->c c-y->b c-z->a c->d", want: "loop{ a loop-2{ b loop-3{ c | c-x->@again c-y->choice c-z->choice-2 c->d } choice | b->loop-3 choice->@again } choice-2 | a->loop-2 choice-2->@again } d"},
		{name: "bound of drawn loops", drawn: "=7 a-x->a a->b", want: "loop{ a | a-x->@again a->b } b"},

		{name: "two entries", drawn: "x->a x->b a->b b->a b->c", want: "x a b c | x->a x->b a->b b->c",
			found: []string{`error loop-two-entries: a loop has two entries: "a" and, from "x", "b"`}},
		{name: "two entries where the flow begins", drawn: ">a >b a->b b->a b->c", want: "a b c | a->b b->c",
			found: []string{`error loop-two-entries: a loop has two entries: "a" and "b"`}},
		{name: "two entries in a loop", drawn: "s->x x->a x->b a->b b->a b-y->x b->c", want: "s loop{ x a b | x->a x->b a->b b-y->@again b->c } c | s->loop",
			found: []string{`error loop-two-entries: a loop has two entries: "a" and, from "x", "b"`}},

		{name: "dead end", drawn: "a->b a->log b-bad->a b->c", want: "loop{ a b | a->b a->log b-bad->@again b->c } log c",
			found: []string{`warning loop-dead-end: "log" runs once, after the loop`}},
		{name: "dead end of two", drawn: "a->b a->log->file b-bad->a b->c", want: "loop{ a b | a->b a->log b-bad->@again b->c } log file c | log->file",
			found: []string{`warning loop-dead-end: "log" runs once, after the loop`}},
		{name: "no dead end", drawn: "a->b a->log b-bad->a b->c log->c", want: "loop{ a b | a->b a->log b-bad->@again b->c } log c | log->c"},
		{name: "a way out is no dead end", drawn: "a-x->b a-y->log b-bad->a b->c", want: "loop{ a b | a-x->b a-y->log b-bad->@again b->c } log c"},
		{name: "dead end in a frame", drawn: "F{ a->b a->log b-bad->a } b->c", want: "loop{ a b log | a->b a->log b-bad->@again b->c } c"},
		{name: "dead end in a frame that ends", drawn: "F{ a->b a->log b-bad->a b-good->. }", want: "loop{ a b log | a->b a->log b-bad->@again b-good->. }"},
		{name: "frame as border", drawn: "F{ a->b b-bad->a b-good->c c->. }", want: "loop{ a b | a->b b-bad->@again b-good->c } c"},
		{name: "frame that begins before the loop", drawn: "F{ s->a a->b a->log b-bad->a } b->c", want: "s loop{ a b | a->b a->log b-bad->@again b->c } log c | s->loop",
			found: []string{`warning loop-dead-end: "log" runs once, after the loop`}},
		{name: "frame that is come back to", drawn: "F{ a->b a-x->log b-bad->a } b->c->log log->d", want: "loop{ a b | a->b a-x->log b-bad->@again b->c } log c d | log->d c->log"},
		{name: "frame with a loop behind the loop", drawn: "F{ a->b b-bad->a b->c c-more->c } c->d", want: "loop{ a b loop-2{ c | c-more->@again c->d } | a->b b-bad->@again b->loop-2 } d"},
		{name: "frames in frames", drawn: "F{ a G{ b->c b->note c-x->b } a->b a->log c-y->a } c->d",
			want: "loop{ a loop-2{ b c note | b->c b->note c-x->@again c-y->choice c->d } choice log | a->loop-2 a->log choice->@again } d"},
		{name: "enclosed in the inner loop, outside of the outer", drawn: "a G{ b->c b->note c-x->b } a->b c-y->a c->d",
			want: "loop{ a loop-2{ b c note | b->c b->note c-x->@again c-y->choice c->d } choice | a->loop-2 choice->@again } d"},

		{name: "edges to and from a frame", drawn: "x->F F{ a->b a->c d } F->y", want: "x a b c d y | x->a x->d a->b a->c b->y c->y d->y"},
		{name: "edge to a frame in a frame", drawn: "x->F F{ a->G G{ b c } } G->y", want: "x a b c y | x->a a->b a->c b->y c->y"},
		{name: "edges between frames", drawn: "F{ a b } G{ c d } F->G", want: "a b c d | a->c a->d b->c b->d"},
		{name: "frame whose nodes all have edges", drawn: "x->F F{ a->b b-more->a } F->y", want: "x loop{ a b | a->b b-more->@again b->y } y | x->loop"},
		{name: "frame to itself", drawn: "F{ a->b } F-more->F F->y", want: "loop{ a b | a->b b-more->@again b->y } y"},
		{name: "frames that say one thing", drawn: "F{ G{ a } } x->F x->G x->a", want: "a x | x->a"},
		{name: "empty frame", drawn: "a->F F{ } F->b", want: "a",
			found: []string{`error edge-target-unknown: there is no step in "F"`, `error edge-target-unknown: there is no step in "F"`, `warning unreachable-node: nothing leads to "b", so it is ignored`}},

		{name: "frame of a loop", drawn: "x->L L:loop{ a->b b-bad->a } b->y", want: "x L{ a b | a->b b-bad->@again b->y } y | x->L"},
		{name: "next round to the frame", drawn: "x->L L:loop{ a->b b-bad->L } b->y", want: "x L{ a b | a->b b-bad->@again b->y } y | x->L"},
		{name: "to the entry of a loop", drawn: "L:loop{ b->a a-bad->b } x->a b->y", want: "L{ b a | b->@again b->y a-bad->b } x y | x->L"},
		{name: "the entry is declared first", drawn: "L:loop{ b->a a-bad->b } b->y", want: "L{ b a | b->a b->y a-bad->@again } y"},
		{name: "loop without an edge back", drawn: "L:loop{ a->b } b->y", want: "L{ a b | a->b b->y } y"},
		{name: "from the frame of a loop", drawn: "L:loop{ a->b b-bad->a b->note } L->y", want: "L{ a b note | a->b b-bad->@again b->note note->y } y"},
		{name: "from a loop that only goes back", drawn: "L:loop{ a->b b-bad->a } L->y", want: "L{ a b | a->b b-bad->@again b->y } y"},
		{name: "from a loop in a frame", drawn: "F{ L:loop{ a-bad->a M:loop{ b } a->M } } F->y", want: "L{ a M{ b | b->y } | a-bad->@again a->M } y"},
		{name: "two entries of a loop", drawn: "x->L L:loop{ a c->b b-bad->L } b->y", want: "x L{ a c b | c->b b-bad->@again b->y } y | x->L"},
		{name: "into the middle of a loop", drawn: "x->L L:loop{ a->b b-bad->L } x->b b->y", want: "x L{ a b | a->b b-bad->@again b->y } y | x->L",
			found: []string{`error loop-two-entries: loop "L" has two entries: "a" and, from "x", "b"`}},
		{name: "one of two entries", drawn: "L:loop{ a b a->c b->c c-x->L } x->b c->y", want: "L{ a b c | a->c b->c c-x->@again c->y } x y | x->L",
			found: []string{`error loop-two-entries: loop "L" has two entries: "a" and, from "x", "b"`}},
		{name: "loops with frames", drawn: "L:loop{ M:loop{ a->b b-x->M } b-y->L } b->d", want: "L{ M{ a b | a->b b-x->@again b-y->choice b->d } choice | choice->@again } d"},
		{name: "through two entries", drawn: "L:loop{ M:loop{ a->b b-x->a } b->c c-y->a } x->a c->d", want: "L{ M{ a b | a->b b-x->@again b->c } c | c-y->@again c->d } x d | x->L"},
		{name: "drawn loop in a frame of a loop", drawn: "L:loop{ a->b b-x->b b-y->a b->d } d->e", want: "L{ a loop{ b | b-x->@again b-y->choice b->d } choice d | a->loop choice->@again d->e } e"},
		{name: "frame of a loop in a drawn loop", drawn: "a->L L:loop{ b-x->b } b-y->a b->d", want: "loop{ a L{ b | b-x->@again b-y->choice b->d } choice | a->L choice->@again } d"},
		{name: "empty loop", drawn: "a->L L:loop{ }", want: "a", found: []string{`error loop-test: the loop "L" has no steps`}},
		{name: "empty for_each", drawn: "a->E E:each{ }", want: "a", found: []string{`error step-kind: the for_each "E" has no steps`}},

		{name: "for_each", drawn: "x->E E:each{ a->b } E->y", want: "x E{ a b | a->b } y | x->E E->y"},
		{name: "to the entry of a for_each", drawn: "E:each{ a->b } E->y x->a", want: "E{ a b | a->b } y x | E->y x->E"},
		{name: "drawn loop in a for_each", drawn: "x->E E:each{ a->b b-x->a b->c } E->y", want: "x E{ loop{ a b | a->b b-x->@again b->c } c } y | x->E E->y"},
		{name: "for_each in a drawn loop", drawn: "a->E E:each{ b->c } E->d d-x->a d->e", want: "loop{ a E{ b c | b->c } d | a->E E->d d-x->@again d->e } e"},
		{name: "for_each that repeats", drawn: "E:each{ b->c } E-more->E E->d", want: "loop{ E{ b c | b->c } | E-more->@again E->d } d"},
		{name: "out of a for_each", drawn: "E:each{ a->b } E->y b->y", want: "E{ a b | a->b } y | E->y",
			found: []string{`error edge-leaves-each: "b" leads out of for_each "E" to "y"`}},
		{name: "to its own for_each", drawn: "E:each{ a->b b->E } E->y", want: "E{ a b | a->b } y | E->y",
			found: []string{`error edge-leaves-each: "b" leads out of for_each "E" to "E"`}},
		{name: "next round out of a for_each", drawn: "L:loop{ s->E E:each{ a->L } } s->y", want: "L{ s E{ a } | s->E s->y E->@again } y",
			found: []string{`error edge-leaves-each: "a" leads out of for_each "E" to "L"`}},
		{name: "into a for_each", drawn: "x->E E:each{ a->b } x->b", want: "x E{ a b | a->b } | x->E",
			found: []string{`error loop-two-entries: for_each "E" has two entries: "a" and, from "x", "b"`}},

		{name: "entries", drawn: "a->c b->c", want: "a c b | a->c b->c"},
		{name: "entry", drawn: ">b a->b b->c", want: "b c | b->c", found: []string{`warning unreachable-node: nothing leads to "a", so it is ignored`}},
		{name: "entry of a frame", drawn: ">F F{ a b } b->c d->c", want: "a b c | b->c", found: []string{`warning unreachable-node: nothing leads to "d", so it is ignored`}},
		{name: "entry in a loop", drawn: ">a L:loop{ b->a a-x->b } b->c", want: "L{ b a | b->@again b->c a-x->b } c"},
		{name: "entry in the middle", drawn: ">b L:loop{ a->b b->L } b->c", want: "L{ a b | a->b b->@again b->c } c",
			found: []string{`error loop-two-entries: loop "L" has two entries: "a" and "b"`}},
		{name: "unknown entry", drawn: ">draff draft->b", want: "draft b | draft->b", found: []string{`error edge-target-unknown: there is no step "draff"`}},
		{name: "a circle begins at its first node", drawn: "b->c c->b b->d", want: "loop{ b c | b->c b->d c->@again } d",
			found: []string{`warning loop-dead-end: "d" runs once, after the loop`}},
		{name: "unclear start", drawn: "a->b c->d->c d->b", want: "a b | a->b",
			found: []string{`error start-unclear: unclear whether the flow begins at "a" or at "c"`}},
		{name: "unreachable from the start", drawn: ">a a->b c->d->c d->b", want: "a b | a->b",
			found: []string{`warning unreachable-node: nothing leads to "c", so it is ignored`, `warning unreachable-node: nothing leads to "d", so it is ignored`}},
		{name: "unreachable loop", drawn: "a->b L:loop{ c->d d->L } d->e e->L", want: "a b | a->b",
			found: []string{`error start-unclear: unclear whether the flow begins at "a" or at "L"`}},
		{name: "unreachable in a loop", drawn: "L:loop{ a->b c->d d->c d->f } b->e", want: "L{ a b | a->b b->e } e",
			found: []string{`error start-unclear: unclear whether the flow begins at "a" or at "c"`}},
		{name: "unknown", drawn: "draft->F a->b", want: "draft a b | a->b", found: []string{`error edge-target-unknown: there is no step "F"`}},
		{name: "twice", drawn: "a->b a->b a-x->b", want: "a b | a->b a-x->b", found: []string{`warning edge-twice: "a" leads to "b" twice`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, found := lift(sketch(c.drawn))
			if got := show(&g); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.drawn, got, c.want)
			}
			if !slices.Equal(found, c.found) {
				t.Errorf("%s\nfound %q\n want %q", c.drawn, found, c.found)
			}
		})
	}
}
