package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Choice is the agent chosen for a task that does not name one.
type Choice struct {
	Name   string // resolves to the agent
	Reason string // why it was chosen, as the end of a sentence
}

// Usable returns the executors that can work from any prompt on this machine, sorted.
func (s *Set) Usable() []string {
	return slices.DeleteFunc(s.Executors(), func(name string) bool {
		t := s.traits[name]
		return !t.Prompted || t.Specialist || t.missing() != ""
	})
}

// employ sets the executor of a definition that does not name one: that of the project's default
// agent, otherwise the only one that is usable on this machine. It does not modify the
// loaded definitions.
func (s *Set) employ() {
	for i, d := range s.agents {
		if d.Builtin || d.Agent != "" || d.Prompt == "" {
			continue
		}
		if name, reason := s.employer(d); name != "" {
			employed := *d
			employed.Agent, employed.Chosen = name, reason
			s.agents[i] = &employed
		}
	}
}

func (s *Set) employer(d *Definition) (name, reason string) {
	if s.fallback != "" {
		def, err := s.find(s.fallback)
		if err == nil && def != d && s.traits[def.Agent].Prompted {
			return def.Agent, "the same as for the project's default agent"
		}
	}
	only := slices.DeleteFunc(s.Usable(), func(name string) bool { return s.traits[name].incomplete(d, d.Settings) != "" })
	if len(only) == 1 {
		return only[0], onlyOne
	}
	return "", ""
}

const onlyOne = "the only one that can work from a prompt here"

// Choose picks an agent for a task that does not name one, in a project without a default: the only
// agent that is usable here, otherwise the one whose description fits the prompt best,
// otherwise the only usable executor. The settings are those of the task. Machines with the
// same agents make the same choice. It returns false if nothing favors any of them.
func (s *Set) Choose(prompt string, settings map[string]any) (Choice, bool) {
	able := s.able(settings)
	if len(able) == 1 {
		return Choice{s.called(able[0]), onlyOne}, true
	}
	if d, words := bestFit(prompt, able); d != nil {
		return Choice{s.called(d), "its description fits best: " + strings.Join(words, ", ")}, true
	}
	if bare := slices.DeleteFunc(able, func(d *Definition) bool { return !d.Builtin }); len(bare) == 1 {
		return Choice{bare[0].Name, onlyOne + ", and no other agent's description fits"}, true
	}
	return Choice{}, false
}

// able returns the agents that could do a task from its prompt on this machine and that
// have an unambiguous name.
func (s *Set) able(settings map[string]any) []*Definition {
	usable := s.Usable()
	return slices.DeleteFunc(slices.Clone(s.agents), func(d *Definition) bool {
		return d.Generated || !slices.Contains(usable, d.Agent) || s.called(d) == "" || s.traits[d.Agent].incomplete(d, d.With(settings)) != ""
	})
}

// called returns a name that resolves to the definition; "" if other agents shadow all of
// them.
func (s *Set) called(d *Definition) string {
	for _, name := range []string{d.Name, d.ID} {
		if name == "" {
			continue
		}
		if found, err := s.find(name); err == nil && found == d {
			return name
		}
	}
	return ""
}

// bestFit returns the agent whose words occur most in a prompt, and these words. A word
// weighs more the fewer agents have it, and nothing if all have it. Words of an agent's
// name and capabilities weigh more than those of its description. It returns nil if no
// agent fits, or if two fit equally well.
func bestFit(prompt string, agents []*Definition) (*Definition, []string) {
	asked := wordsOf(prompt)
	weights := make([]map[string]int, len(agents))
	holders := map[string]int{}
	for i, d := range agents {
		weights[i] = weighed(d)
		for stem := range weights[i] {
			holders[stem]++
		}
	}
	best, score, tied := -1, 0, false
	var said []string
	for i := range agents {
		sum := 0
		var hits []string
		for _, word := range asked {
			if w := weights[i][word.stem] * (len(agents) - holders[word.stem]); w > 0 {
				sum += w
				hits = append(hits, fmt.Sprintf("%q", word.text))
			}
		}
		tied = tied && sum <= score || sum == score
		if sum > score {
			best, score, said = i, sum, hits
		}
	}
	if best < 0 || tied {
		return nil, nil
	}
	return agents[best], said
}

func weighed(d *Definition) map[string]int {
	all := map[string]int{}
	if !d.Builtin { // built-in agents exist in every project, so they are no evidence
		for _, word := range wordsOf(d.Description) {
			all[word.stem] = 1
		}
	}
	for _, word := range wordsOf(strings.Join(append([]string{d.Name, d.Role}, d.Capabilities...), " ")) {
		all[word.stem] = 3
	}
	return all
}

// word is a word of a text, and its stem without English endings.
type word struct{ text, stem string }

// wordsOf returns the significant words of a text, each once, in order.
func wordsOf(text string) []word {
	var list []word
	seen := map[string]bool{} // by stem; a prompt may be long
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for field := range strings.FieldsFuncSeq(strings.ToLower(text), between) {
		for _, text := range unspaced(field) {
			if len(text) < 3 || slices.Contains(fillers(), text) {
				continue
			}
			if w := (word{text, stemOf(text)}); !seen[w.stem] {
				seen[w.stem] = true
				list = append(list, w)
			}
		}
	}
	return list
}

// unspaced returns words for scripts without spaces: every two adjacent characters count as
// one.
func unspaced(text string) []string {
	var all []string
	rest, before, length := 0, 0, 0
	for at, r := range text {
		if !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			length = 0
			continue
		}
		from, end := before, at+utf8.RuneLen(r)
		if length++; length == 1 {
			from, end = rest, at
		}
		all = append(all, text[from:end])
		before, rest = at, at+utf8.RuneLen(r)
	}
	return append(all, text[rest:])
}

// fillers are words that are common in descriptions and prompts on any subject.
var fillers = sync.OnceValue(func() []string {
	return strings.Fields(`about agent all also and any are but can code does each for from give has have how inputs into its
		just like make more must new not one only our out please should some step steps task than that the their them then
		there these they this those use used uses using vars was were what when where which who will with you your`)
})

var endings = [...]string{"ities", "ings", "ies", "ity", "ing", "ers", "er", "ed", "es", "s", "e", "y"}

func stemOf(word string) string {
	for _, ending := range endings {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < 4 {
			continue
		}
		if last := len(stem) - 1; stem[last] == stem[last-1] {
			stem = stem[:last] // scanner, scan
		}
		return stem
	}
	return word
}
