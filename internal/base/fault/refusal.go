package fault

// Refusal is why a request of a player was refused, as ops.refusals shows it.
type Refusal struct {
	Player    string // the sub of the access token
	Call      string // as in "POST /matchmake"
	Code      string // of the answer
	Region    string // that the request named; "": none
	Mode      string // that the request named; "": none
	Detail    string // what the answer said
	RequestID string // "": the call has none
}
