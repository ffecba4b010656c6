package sandbox

var oldRefused []uint32
