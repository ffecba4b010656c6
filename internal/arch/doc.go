// Package arch holds no code, only tests of the architecture: who may import whom, which
// folder owns which heavy dependency, and which folders use no clock, randomness or
// environment. The tables are read from ARCHITECTURE.md, so the documentation is what is
// checked. Another test rejects the phrases in english.txt.
package arch
