// Package strictyaml decodes YAML strictly: unknown, misspelt or duplicate keys and wrong
// types are errors, and all of them are reported, each at its position and with a remedy.
//
// A reader walks the document and asks for the keys that it knows:
//
//	doc := strictyaml.Read(file, text)
//	m := doc.Root().Map()
//	name := m.String("name")
//	wait := m.Duration("timeout")
//	m.Done() // every other key is unknown
//	return doc.Diagnostics()
//
// Reading never stops early: an invalid value is reported and returned as its zero value,
// so the reader continues and finds the next error.
//
// Layout reformats a file and keeps its comments; Quote writes a scalar.
//
// It depends only on the model. Readers of workflows, agent definitions, project settings
// and scripted replies are built on it.
package strictyaml
