package match

// Invalid is the reason why a request is refused. The text is that of Open Match, unchanged, because clients compare
// it.
type Invalid string

// Error implements error.
func (i Invalid) Error() string { return string(i) }
