//go:build !linux || !(amd64 || arm64)

// Package inside is for systems on which programs can be confined.
package inside
