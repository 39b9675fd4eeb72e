package flightrecorder

// legacyCalls does not exist on this architecture.
var legacyCalls map[int32]string
