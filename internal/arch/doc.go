// Package arch holds no code, only the tests that keep the architecture true:
// who may import whom, which folder owns which heavy dependency, and which
// folders are free of clock, chance and the machine. The tables are read from
// ARCHITECTURE.md, so what people read is what is checked.
package arch
