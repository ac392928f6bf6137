package match

// Invalid is why a request is refused. The text is the protocol's: clients compare it, so it is told as it is.
type Invalid string

// Error implements error.
func (i Invalid) Error() string { return string(i) }
