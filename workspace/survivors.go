package workspace

import "github.com/hocket-dev/hocket/internal/process"

// endCommands ends what the commands in a workspace have left running, because it could write there while the files are recorded or
// removed. It returns the programs that it cannot end, which run as another user.
func (s *Store) endCommands(home string) (others []string, err error) {
	return process.EndNoted(notesIn(home))
}
