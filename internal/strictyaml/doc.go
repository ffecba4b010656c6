// Package strictyaml binds YAML to Go values strictly: what is unknown,
// misspelt, doubled or of the wrong type is an error of the author, and all of
// them are reported, each at its place and with what to do about it.
//
// A reader walks the document and asks for what it knows:
//
//	doc := strictyaml.Read(file, text)
//	m := doc.Root().Map()
//	name := m.String("name")
//	wait := m.Duration("timeout")
//	m.Done() // every other key is unknown
//	return doc.Diagnostics()
//
// Nothing here fails half-way: a value that is wrong is reported and comes back
// as its zero value, so the reader goes on and finds the next mistake.
//
// Layout lays a file out anew and keeps its comments; Quote writes a scalar.
//
// Beside the model it depends on nothing of ours. Readers of workflows, agent
// definitions, project settings and scripted replies are built on it.
package strictyaml
