package hocket

import "strings"

// PlaceOf returns the place of a step in the definition of its run: its address without items and
// iterations, which all its instances share. See [workflow.Bundle.At].
func PlaceOf(address string) string {
	ids := strings.Split(address, "/")
	for i, id := range ids {
		if at := strings.IndexAny(id, "#["); at >= 0 {
			ids[i] = id[:at]
		}
	}
	return strings.Join(ids, "/")
}
