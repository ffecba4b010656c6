package engine_test

import (
	"reflect"
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

// A command is sent to another machine as JSON, in which a field of the place would be lost if the command had one with the
// same name.
func TestCommandHidesNoFieldOfItsPlace(t *testing.T) {
	command, place := reflect.TypeFor[engine.StartTask](), reflect.TypeFor[engine.Place]()
	for f := range place.Fields() {
		if found, _ := command.FieldByName(f.Name); len(found.Index) == 1 {
			t.Errorf("StartTask.%[1]s hides Place.%[1]s", f.Name)
		}
	}
}
