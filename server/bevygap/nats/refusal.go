package nats

// refusal is why a connection is refused: the cause in the metrics, and the text for the client, as that of an ending.
type refusal struct{ cause, text string }

// Error implements error.
func (r *refusal) Error() string { return r.cause }

var (
	errFull        = &refusal{"full", "maximum connections exceeded"}
	errCrowded     = &refusal{"crowded", "maximum connections exceeded"}
	errCredential  = &refusal{"credential", "Authorization Violation"}
	errOver        = &refusal{"over", "Authorization Violation"}
	errUnavailable = &refusal{"unavailable", ""}
)
