package temporal

// RunKey is for tests.
var RunKey = runKey
