package mermaid

import "github.com/hocket-dev/hocket/internal/strictyaml"

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = []strictyaml.Code{}
